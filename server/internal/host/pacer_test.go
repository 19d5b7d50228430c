package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTicksThatWereMissedAreMadeUpFor(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pacer{now}
	for _, step := range []struct {
		after time.Duration
		ticks int
	}{
		{coreTick, 1}, {coreTick - time.Millisecond, 0}, {coreTick + time.Millisecond, 2}, {coreTick, 1},
		{7*coreTick + time.Millisecond, 7}, {coreTick - time.Millisecond, 1},
		{ticksMax * coreTick, ticksMax},
		{time.Hour, ticksMax}, {coreTick / 2, 0}, {coreTick / 2, 1}, // ticks beyond the limit are forgotten
	} {
		now = now.Add(step.after)
		require.Equal(t, step.ticks, p.due(now), "%v later", step.after)
	}
}
