package server

import (
	"os"
	rt "runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/garbage"
)

var rubbish []byte

// A server that runs alone in its process lets more garbage accumulate while collections are frequent, and restores
// the collector's setting when it stops.
func TestGarbageOfAWholeProcess(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		require.NoError(t, os.Unsetenv("GOGC"))
	}
	percent := func() uint64 {
		sample := []rt.Sample{{Name: "/gc/gogc:percent"}}
		rt.Read(sample)
		return sample[0].Value.Uint64()
	}
	s := started(t, memConfig(), Options{WholeProcess: true})
	require.Eventually(t, func() bool {
		for range 100 {
			rubbish = make([]byte, 1<<20)
		}
		return percent() > garbage.PercentDefault
	}, hangGuard, time.Millisecond)
	s.Stop()
	require.EqualValues(t, garbage.PercentDefault, percent())
}
