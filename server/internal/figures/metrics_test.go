package figures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// linesOf is the catalog as mntr prints it.
func linesOf(c *Metrics) map[string]string {
	all := map[string]string{}
	c.Lines(func(key, value string) { all[key] = value })
	return all
}

// exported is what a collector exports, by name and the value of the label key.
func exported(t *testing.T, collect func(chan<- prometheus.Metric)) map[string]*dto.Metric {
	t.Helper()
	ch := make(chan prometheus.Metric, 10_000)
	collect(ch)
	close(ch)
	all := map[string]*dto.Metric{}
	for m := range ch {
		var out dto.Metric
		require.NoError(t, m.Write(&out))
		name := strings.Split(m.Desc().String(), `"`)[1]
		for _, l := range out.Label {
			name += "{" + l.GetValue() + "}"
		}
		require.NotContains(t, all, name)
		all[name] = &out
	}
	return all
}

// srst makes mntr begin anew; what is exported goes on, since a counter must not fall.
func TestResetConcernsMntrOnly(t *testing.T) {
	var c Metrics
	n, set := c.Counter("n", "N."), c.CounterSet("refused", "R.")
	basic, advanced, keyed := c.Basic("b", "B."), c.Advanced("a", "A."), c.summarySet("ack", "K.")
	n.Add(3)
	set.Of("app").Inc()
	basic.Observe(4)
	advanced.Observe(7)
	advanced.Observe(9)
	keyed.Of("2").Observe(5)
	require.Equal(t, map[string]string{
		"n": "3", "app_refused": "1",
		"avg_b": "4.0", "min_b": "4", "max_b": "4", "cnt_b": "1", "sum_b": "4",
		"avg_a": "8.0", "min_a": "7", "max_a": "9", "cnt_a": "2", "sum_a": "16", "p50_a": "8", "p95_a": "8",
		"p99_a": "8", "p999_a": "8", "avg_2_ack": "5.0", "min_2_ack": "5", "max_2_ack": "5", "cnt_2_ack": "1",
		"sum_2_ack": "5", "p50_2_ack": "5", "p95_2_ack": "5", "p99_2_ack": "5", "p999_2_ack": "5",
	}, linesOf(&c))
	c.reset()
	for key, value := range linesOf(&c) {
		require.Contains(t, []string{"0", "0.0"}, value, key)
	}
	n.Inc()
	advanced.Observe(2)
	got := linesOf(&c)
	require.Equal(t, "1", got["n"])
	require.Equal(t, []string{"2.0", "2", "2", "1"}, []string{got["avg_a"], got["min_a"], got["max_a"], got["cnt_a"]})

	all := exported(t, c.Collect)
	require.EqualValues(t, 4, all["n"].Counter.GetValue())
	require.EqualValues(t, 1, all["refused{app}"].Counter.GetValue())
	require.EqualValues(t, 3, all["a"].Summary.GetSampleCount())
	require.EqualValues(t, 18, all["a"].Summary.GetSampleSum())
	require.Len(t, all["a"].Summary.Quantile, 4)
	require.Len(t, all["b"].Summary.Quantile, 1)
	require.EqualValues(t, 1, all["ack{2}"].Summary.GetSampleCount())
}

// Clients choose namespaces: neither their number nor their letters may break a scrape.
func TestKeysAreBoundedAndPlain(t *testing.T) {
	var c Metrics
	set := c.CounterSet("refused", "R.")
	for i := range keysMax + 50 {
		set.Of(fmt.Sprintf("ns %d\xff", i)).Inc()
	}
	set.Of("ns 7\xff").Inc()
	all := exported(t, c.Collect)
	require.Len(t, all, keysMax+1)
	require.EqualValues(t, 50, all["refused{other}"].Counter.GetValue())
	require.EqualValues(t, 2, all["refused{ns 7\ufffd}"].Counter.GetValue())
	require.Equal(t, "2", linesOf(&c)["ns_7__refused"])
}

func TestSizes(t *testing.T) {
	var s Sizes
	view := func() []int64 { last, least, most := s.View(); return []int64{last, least, most} }
	require.Equal(t, []int64{-1, -1, -1}, view())
	s.Observe(5)
	s.Observe(9)
	s.Observe(7)
	require.Equal(t, []int64{7, 5, 9}, view())
	var r SizeRange
	s.Merge(r)
	r.Add(20)
	r.Add(3)
	s.Merge(r)
	require.Equal(t, []int64{3, 3, 20}, view())
	s.reset()
	require.Equal(t, []int64{-1, -1, -1}, view())
}
