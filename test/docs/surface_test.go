package docs

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// surfaceRow is one row of docs/OPERATING-SURFACE.md.
type surfaceRow struct {
	at    int
	names []string // what stands in backquotes in the first column
	kind  string   // the first word of the second
	tests []string
}

var backquoted = regexp.MustCompile("`([^`]+)`")

func quotedIn(text string) (names []string) {
	for _, m := range backquoted.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func surfaceRows(t *testing.T) (rows []surfaceRow) {
	t.Helper()
	text := must.ReadFile(t, "../../docs/OPERATING-SURFACE.md")
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| what |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 3, "line %d", i+1)
		kind := regexp.MustCompile(`^\w+`).FindString(cells[1])
		if strings.HasPrefix(cells[1], "`warren ") {
			kind = "ours"
		}
		rows = append(rows, surfaceRow{i + 1, quotedIn(cells[0]), kind, quotedIn(cells[2])})
	}
	require.Greater(t, len(rows), 100)
	return rows
}

// Every row says what is so in one of the words that the page explains, and names tests that exist.
func TestSurfaceRows(t *testing.T) {
	tests := testNames(t)
	for _, r := range surfaceRows(t) {
		require.Contains(t, []string{"same", "differs", "inert", "absent", "ours"}, r.kind, "line %d", r.at)
		require.NotEmpty(t, r.tests, "line %d", r.at)
		for _, name := range r.tests {
			require.True(t, tests[name], "line %d names %s, which is no test", r.at, name)
		}
	}
}

// testNames are the names of all tests of the repository, also of those behind a build tag.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	for _, dir := range []string{
		"client", "cmd", "datatree", "internal", "kerberos", "proto", "recipes", "server", "snapshot", "test", "wal",
		"zab",
	} {
		root := filepath.Join("../..", dir)
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range function.FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
			return err
		}))
	}
	return names
}

// kinds is what the page says of each name in backquotes.
func kinds(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, r := range surfaceRows(t) {
		for _, name := range r.names {
			all[name] = r.kind
		}
	}
	return all
}

// aliases are keys as ZooKeeper's documentation calls them, and its code does not.
var aliases = strings.Fields(
	`connectionMaxTokens connectionTokenFillTime connectionTokenFillCount
	connectionFreezeTime connectionDropIncrease connectionDropDecrease connectionDecreaseRatio requestThrottleLimit
	requestThrottleStallTime requestThrottleDropStale requestStaleLatencyCheck requestStaleConnectionCheck
	throttledOpWaitTime maxTimeToWaitForEpoch maxConcurrentSnapSyncs maxConcurrentDiffSyncs
	com.sun.security.enableCRLDP`)

// Of every key of ZooKeeper the page says something, and what it says is what the server does with the key: it acts
// on it, warns that it does not, refuses it or does not know it.
func TestSurfaceOfKeys(t *testing.T) {
	said := kinds(t)
	f := must.Do(os.Open("../../server/config/testdata/keys.txt"))(t)
	defer f.Close()
	checked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[0] == "#" || slices.Contains(aliases, fields[1]) ||
			strings.HasPrefix(fields[1], "warren.") {
			continue
		}
		key, value := fields[1], fields[2]
		if slices.Contains([]string{"server.1", "group.1", "weight.1", "myid", "audit.file", "superUser.1",
			"authProvider.x509"}, key) ||
			strings.HasPrefix(key, "X509AuthenticationProvider.clientCertId") {
			continue // members have rows of their own; the others are ours, or forms of what has one
		}
		kind := said[key]
		for _, shorter := range []string{
			strings.Replace(key, "ssl.quorum.", "ssl.", 1), strings.TrimSuffix(key, "Path"),
		} {
			if kind == "" {
				kind = said[shorter]
			}
		}
		if kind == "" {
			t.Errorf("the page says nothing of %s", key)
			continue
		}
		checked++
		_, warnings, err := config.Parse(
			strings.NewReader("dataDir=/d\nclientPort=1\nssl.keyStore.location=k.pem\n"+key+"="+value+"\n"), "zoo.cfg")
		var text string
		for _, w := range warnings {
			text += w.String() + "\n"
		}
		without := strings.Contains(text, "have no effect here: "+key) ||
			strings.Contains(text, "this version does not act on: ")
		switch kind {
		case "inert":
			require.True(t, without || key == "audit.impl.class", "%s: %s", key, text)
		case "absent":
			require.True(t, err != nil || key == "com.sun.net.ssl.checkRevocation", "%s is not refused", key)
		default:
			require.False(t, without, "%s: %s", key, text)
			require.NotContains(t, text, "not known", key)
		}
	}
	require.Greater(t, checked, 200)
}

// commands are those of ZooKeeper's admin server and their aliases. Source: operations 3.4.
var commands = map[string][]string{
	"configuration": {"conf", "config"}, "connections": {"cons"}, "connection_stat_reset": {"crst"}, "dirs": nil,
	"dump": nil, "environment": {"env", "envi"}, "get_trace_mask": {"gtmk"}, "set_trace_mask": {"stmk"}, "hash": nil,
	"initial_configuration": {"icfg"}, "is_read_only": {"isro"}, "last_snapshot": {"lsnp"}, "leader": {"lead"},
	"monitor": {"mntr"}, "observers": {"obsr"}, "observer_connection_stat_reset": {"orst"}, "ruok": nil,
	"server_stats": {"srvr"}, "stats": {"stat"}, "stat_reset": {"srst"}, "system_properties": {"sysp"},
	"voting_view": nil, "watches": {"wchc"}, "watches_by_path": {"wchp"}, "watch_summary": {"wchs"}, "zabstate": nil,
	"snapshot": {"snap"}, "restore": {"rest"}, "shed_connections": {"shed"},
}

// words are ZooKeeper's four-letter words. Source: operations 2.1.
var words = strings.Fields("conf cons crst dirs dump envi gtmk hash isro mntr ruok srst srvr stat stmk wchc wchp wchs")

// metrics are the names of operations 4.4.
var metrics = strings.Fields(
	`znode_count watch_count ephemerals_count approximate_data_size num_alive_connections
	outstanding_requests avg_latency min_latency max_latency packets_received packets_sent open_file_descriptor_count
	max_file_descriptor_count uptime global_sessions local_sessions quorum_size leader_uptime learners synced_followers
	synced_non_voting_followers synced_observers pending_syncs last_proposal_size max_proposal_size min_proposal_size
	last_client_response_size max_client_response_size min_client_response_size connection_drop_probability
	auth_failed_count outstanding_tls_handshake non_mtls_remote_conn_count non_mtls_local_conn_count fsynctime
	snapshottime snapshot_error_count restore_time restore_error_count restore_rate_limited_count
	snapshot_rate_limited_count dbinittime readlatency updatelatency propagation_latency proposal_latency
	commit_propagation_latency quorum_ack_latency ack_latency election_time looking_count leader_unavailable_time
	unavailable_time follower_sync_time observer_sync_time diff_count snap_count commit_count proposal_count
	learner_proposal_received_count learner_commit_received_count learner_handler_qp_size learner_handler_qp_time_ms
	inflight_snap_count inflight_diff_count connection_request_count connection_rejected connection_drop_count
	connection_token_deficit connection_revalidate_count revalidate_count sessionless_connections_expired
	stale_sessions_expired unrecoverable_error_count digest_mismatches_count bytes_received_count response_bytes
	watch_bytes read_per_namespace write_per_namespace node_created_watch_count node_deleted_watch_count
	node_changed_watch_count node_children_watch_count response_packet_cache_hits
	response_packet_get_children_cache_hits ensemble_auth_success ensemble_auth_fail ensemble_auth_skip
	prep_processor_queue_time_ms prep_processor_queue_size prep_processor_request_queued sync_processor_queue_time_ms
	sync_processor_queue_flush_time_ms sync_processor_queue_and_flush_time_ms sync_processor_queue_size
	sync_processor_request_queued sync_processor_batch_size read_commitproc_time_ms write_commitproc_time_ms
	read_final_proc_time_ms write_final_proc_time_ms local_write_committed_time_ms server_write_committed_time_ms
	pending_session_queue_size requests_in_session_queue outstanding_changes_queued outstanding_changes_removed
	request_throttle_wait_count request_throttle_queue_time_ms stale_requests stale_requests_dropped stale_replies
	large_requests_rejected throttled_ops quota_exceeded_error_per_namespace quota_count_limit_per_namespace
	quota_count_usage_per_namespace quota_bytes_limit_per_namespace quota_bytes_usage_per_namespace startup_txns_loaded
	startup_txns_load_time startup_snap_load_time quit_leading_due_to_disloyal_voter unsuccessful_handshake
	tls_handshake_exceeded insecure_admin_count cnxn_closed_without_zk_server_running jvm_pause_time_ms op_count_total
	ttl_node_created_count ttl_node_deleted_count dead_watchers_cleaner_latency close_session_prep_time
	om_proposal_process_time_ms om_commit_process_time_ms proposal_ack_creation_latency prep_process_time
	proposal_process_time reads_after_write_in_session_queue reads_issued_from_session_queue session_queues_drained
	time_waiting_empty_pool_in_commit_processor_read_ms write_batch_time_in_commit_processor
	concurrent_request_processing_in_commit_processor read_commit_proc_req_queued write_commit_proc_req_queued
	commit_commit_proc_req_queued read_commit_proc_issued write_commit_proc_issued commit_process_time
	sync_process_time netty_queued_buffer_capacity learner_request_processor_queue_size socket_closing_time
	add_dead_watcher_stall_time dead_watchers_queued dead_watchers_cleared request_commit_queued
	skip_learner_request_to_next_processor_count requests_not_forwarded_to_commit_processor`)

// A server answers every word and command of ZooKeeper that the page does not call absent, and exports every metric
// or, those that depend on a role, a quota or a set of servers, knows its name.
func TestSurfaceOfAServer(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.Admin.Port, cfg.PreAllocSizeKB = cfg.DataDir, 0, 0, 64
	cfg.Admin.Address, cfg.FourLetterWhitelist = "127.0.0.1", []string{"*"}
	cfg.DiskWatermark.Bytes = 0
	s := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	require.NoError(t, s.Start())
	defer s.Stop()
	said := kinds(t)
	port := must.Port(t, s.Addr().String())
	for _, word := range words {
		require.Equal(t, "same", said[word], word)
		ask := word
		if word == "stmk" {
			ask += "\x00\x00\x00\x00\x00\x00\x01\x32"
		}
		text := must.Do(wire.FourLetter(net.JoinHostPort("127.0.0.1", port), ask, time.Minute))(t, word)
		// nothing is watched, and no digest kept
		require.True(t, text != "" || word == "hash" || word == "wchc" || word == "wchp", word)
		require.NotContains(t, text, "not in the whitelist", word)
	}
	get := func(path string) string {
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		resp := must.Do(client.Get("http://" + s.AdminAddr().String() + path))(t)
		defer resp.Body.Close()
		return string(must.ReadAll(t, resp.Body))
	}
	for name, others := range commands {
		require.NotEmpty(t, said[name], name)
		for _, asked := range append(others, name) {
			body := get("/commands/" + asked)
			if name == "restore" || name == "shed_connections" {
				require.Contains(t, body, "method not allowed", "it is asked with POST")
				continue
			}
			var answer map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &answer), "%s: %s", asked, body)
			unknown := answer["error"] == "Unknown command: "+asked
			require.Equal(t, said[name] == "absent", unknown, "%s: %s", asked, body)
		}
	}
	exported, source := get("/metrics"), readSource(t)
	for _, name := range metrics {
		there := strings.Contains(exported, "# TYPE "+name+" ") || strings.Contains(source, `"`+name+`"`)
		require.Equal(t, said[name] != "absent", there, name)
	}
}
