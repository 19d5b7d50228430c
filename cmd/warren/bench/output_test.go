package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

var rewrite = flag.Bool("rewrite", false, "write the expected outputs again")

// sampleReport is a run of two targets with everything a report can hold.
func sampleReport() *Report {
	row := func(ops int64, p50 float64) *Row {
		r := &Row{Name: "mixed", Seconds: 3, Operations: ops, LoadCPU: 0.25,
			Errors:  map[string]int64{"NoNode": 3, "unsent": 1},
			Latency: &Latency{Mean: p50 + 1, P50: p50, P99: 10 * p50, P999: 20 * p50, Max: 123456},
			Kinds: []KindRow{{"get", ops - 10, &Latency{P50: p50, P99: 10 * p50, P999: 20 * p50, Max: 30 * p50}},
				{"set", 10, &Latency{P50: 2 * p50, P99: 3 * p50, P999: 4 * p50, Max: 5 * p50}}},
			Figures: []Figure{{"sent late, p99", 12.345, "us"}, {"reconnects", 2, ""}},
			Servers: &Usage{CPUSeconds: 1.5, ResidentMiB: 295.4}}
		r.perSecond()
		return r
	}
	a := [][]*Row{{row(300_000, 50)}, {row(330_000, 40)}, {row(270_000, 60)}}
	b := [][]*Row{{row(30_000, 500)}, {row(30_000, 600)}, {row(45_000, 400)}}
	return &Report{Load: "mixed", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Parameters: "--connections 16",
		Targets:     []TargetReport{{"A", []string{"h:1", "h:2"}, []int{7}, a}, {"B", []string{"h:3"}, []int{8}, b}},
		Comparisons: compare(a, b)}
}

func requireGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	require.Equal(t, string(must.ReadFile(t, file)), string(got))
}

func TestTableOutput(t *testing.T) {
	var two, one bytes.Buffer
	r := sampleReport()
	require.NoError(t, r.Table(&two))
	requireGolden(t, "two-targets.txt", two.Bytes())
	r.Targets, r.Comparisons = r.Targets[:1], nil
	r.Targets[0].Rounds = r.Targets[0].Rounds[:1]
	require.NoError(t, r.Table(&one))
	requireGolden(t, "one-target.txt", one.Bytes())
}

func TestJSONOutput(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sampleReport().JSON(&b))
	requireGolden(t, "report.json", b.Bytes())
}

func TestCompareSkipsWhatOneRoundLacks(t *testing.T) {
	r := sampleReport()
	a, b := r.Targets[0].Rounds, r.Targets[1].Rounds
	b[1][0].Latency, b[2][0].Servers = nil, nil
	for _, c := range compare(a, b) {
		require.NotContains(t, c.Figure, "p50")
		require.NotContains(t, c.Figure, "CPU")
	}
	got := compare(a, b)[0]
	require.Equal(t, "operations/s", got.Figure)
	require.Equal(t, Spread{6, 10, 11}, got.Ratio)
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 5: "5", 0.123: "0.12", 9.999: "10.00", 12.34: "12.3", 1234.5: "1234", -250: "-250",
	} {
		require.Equal(t, want, number(v))
	}
}

func TestMedian(t *testing.T) {
	require.Equal(t, 2.0, median([]float64{3, 1, 2}))
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	require.Equal(t, time.Second, median([]time.Duration{time.Second}))
}
