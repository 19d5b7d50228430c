package server

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestSummaryBucketsHoldTheirValues(t *testing.T) {
	last := -1
	for _, v := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 1000, 1 << 20, 1<<40 + 1, math.MaxInt64} {
		i := bucketOf(v)
		require.GreaterOrEqual(t, i, last)
		last = i
		require.InEpsilon(t, float64(v)+1, bucketValue(i)+1, 0.125, "%d", v)
	}
	require.Zero(t, bucketOf(-5))
	require.Less(t, bucketOf(math.MaxInt64), len(summaryView{}.counts))
}

// TestQuantilesAreWithinAnEighth compares them with the sorted values.
func TestQuantilesAreWithinAnEighth(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		m := newSummary()
		var values []int64
		sum := int64(0)
		for range 1 + r.IntN(2000) {
			v := r.Int64N(1 << (1 + r.IntN(40)))
			n := int64(1 + r.IntN(3))
			m.observeN(v, n)
			for range n {
				values = append(values, v)
			}
			sum += v * n
		}
		slices.Sort(values)
		view := m.recent()
		require.EqualValues(t, len(values), view.count)
		require.Equal(t, sum, view.sum)
		require.Equal(t, values[0], view.least)
		require.Equal(t, values[len(values)-1], view.most)
		require.InDelta(t, float64(sum)/float64(len(values)), view.mean(), 1e-6*float64(sum))
		for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99, 0.999} {
			want := float64(values[int(q*float64(len(values)))])
			require.InDelta(t, want, view.quantile(q), want/8+1e-9, "q=%v", q)
		}
		require.EqualValues(t, view.most, view.quantile(1))
	}
	empty := newSummary()
	empty.observeN(7, 0)
	view := empty.recent()
	require.Zero(t, view.count+view.least+view.most)
	require.Zero(t, view.mean()+view.quantile(0.5))
}

func TestLatencyJoinsReadsAndWrites(t *testing.T) {
	type seen struct {
		least int64
		mean  float64
		most  int64
	}
	for name, tc := range map[string]struct {
		reads, writes []int64
		want          seen
	}{
		"nothing":     {nil, nil, seen{0, 0, 0}},
		"reads":       {[]int64{2, 4}, nil, seen{2, 3, 4}},
		"writes":      {nil, []int64{5}, seen{5, 5, 5}},
		"least read":  {[]int64{1}, []int64{8}, seen{1, 4.5, 8}},
		"least write": {[]int64{9, 0 + 9}, []int64{0}, seen{0, 6, 9}},
	} {
		s := newStats()
		for _, v := range tc.reads {
			s.readLatency.observe(v)
		}
		for _, v := range tc.writes {
			s.writeLatency.observe(v)
		}
		least, mean, most := s.latency()
		require.Equal(t, tc.want, seen{least, mean, most}, name)
		s.reset()
		least, mean, most = s.latency()
		require.Equal(t, seen{}, seen{least, mean, most})
	}
}

// TestConnSetCounts adds and removes at random against a plain count.
func TestConnSetCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, limits := range [][2]int{{0, 0}, {3, 0}, {0, 10}, {4, 9}} {
		cs := newConnSet(limits[0], limits[1])
		var open []*conn
		perAddr := map[netip.Addr]int{}
		reserved := 0
		for range 5000 {
			if len(open) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(open))
				c := open[i]
				open = slices.Delete(open, i, i+1)
				cs.remove(c)
				cs.remove(c)
				if c.reserved {
					reserved--
				} else {
					perAddr[c.remote.Addr()]--
				}
				continue
			}
			c := &conn{remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(5))}), uint16(r.IntN(65536)))}
			full := limits[0] > 0 && perAddr[c.remote.Addr()] >= limits[0] || limits[1] > 0 && len(open)-reserved >= limits[1]
			got, err := cs.add(c)
			require.Equal(t, full && reserved >= wordReserve, err != nil)
			require.Equal(t, full && reserved < wordReserve, got)
			switch {
			case err != nil:
				continue
			case got:
				reserved++
			default:
				perAddr[c.remote.Addr()]++
			}
			open = append(open, c)
			require.Equal(t, len(open), cs.len())
		}
		n := 0
		cs.each(func(c *conn) { n++; cs.remove(c) })
		require.Equal(t, len(open), n)
		require.Zero(t, cs.len()+len(cs.mu.perAddr)+cs.mu.reserved)
		cs.waitEmpty(time.Minute)
	}
}

func TestGuardFollowsTheFreeSpace(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("/data/version-2"))
	cfg := memConfig()
	cfg.DiskWatermark.Bytes = 1 << 20
	s := New(cfg, Options{FS: fs})
	fs.SetCapacity(fs.Used() + 2<<20)
	s.guard = newGuard(s)
	require.False(t, s.guard.full())
	fs.SetCapacity(fs.Used() + 1000)
	s.guard.wrote(1 << 10)
	require.False(t, s.guard.full(), "it looks after a sixteenth of the watermark")
	s.guard.wrote(1 << 16)
	require.True(t, s.guard.full())
	fs.SetCapacity(fs.Used() + 2<<20)
	s.logStalled.Store(1)
	s.guard.check()
	require.True(t, s.guard.full(), "the logger is still waiting")
	s.logStalled.Store(0)
	s.guard.check()
	require.False(t, s.guard.full())
	s.guard.markFull()
	require.True(t, s.guard.full())
	s.cfg.DiskWatermark.Bytes, s.cfg.DiskWatermark.Percent = 0, 0
	s.guard.check()
	require.False(t, s.guard.full())
	s.cfg.DiskWatermark.Percent = 101
	s.guard.check()
	require.True(t, s.guard.full(), "percent of the disk")
}

func TestGCPercent(t *testing.T) {
	for tree, want := range map[int64]int{0: 100, 1 << 20: 100, garbageAllowance: 100, 2 * garbageAllowance: 50, 480 << 20: 10, 1 << 40: 4} {
		require.Equal(t, want, gcPercent(tree), "%d", tree)
	}
}

// While collections are frequent, a small heap may have more garbage, and never more than a large one.
func TestGCPercentWhileBusy(t *testing.T) {
	for live, want := range map[int64]int{0: 1000, 4 << 20: 1000, garbageAllowance / 5: 500, garbageAllowance: 100, 1 << 40: 100} {
		require.Equal(t, want, gcPercentWhileBusy(gcPercentMost, live), "%d", live)
	}
	require.Equal(t, 50, gcPercentWhileBusy(50, 2*garbageAllowance))
}

// TestMetrics gathers twice: every core name that this server has is there once, and ours follow Prometheus' rules.
func TestMetrics(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	_, err := c.Create("/n", nil, proto.ModePersistent)
	require.NoError(t, err)
	require.NoError(t, c.Ping())
	for range 2 {
		families, err := s.registry.Gather()
		require.NoError(t, err)
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
			require.NotEmpty(t, f.GetHelp(), f.GetName())
		}
		for _, want := range []string{
			"znode_count", "watch_count", "ephemerals_count", "approximate_data_size", "num_alive_connections", "outstanding_requests",
			"avg_latency", "min_latency", "max_latency", "packets_received", "packets_sent", "open_file_descriptor_count",
			"max_file_descriptor_count", "uptime", "global_sessions", "local_sessions", "connection_drop_probability", "auth_failed_count",
			"fsynctime", "snapshottime", "snapshot_error_count", "readlatency", "updatelatency", "connection_request_count",
			"connection_rejected", "connection_revalidate_count", "stale_sessions_expired", "digest_mismatches_count",
			"sync_processor_batch_size", "throttled_ops",
			"warren_wal_append_bytes_total", "warren_wal_append_txns_total", "warren_wal_fsync_seconds", "warren_snapshot_write_seconds",
		} {
			require.Contains(t, names, want)
		}
		ours := families[:0]
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "warren_") {
				ours = append(ours, f)
			}
		}
		problems, err := promlint.NewWithMetricFamilies(ours).Lint()
		require.NoError(t, err)
		require.Empty(t, problems)
	}
	s.serving.Store(false)
	_, err = s.registry.Gather()
	require.NoError(t, err, "nothing is computed while the server does not serve")
	s.serving.Store(true)
}
