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
	n, due := r.Reserve(now, 1000)
	require.Equal(t, 10, n)
	require.Equal(t, now-int64(rateBurst), due, "what was not used is there")
	for range 10 {
		_, due = r.Reserve(now, 1000)
	}
	require.Equal(t, now, due)
	_, due = r.Reserve(now, 1000)
	require.Equal(t, now+second/100, due, "ten requests take a hundredth of a second")
	require.False(t, r.Rested(now+second/10))
	require.True(t, r.Rested(now+second/10+second/50))
	n, _ = r.Reserve(now, 3)
	require.Equal(t, 1, n, "a low rate has shares of one")
}
