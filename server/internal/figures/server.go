package figures

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Server holds the figures of one server. They are added to once for each batch or socket read, not for each
// request.
type Server struct {
	Metrics
	Received  atomic.Int64 // frames from clients since srst
	Sent      atomic.Int64 // frames of writes and events since srst
	answered  [opSlots]atomic.Int64
	Responses Sizes // of replies to requests

	ReadLatency  *Summary // ms
	WriteLatency *Summary // ms
	FsyncTime    *Summary // ms
	SnapshotTime *Summary // ms
	batchTxns    *Summary // txns that one sync made durable
	FlushTime    *Summary // ms
	DurableTime  *Summary // ms
	delay        *Summary // from the making of a txn to its application, ms
	snapLoadTime *Summary // ms
	txnsLoadTime *Summary // ms
	txnsLoaded   *Summary // txns
	initTime     *Summary // ms
	queueTime    *Summary // ms
	prepareTime  *Summary // ms
	commitTime   *Summary // ms
	applyTime    *Summary // ms
	prepared     *Counter // requests
	synced       *Counter // txns
	BytesIn      *Counter
	bytesOut     *Counter // of replies
	bytesEvents  *Counter
}

// opSlots is the size of tables that are indexed by opIndex.
const opSlots = 128

// opIndex maps the op code of a client's request to a table index.
func opIndex(op proto.OpCode) int { return int(op) & (opSlots - 1) }

// Count counts a request that was answered.
func (s *Server) Count(op proto.OpCode) { s.answered[opIndex(op)].Add(1) }

// CountOf returns how many requests with one of these op codes were answered.
func (s *Server) CountOf(ops ...proto.OpCode) (n int64) {
	for _, op := range ops {
		n += s.answered[opIndex(op)].Load()
	}
	return n
}

// NewServer returns figures at zero.
func NewServer() *Server {
	s := &Server{}
	s.ReadLatency = s.Advanced("readlatency", "Latency of reads, ms.")
	s.WriteLatency = s.Advanced("updatelatency", "Latency of writes, ms.")
	s.FsyncTime = s.Basic("fsynctime", "Time of one sync of the log, ms.")
	s.SnapshotTime = s.Basic("snapshottime", "Time to write a snapshot, ms.")
	s.batchTxns = s.Basic("sync_processor_batch_size", "Txns made durable by one sync.")
	s.FlushTime = s.Advanced("sync_processor_queue_flush_time_ms", "Time to write and sync one batch of txns, ms.")
	s.DurableTime = s.Advanced("sync_processor_queue_and_flush_time_ms",
		"Time from the arrival of a batch's oldest request to its end in the log, ms.")
	s.delay = s.Advanced("propagation_latency",
		"Time from the making of a txn, by its leader, until it is applied here, ms; of the newest of each batch.")
	s.snapLoadTime = s.Basic("startup_snap_load_time", "Time to load the snapshot at start, ms.")
	s.txnsLoadTime = s.Basic("startup_txns_load_time", "Time to replay the log at start, ms.")
	s.txnsLoaded = s.Basic("startup_txns_loaded", "Txns of the log that were replayed at start.")
	s.initTime = s.Basic("dbinittime", "Time to load the state at start, ms.")
	const oldest = ", ms; of the oldest of each batch."
	s.queueTime = s.Advanced("prep_processor_queue_time_ms", "Time until a server begins with a write"+oldest)
	s.prepareTime = s.Basic("prep_process_time", "Time in which a leader makes a txn of a write"+oldest)
	s.commitTime = s.Advanced("write_commitproc_time_ms",
		"Time for which a write waits for its commit, at a learner with the way to the leader and back"+oldest)
	s.applyTime = s.Advanced("write_final_proc_time_ms", "Time from the commit of a write until it is applied"+oldest)
	s.prepared = s.Counter("prep_processor_request_queued",
		"Writes, and begins and ends of sessions, that were prepared.")
	s.synced = s.Counter("sync_processor_request_queued", "Txns that were written to the log.")
	s.BytesIn = s.Counter("bytes_received_count", "Bytes received from clients.")
	s.bytesOut = s.Counter("response_bytes", "Bytes of replies sent to clients.")
	s.bytesEvents = s.Counter("watch_bytes", "Bytes of watch events sent to clients.")
	s.countOps()
	return s
}

// Applied notes a batch of requests that are applied, of which txns became txns. madeMs is when the newest of
// them was made, ms since 1970; 0 if not known.
func (s *Server) Applied(requests, txns int, madeMs int64) {
	s.prepared.Add(int64(requests))
	if txns > 0 {
		s.batchTxns.Observe(int64(txns))
		s.synced.Add(int64(txns))
		if madeMs != 0 {
			s.delay.Observe(max(time.Now().UnixMilli()-madeMs, 0))
		}
	}
}

// Staged notes where the time of the oldest write of a batch went, ns: before a server began with it, until it was a
// txn, until it was committed, until it was applied. A stage of 0 was not gone through.
func (s *Server) Staged(queue, prepare, commit, apply int64) {
	s.queueTime.Observe(Ms(queue))
	if prepare > 0 {
		s.prepareTime.Observe(Ms(prepare))
	}
	s.commitTime.Observe(Ms(commit))
	s.applyTime.Observe(Ms(apply))
}

// Recovered notes how long it took to read the snapshot, and to read the whole state with so many txns of the
// log.
func (s *Server) Recovered(snapshot, all time.Duration, txns int) {
	s.snapLoadTime.Observe(snapshot.Milliseconds())
	s.txnsLoadTime.Observe((all - snapshot).Milliseconds())
	s.txnsLoaded.Observe(int64(txns))
	s.initTime.Observe(all.Milliseconds())
}

// Reset does what srst asks for.
func (s *Server) Reset() {
	s.Received.Store(0)
	s.Sent.Store(0)
	s.Responses.reset()
	s.Metrics.reset()
}

// Latency returns the latency of all requests in ms: least, mean and most.
func (s *Server) Latency() (least int64, mean float64, most int64) {
	r, w := s.ReadLatency.recent(), s.WriteLatency.recent()
	n := r.count + w.count
	if n == 0 {
		return 0, 0, 0
	}
	least, most = r.least, max(r.most, w.most)
	if r.count == 0 || w.count > 0 && w.least < least {
		least = w.least
	}
	return least, float64(r.sum+w.sum) / float64(n), most
}

// Publish adds what a connection has sent since the last call to the server's figures.
// REQUIRES: the lock that guards cs.
func (s *Server) Publish(cs *Conn) {
	if cs.bytesReplies > 0 {
		s.Responses.Merge(cs.replies)
		s.bytesOut.Add(cs.bytesReplies)
	}
	if cs.bytesEvents > 0 {
		s.bytesEvents.Add(cs.bytesEvents)
	}
	cs.replies, cs.bytesReplies, cs.bytesEvents = SizeRange{}, 0, 0
}
