package zab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Reasons tell times as people read them: the ticks of a core are not those of zoo.cfg.
func TestTimesInReasons(t *testing.T) {
	timing := DefaultTiming()
	require.Equal(t, "766 ticks", timing.told(766))
	timing.Tick = 10 * time.Millisecond
	require.Equal(t, "7.66s", timing.told(766))
}
