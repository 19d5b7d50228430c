package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// linesOf is the catalog as mntr prints it.
func linesOf(c *catalog) map[string]string {
	all := map[string]string{}
	c.lines(func(key, value string) { all[key] = value })
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
	var c catalog
	n, set := c.counter("n", "N."), c.counterSet("refused", "R.")
	basic, advanced, keyed := c.basic("b", "B."), c.advanced("a", "A."), c.summarySet("ack", "K.", true)
	n.Add(3)
	set.of("app").Inc()
	basic.observe(4)
	advanced.observe(7)
	advanced.observe(9)
	keyed.of("2").observe(5)
	require.Equal(t, map[string]string{
		"n": "3", "app_refused": "1",
		"avg_b": "4.0", "min_b": "4", "max_b": "4", "cnt_b": "1", "sum_b": "4",
		"avg_a": "8.0", "min_a": "7", "max_a": "9", "cnt_a": "2", "sum_a": "16", "p50_a": "8", "p95_a": "8", "p99_a": "8", "p999_a": "8",
		"avg_2_ack": "5.0", "min_2_ack": "5", "max_2_ack": "5", "cnt_2_ack": "1", "sum_2_ack": "5",
		"p50_2_ack": "5", "p95_2_ack": "5", "p99_2_ack": "5", "p999_2_ack": "5",
	}, linesOf(&c))
	c.reset()
	for key, value := range linesOf(&c) {
		require.Contains(t, []string{"0", "0.0"}, value, key)
	}
	n.Inc()
	advanced.observe(2)
	got := linesOf(&c)
	require.Equal(t, "1", got["n"])
	require.Equal(t, []string{"2.0", "2", "2", "1"}, []string{got["avg_a"], got["min_a"], got["max_a"], got["cnt_a"]})

	all := exported(t, c.collect)
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
	var c catalog
	set := c.counterSet("refused", "R.")
	for i := range keysMax + 50 {
		set.of(fmt.Sprintf("ns %d\xff", i)).Inc()
	}
	set.of("ns 7\xff").Inc()
	all := exported(t, c.collect)
	require.Len(t, all, keysMax+1)
	require.EqualValues(t, 50, all["refused{other}"].Counter.GetValue())
	require.EqualValues(t, 2, all["refused{ns 7\ufffd}"].Counter.GetValue())
	require.Equal(t, "2", linesOf(&c)["ns_7__refused"])
}

func TestSizes(t *testing.T) {
	var s sizes
	view := func() []int64 { last, least, most := s.view(); return []int64{last, least, most} }
	require.Equal(t, []int64{-1, -1, -1}, view())
	s.observe(5)
	s.observe(9)
	s.observe(7)
	require.Equal(t, []int64{7, 5, 9}, view())
	var r sizeRange
	s.merge(r)
	r.add(20)
	r.add(3)
	s.merge(r)
	require.Equal(t, []int64{3, 3, 20}, view())
	s.reset()
	require.Equal(t, []int64{-1, -1, -1}, view())
}

// A member's role decides which gauges there are, as in ZooKeeper.
func TestQuorumGaugesFollowTheRole(t *testing.T) {
	var c catalog
	q := newQuorumStats(&c)
	names := func() (all []string) {
		for _, g := range q.gauges() {
			all = append(all, g.name+" "+g.text())
		}
		return all
	}
	require.Empty(t, names())
	q.set(func() quorumRole {
		return quorumRole{Peer: "observing - broadcast", Size: 3, Observing: true, ObserverMaster: 2}
	})
	require.Equal(t, []string{"quorum_size 3"}, names())
	q.set(func() quorumRole { return quorumRole{Peer: "following - broadcast", Size: 3, Following: true} })
	require.Equal(t, []string{"quorum_size 3", "synced_observers 0"}, names())
	q.proposalSize.observe(106)
	q.proposalSize.observe(48)
	q.set(func() quorumRole {
		return quorumRole{Peer: "leading - broadcast", Size: 3, Leading: true, Learners: 4, SyncedFollowers: 2, NonVoting: 1, PendingSyncs: 5,
			LeaderUptime: 1500 * time.Millisecond, SyncedObservers: 1}
	})
	require.Equal(t, []string{"quorum_size 3", "learners 4", "synced_followers 2", "synced_non_voting_followers 1", "pending_syncs 5",
		"leader_uptime 1500", "last_proposal_size 48", "min_proposal_size 48", "max_proposal_size 106", "synced_observers 1"}, names())
	q.ackLatency.of("2").observe(3)
	require.Equal(t, "1", linesOf(&c)["cnt_2_ack_latency"])
	q.set(nil)
	require.Empty(t, names())
}

func TestMntrTellsTheRole(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	s.metrics.quorum.set(func() quorumRole {
		return quorumRole{Peer: "observing - broadcast", Size: 3, Observing: true, ObserverMaster: 2}
	})
	require.Contains(t, word(t, s, "mntr"), "\nzk_peer_state\tobserving - broadcast\nzk_observer_master_id\t2\n")
}

// TestMetricsCountWhatHappens does each thing once and looks at its number.
func TestMetricsCountWhatHappens(t *testing.T) {
	cfg := memConfig()
	cfg.EnforceQuota = true
	s := serveMem(t, cfg, nil)
	c := dialWire(t, s, wire.Options{})
	for _, path := range []string{"/app", "/zookeeper/quota/app"} {
		_, err := c.Create(path, nil, proto.ModePersistent)
		require.NoError(t, err)
	}
	_, _, err := c.GetData("/app", true)
	require.NoError(t, err)
	_, err = c.Children("/", true)
	require.NoError(t, err)
	_, err = c.Create("/zookeeper/quota/app/zookeeper_limits", []byte("count=9,countHardLimit=2,bytes=1000"), proto.ModePersistent)
	require.NoError(t, err)
	_, err = c.Create("/zookeeper/quota/app/zookeeper_stats", []byte("count=1,bytes=0"), proto.ModePersistent)
	require.NoError(t, err)
	_, err = c.SetData("/app", []byte("four"), -1)
	require.NoError(t, err)
	_, err = c.Create("/app/1", nil, proto.ModePersistent)
	require.NoError(t, err)
	_, err = c.Create("/app/2", nil, proto.ModePersistent)
	require.ErrorIs(t, err, proto.ErrQuotaExceeded)
	_, err = c.Create("/other", nil, proto.ModePersistent)
	require.NoError(t, err)

	silent, nc := tcpPair(t)
	s.admit(nc, speaksPlain)
	eventually(t, func() bool { // the time it has passes, as soon as it is counted
		_ = nc.SetReadDeadline(time.Now().Add(-time.Second))
		return s.metrics.sessionless.value.Load() == 1
	}, "expired")
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err, "closed by the server")
	gone := dialWire(t, s, wire.Options{})
	gone.Close()

	got := map[string]string{}
	read := func() map[string]string {
		clear(got)
		s.monitor(func(key, value string) { got[key] = value })
		return got
	}
	eventually(t, func() bool {
		return read()["connection_drop_count"] == "1" && got["sessionless_connections_expired"] == "1"
	}, "counted")
	for key, want := range map[string]string{
		"connection_request_count": "2", "non_mtls_local_conn_count": "3", "non_mtls_remote_conn_count": "0",
		"app_quota_exceeded_error_per_namespace": "1",
		"app_quota_count_limit_per_namespace":    "2", "app_quota_bytes_limit_per_namespace": "1000",
		"app_quota_count_usage_per_namespace": "2", "app_quota_bytes_usage_per_namespace": "4",
		"sum_node_changed_watch_count": "1", "sum_node_children_watch_count": "1", "cnt_node_created_watch_count": "0",
		"prep_processor_request_queued": "10", "sync_processor_request_queued": "10",
		"sum_sync_processor_batch_size": "10", "cnt_startup_snap_load_time": "1", "cnt_dbinittime": "1",
		"min_client_response_size": "16", "unrecoverable_error_count": "0", "proposal_count": "0", "cnt_election_time": "0",
		"watch_bytes": fmt.Sprint(len(appendEvent(nil, proto.EventNodeDataChanged, []byte("/app"), 1)) + len(appendEvent(nil, proto.EventNodeChildrenChanged, []byte("/"), 1)) - 2*lengthBytes),
	} {
		require.Equal(t, want, got[key], key)
	}
	for _, key := range []string{"bytes_received_count", "response_bytes", "last_client_response_size", "max_client_response_size",
		"cnt_sync_processor_queue_flush_time_ms", "cnt_sync_processor_queue_and_flush_time_ms", "cnt_propagation_latency", "cnt_connection_token_deficit"} {
		require.NotContains(t, []string{"", "0", "-1"}, got[key], key)
	}
	word(t, s, "srst")
	require.Equal(t, "0", read()["response_bytes"])
	require.Equal(t, "-1", got["max_client_response_size"])
}
