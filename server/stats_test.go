package server

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestGuardFollowsTheFreeSpace(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("/data/version-2"))
	cfg := memConfig()
	cfg.DiskWatermark.Bytes = 1 << 20
	s := New(cfg, Options{FS: fs})
	fs.SetCapacity(fs.Used() + 2<<20)
	s.Guard = env.NewGuard(s.Env)
	require.False(t, s.Guard.Full())
	fs.SetCapacity(fs.Used() + 1000)
	s.Guard.Wrote(1 << 10)
	require.False(t, s.Guard.Full(), "it looks after a sixteenth of the watermark")
	s.Guard.Wrote(1 << 16)
	require.True(t, s.Guard.Full())
	fs.SetCapacity(fs.Used() + 2<<20)
	s.LogStalled.Store(1)
	s.Guard.Check()
	require.True(t, s.Guard.Full(), "the logger is still waiting")
	s.LogStalled.Store(0)
	s.Guard.Check()
	require.False(t, s.Guard.Full())
	s.Guard.MarkFull()
	require.True(t, s.Guard.Full())
	s.Config.DiskWatermark.Bytes, s.Config.DiskWatermark.Percent = 0, 0
	s.Guard.Check()
	require.False(t, s.Guard.Full())
	s.Config.DiskWatermark.Percent = 101
	s.Guard.Check()
	require.True(t, s.Guard.Full(), "percent of the disk")
}

// TestMetrics gathers twice: every core name of ZooKeeper's that this server has is there once, and Warren's names
// follow the rules of Prometheus.
func TestMetrics(t *testing.T) {
	s, c := serveOne(t, memConfig())
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	require.NoError(t, c.Ping())
	for range 2 {
		families := must.Do(s.Registry.Gather())(t)
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
			require.NotEmpty(t, f.GetHelp(), f.GetName())
		}
		for _, want := range []string{
			"znode_count", "watch_count", "ephemerals_count", "approximate_data_size", "num_alive_connections",
			"outstanding_requests",
			"avg_latency", "min_latency", "max_latency", "packets_received", "packets_sent",
			"open_file_descriptor_count",
			"max_file_descriptor_count", "uptime", "global_sessions", "local_sessions", "connection_drop_probability",
			"auth_failed_count",
			"fsynctime", "snapshottime", "snapshot_error_count", "readlatency", "updatelatency",
			"connection_request_count",
			"connection_rejected", "connection_revalidate_count", "stale_sessions_expired", "digest_mismatches_count",
			"sync_processor_batch_size", "throttled_ops",
			"warren_wal_append_bytes_total", "warren_wal_append_txns_total", "warren_wal_fsync_seconds",
			"warren_snapshot_write_seconds",
		} {
			require.Contains(t, names, want)
		}
		ours := families[:0]
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "warren_") {
				ours = append(ours, f)
			}
		}
		require.Empty(t, must.Do(promlint.NewWithMetricFamilies(ours).Lint())(t))
	}
	s.Doors.Bar()
	require.NoError(t, must.Err(s.Registry.Gather()), "nothing is computed while the server does not serve")
	s.Doors.Open()
}
