//go:build interop

package interop

import "regexp"

// surfaceDifference is what only one of ZooKeeper 3.8.0 and Warren says, and why that is intended.
type surfaceDifference struct {
	side   int // whose
	what   *regexp.Regexp
	reason string
	rare   bool // it depends on when is asked: not in every run
}

// Sides of a comparison.
const (
	zooKeeper = iota
	warren
)

func only(side int, what, reason string) surfaceDifference {
	return surfaceDifference{side: side, what: regexp.MustCompile("^(?:" + what + ")$"), reason: reason}
}

// perhaps is only for what is not in every run.
func perhaps(side int, what, reason string) surfaceDifference {
	d := only(side, what, reason)
	d.rare = true
	return d
}

// unmeasured is metrics that count something Warren has nothing like: a constant zero would be taken for a
// measurement.
var unmeasured = []surfaceDifference{
	only(zooKeeper, `metric: \w+_(read|write)_per_namespace basic summary`, "would be paid for by every request"),
	only(zooKeeper, `metric: (add_dead_watcher_stall_time|dead_watchers_\w+) .*`,
		"watches of a connection that ends are removed at once"),
	only(zooKeeper, `metric: response_packet_\w+ .*`, "replies are encoded from the tree; there is no cache of them"),
	only(zooKeeper, `metric: outstanding_changes_\w+ .*`, "what is prepared and not applied is no queue of records"),
	only(zooKeeper,
		`metric: (prep_processor_queue_size|proposal_process_time|close_session_prep_time) .*`,
		"writes are prepared in batches, which takes microseconds: see sync_processor_queue_and_flush_time_ms "+
			"for the whole way"),
	only(zooKeeper, `metric: (sync_process_time|sync_processor_queue_size|sync_processor_queue_time_ms) .*`,
		"the log has no queue: a batch gathers while the one before is synced"),
	only(zooKeeper,
		`metric: (\w*commit_proc_\w+|\w*commit_processor\w*|read_commitproc_time_ms|commit_process_time|`+
			`request_commit_queued|local_write_committed_time_ms|server_write_committed_time_ms|`+
			`read_final_proc_time_ms|\w*session_queue\w*) .*`,
		"there is no commit processor: reads run in their connection's goroutine, writes are applied in batches"),
	only(zooKeeper,
		`metric: (learner_request_processor_queue_size|skip_learner_request_to_next_processor_count|om_\w+) .*`,
		"a learner forwards and an observer master serves without a queue of their own"),
	only(zooKeeper, `metric: (stale_\w+) counter int`,
		"requests do not wait in a throttler in which they could become stale"),
	only(zooKeeper, `metric: netty_queued_buffer_capacity .*`, "there is no Netty"),
	only(zooKeeper, `metric: socket_closing_time .*`, "sockets are closed without waiting for the peer"),
	only(warren, `metric: connections_refused_\w+ .*`, "why connections were refused, beside their number"),
	only(warren, `metric: (snapshot|restore)_\w+ .*`, "of 3.9"),
	only(warren, `metric: (op_count_\w+|ttl_node_(created|deleted)_count) .*`, "of 3.10"),
	only(warren, `(\w+ |alone: )?(word envi|command env\w*): .*jvm\.memory\..*`,
		"3.10's names of os.memory.*, beside them"),
}

var surfaceDifferences = append([]surfaceDifference{
	only(zooKeeper, `system property: (file|line|path|native)\.\w+ string`, "the Java runtime's"),
	only(zooKeeper, `system property: (user\.language|user\.timezone|jetty\.git\.hash) string`, "the Java runtime's"),
	only(warren, `commands: (snapshot|restore)`, "of 3.9"),
	only(warren, `commands: shed_connections`, "of 3.10"),
	only(warren, `commands: (drain|end_session|hand_over|log_level|slow|take_snapshot|top)`,
		"Warren's: see OPERATIONS.md"),
}, unmeasured...)

var whitelistDifferences = []surfaceDifference{
	only(zooKeeper, `telnet: "telnet close is not executed because it is not in the whitelist.\\n"`,
		"nobody asked for an answer to ^C"),
	only(warren, `telnet: ""`, "as above"),
}

var ensembleDifferences = append([]surfaceDifference{
	only(zooKeeper, `\w+ command zabstate: \.(quorum|election)_address\..*`,
		"what Java finds in its class of addresses besides the addresses; some of it connects to them to answer"),
	only(warren, `alone: command zabstate: .*`, "who this server is and what it holds is known without a quorum too"),
	only(warren, `\w+ command zabstate: \.(client_port|secure_client_port|outside) .*`,
		"which of the servers of a host this is, and whether its history differs from that of the ensemble"),
	only(warren, `\w+ command zabstate: \.(ensemble|accepted_epoch|current_epoch|blank) .*`,
		"what doctor and recover compare between servers"),
	only(zooKeeper, `metric: \d_learner_handler_qp_\w+ .*`,
		"what waits for a learner is one buffer, not a queue of packets"),
	perhaps(zooKeeper, `leader mntr: cnt_inflight_\w+ is not 0`,
		"how a server is brought up to date, and if it is at all, depends on who was there first"),
	perhaps(warren, `leader mntr: cnt_inflight_\w+ is not 0`, "the same"),
	perhaps(zooKeeper, `follower mntr: cnt_commit_propagation_latency is not 0`,
		"a COMMIT has no time in it; propagation_latency is the time until it is applied"),
	perhaps(zooKeeper, `follower mntr: cnt_readlatency is not 0`, "sync has its place among the writes"),
}, unmeasured...)
