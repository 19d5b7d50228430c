package env

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestForecast(t *testing.T) {
	const limit, gib = 1 << 27, int64(1) << 30
	for _, tc := range []struct {
		name    string
		minutes int
		free    func(minute int) int64
		want    float64 // seconds
		within  float64
	}{
		{"too early to tell", forecastLeast - 1, func(m int) int64 { return gib - int64(m)<<20 }, noForecast, 0},
		{"steady", 200, func(int) int64 { return gib }, noForecast, 0},
		{"more room", 200, func(m int) int64 { return gib + int64(m)<<20 }, noForecast, 0},
		{"full", 1, func(int) int64 { return limit }, 0, 0},
		{"a MiB a minute", 200, func(m int) int64 { return gib - int64(m)<<20 }, 60 * float64(1024-199-128), 1},
		{"in files of 64 MiB", 600, func(m int) int64 { return 4*gib - int64(m/16)<<26 },
			60 * float64(4096-128-600*4) / 4, 1500},
		{"saw tooth of a purge", 600, func(m int) int64 { return gib - int64(m%10)<<20 }, noForecast, 1e9},
		{"in more than ten years", 200, func(m int) int64 { return 100*gib - int64(m)*100 }, noForecast, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f forecast
			last := int64(0)
			for m := range tc.minutes {
				last = tc.free(m)
				f.add(int64(m)*int64(time.Minute), last)
				f.add(int64(m)*int64(time.Minute)+int64(time.Second), 0) // too soon
			}
			require.InDelta(t, tc.want, f.seconds(last, limit), tc.within)
		})
	}
}
