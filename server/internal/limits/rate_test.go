package limits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSharesOfARateFollowEachOther(t *testing.T) {
	const second = int64(time.Second)
	var r Rate
	now := 100 * second
	require.Equal(t, now-int64(rateBurst), r.Reserve(now, 10, 1000), "what was not used is there")
	due := int64(0)
	for range 10 {
		due = r.Reserve(now, 10, 1000)
	}
	require.Equal(t, now, due)
	require.Equal(t, now+second/100, r.Reserve(now, 10, 1000), "ten requests take a hundredth of a second")
	require.False(t, r.Rested(now+second/10))
	require.True(t, r.Rested(now+second/10+second/50))
	r.GiveBack(5, 1000)
	require.Equal(t, now+second/50-second/200, r.Reserve(now, 1, 1000))
}
