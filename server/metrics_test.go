package server

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestMntrTellsTheRole(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	s.facts.Role = func() (host.QuorumRole, bool) {
		return host.QuorumRole{Peer: "observing - broadcast", Size: 3, Observing: true, ObserverMaster: 2}, true
	}
	require.Contains(t, word(t, s, "mntr"), "\nzk_peer_state\tobserving - broadcast\nzk_observer_master_id\t2\n")
}

// TestMetricsCountWhatHappens does each thing once and checks its metric.
func TestMetricsCountWhatHappens(t *testing.T) {
	cfg := memConfig()
	cfg.EnforceQuota = true
	s, c := serveOne(t, cfg)
	for _, path := range []string{"/app", "/zookeeper/quota/app"} {
		c.MustCreate(t, path, nil, proto.ModePersistent)
	}
	c.MustGetData(t, "/app", true)
	c.MustChildren(t, "/", true)
	c.MustCreate(t, "/zookeeper/quota/app/zookeeper_limits", []byte("count=9,countHardLimit=2,bytes=1000"),
		proto.ModePersistent)
	c.MustCreate(t, "/zookeeper/quota/app/zookeeper_stats", []byte("count=1,bytes=0"), proto.ModePersistent)
	c.MustSetData(t, "/app", []byte("four"), -1)
	c.MustCreate(t, "/app/1", nil, proto.ModePersistent)
	require.ErrorIs(t, must.Err(c.Create("/app/2", nil, proto.ModePersistent)), proto.ErrQuotaExceeded)
	c.MustCreate(t, "/other", nil, proto.ModePersistent)

	s.Metrics.Sessionless.Inc()
	gone := dialWire(t, s, wire.Options{})
	gone.Close()

	got := map[string]string{}
	read := func() map[string]string {
		clear(got)
		for _, n := range s.facts.Numbers() {
			got[n.Name] = n.Value
		}
		return got
	}
	eventually(t, func() bool {
		return read()["connection_drop_count"] == "1" && got["sessionless_connections_expired"] == "1"
	}, "counted")
	for key, want := range map[string]string{
		"connection_request_count": "2", "non_mtls_local_conn_count": "2", "non_mtls_remote_conn_count": "0",
		"app_quota_exceeded_error_per_namespace": "1",
		"app_quota_count_limit_per_namespace":    "2", "app_quota_bytes_limit_per_namespace": "1000",
		"app_quota_count_usage_per_namespace": "2", "app_quota_bytes_usage_per_namespace": "4",
		"sum_node_changed_watch_count": "1", "sum_node_children_watch_count": "1", "cnt_node_created_watch_count": "0",
		"prep_processor_request_queued": "10", "sync_processor_request_queued": "10",
		"sum_sync_processor_batch_size": "10", "cnt_startup_snap_load_time": "1", "cnt_dbinittime": "1",
		"min_client_response_size": "16", "unrecoverable_error_count": "0", "proposal_count": "0",
		"cnt_election_time": "0",
		"watch_bytes":       fmt.Sprint(2*(proto.ReplyHeaderSize+4+4+4) + len("/app/")), // of two events
	} {
		require.Equal(t, want, got[key], key)
	}
	for _, key := range []string{"bytes_received_count", "response_bytes", "last_client_response_size",
		"max_client_response_size",
		"cnt_sync_processor_queue_flush_time_ms", "cnt_sync_processor_queue_and_flush_time_ms",
		"cnt_propagation_latency", "cnt_connection_token_deficit", "cnt_prep_processor_queue_time_ms",
		"cnt_prep_process_time", "cnt_write_commitproc_time_ms", "cnt_write_final_proc_time_ms"} {
		require.NotContains(t, []string{"", "0", "-1"}, got[key], key)
	}
	word(t, s, "srst")
	require.Equal(t, "0", read()["response_bytes"])
	require.Equal(t, "-1", got["max_client_response_size"])
}

// TestOperationsAreCounted counts the requests of clients by operation, as ZooKeeper 3.10: a write that fails is not
// counted, but a multi is. TTL znodes are counted when they come and go.
func TestOperationsAreCounted(t *testing.T) {
	s, c := serveOne(t, configured(t, "extendedTypesEnabled=true"))
	c.MustCreate(t, "/a", nil, proto.ModePersistent)
	require.ErrorIs(t, must.Err(c.Create("/a", nil, proto.ModePersistent)), proto.ErrNodeExists)
	require.NoError(t, c.Send(wire.CreateTTL("/ttl", nil, wire.OpenACL, proto.ModePersistentTTL, 1_000_000)).Wait())
	require.ErrorIs(t, must.Err2(c.GetData("/none", false)), proto.ErrNoNode)
	c.MustChildren(t, "/", false)
	c.MustSetData(t, "/a", nil, -1)
	require.NoError(t, c.Send(wire.Delete("/ttl", -1)).Wait())
	require.ErrorIs(t, must.Err(c.SetData("/none", nil, -1)), proto.ErrNoNode)
	want := map[string]string{"op_count_create": "2", "op_count_create_session": "1", "op_count_get_data": "1",
		"op_count_get_children": "1", "op_count_set_data": "1", "op_count_delete": "1", "op_count_exists": "0",
		"op_count_total": "7", "ttl_node_created_count": "1", "ttl_node_deleted_count": "1"}
	got := map[string]string{}
	read := func() {
		for _, n := range s.facts.Numbers() {
			got[n.Name] = n.Value
		}
	}
	read()
	for key, value := range want {
		require.Equal(t, value, got[key], key)
	}
	word(t, s, "srst")
	read()
	require.Equal(t, "0", got["op_count_create"])
	_, body := ask(t, s, http.MethodGet, "/metrics", nil)
	require.Contains(t, body, "\n# TYPE op_count_create counter\nop_count_create 2\n", "the exporter goes on")
}

// metricsProvider.namesStyle chooses the names of counters. The values are the same.
func TestNamesOfCounters(t *testing.T) {
	for style, want := range map[string][]bool{"3.9": {true, false}, "3.10": {false, true}, "both": {true, true}} {
		s, c := serveOne(t, configured(t, "metricsProvider.namesStyle="+style))
		c.MustCreate(t, "/a", nil, proto.ModePersistent)
		_, body := ask(t, s, http.MethodGet, "/metrics", nil)
		for i, name := range []string{"op_count_create", "op_count_create_total"} {
			require.Equal(t, want[i], strings.Contains(body, "\n"+name+" 1\n"), "%s: %s", style, name)
		}
		require.Contains(t, body, "\nop_count_total 2\n")
		require.NotContains(t, body, "_total_total")
		require.Contains(t, body, "\nznode_count ", "a gauge has one name")
		require.Contains(t, word(t, s, "mntr"), "\nzk_op_count_create\t1\n", "mntr has one style")
	}
}

// The most memory that the exporter shows is the limit of Go's runtime, which is GOMEMLIMIT or that of the container,
// or the memory of the machine if that is less. Go's value for no limit, 9.2e18, is never shown: alerts divide by it.
func TestMemoryMaxIsALimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	s := serveMem(t, configured(t), nil)
	const limit = 300 << 20 // below the memory of any machine
	shown := func(limit int64) string {
		debug.SetMemoryLimit(limit)
		_, body := ask(t, s, http.MethodGet, "/metrics", nil)
		_, rest, found := strings.Cut(body, "\njvm_memory_bytes_max{area=\"heap\"} ")
		require.Equal(t, found, strings.Contains(body, "\n# TYPE jvm_memory_bytes_max gauge\n"))
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	require.Equal(t, strconv.FormatFloat(limit, 'g', -1, 64), shown(limit))
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		require.Empty(t, shown(math.MaxInt64), "the memory of the machine is not known")
		return
	}
	var kilobytes float64
	must.Do(fmt.Sscanf(string(text), "MemTotal: %g kB", &kilobytes))(t)
	machine := strconv.FormatFloat(kilobytes*1024, 'g', -1, 64)
	require.Equal(t, machine, shown(math.MaxInt64))
	require.Equal(t, machine, shown(1<<60))
}
