package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Time passes on a watch while it is looked at, and hardly any while it is not.
func TestWatchDoesNotCountStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch()
		for range 20 {
			time.Sleep(time.Second)
			w.Elapsed()
		}
		require.Equal(t, 20*time.Second, w.Elapsed())
		time.Sleep(time.Hour)
		require.Equal(t, 20*time.Second+watchStep, w.Elapsed())
	})
}

func TestEventuallyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Eventually(t, func() bool { return time.Since(began) > time.Minute }, 2*time.Minute, "a minute")
		require.GreaterOrEqual(t, time.Since(began), time.Minute)
	})
}
