package server

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/proto"
)

// stats is what the four-letter words and the metrics report of this server. Counters are added
// to once for each batch or socket read, not for each request.
type stats struct {
	catalog
	received  atomic.Int64 // frames from clients since srst
	sent      atomic.Int64 // frames of writes and events since srst
	reads     [opSlots]atomic.Int64
	responses sizes // of replies to requests

	readLatency  *summary // ms
	writeLatency *summary // ms
	fsyncTime    *summary // ms
	snapshotTime *summary // ms
	batchTxns    *summary // txns
	flushTime    *summary // ms
	durableTime  *summary // ms
	delay        *summary // ms
	snapLoadTime *summary // ms
	txnsLoadTime *summary // ms
	txnsLoaded   *summary // txns
	initTime     *summary // ms
	prepared     *counter // requests
	synced       *counter // txns
	bytesIn      *counter
	bytesOut     *counter // of replies
	bytesEvents  *counter
}

// opSlots is the size of tables that are indexed by opIndex.
const opSlots = 128

// opIndex maps a read's op code to a table index.
func opIndex(op proto.OpCode) int { return int(op) & (opSlots - 1) }

func newStats() *stats {
	s := &stats{}
	s.readLatency = s.advanced("readlatency", "Latency of reads, ms.")
	s.writeLatency = s.advanced("updatelatency", "Latency of writes, ms.")
	s.fsyncTime = s.basic("fsynctime", "Time of one sync of the log, ms.")
	s.snapshotTime = s.basic("snapshottime", "Time to write a snapshot, ms.")
	s.batchTxns = s.basic("sync_processor_batch_size", "Txns made durable by one sync.")
	s.flushTime = s.advanced("sync_processor_queue_flush_time_ms", "Time to write and sync one batch of txns, ms.")
	s.durableTime = s.advanced("sync_processor_queue_and_flush_time_ms", "Time from the arrival of a batch's oldest request to its end in the log, ms.")
	s.delay = s.advanced("propagation_latency", "Time from the making of a txn, by its leader, until it is applied here, ms; of the newest of each batch.")
	s.snapLoadTime = s.basic("startup_snap_load_time", "Time to load the snapshot at start, ms.")
	s.txnsLoadTime = s.basic("startup_txns_load_time", "Time to replay the log at start, ms.")
	s.txnsLoaded = s.basic("startup_txns_loaded", "Txns of the log that were replayed at start.")
	s.initTime = s.basic("dbinittime", "Time to load the state at start, ms.")
	s.prepared = s.counter("prep_processor_request_queued", "Writes, and begins and ends of sessions, that were prepared.")
	s.synced = s.counter("sync_processor_request_queued", "Txns that were written to the log.")
	s.bytesIn = s.counter("bytes_received_count", "Bytes received from clients.")
	s.bytesOut = s.counter("response_bytes", "Bytes of replies sent to clients.")
	s.bytesEvents = s.counter("watch_bytes", "Bytes of watch events sent to clients.")
	return s
}

// applied accounts for a batch whose replies are ready at now.
func (s *stats) applied(b *logBatch, now int64) {
	s.prepared.Add(int64(len(b.items)))
	for i := range b.items {
		if b.items[i].conn != nil {
			s.writeLatency.observe(nsToMs(now - b.items[i].received))
		}
	}
	if b.txns > 0 {
		s.batchTxns.observe(int64(b.txns))
		s.synced.Add(int64(b.txns))
		if made, ok := b.newestTime(); ok {
			s.delay.observe(max(time.Now().UnixMilli()-made, 0))
		}
	}
}

// newestTime is the time in the header of the batch's newest txn, in ms since 1970.
func (b *logBatch) newestTime() (ms int64, ok bool) {
	for i := len(b.items) - 1; i >= 0; i-- {
		if b.items[i].payload.n == 0 {
			continue
		}
		var h proto.TxnHeader
		err := h.ReadFrom(b.payload(&b.items[i]))
		return h.Time, err == nil
	}
	return 0, false
}

// recovered accounts for the state that was read from the disk: its snapshot, and all of it with so many txns of the log.
func (s *stats) recovered(snapshot, all time.Duration, txns int) {
	s.snapLoadTime.observe(snapshot.Milliseconds())
	s.txnsLoadTime.observe((all - snapshot).Milliseconds())
	s.txnsLoaded.observe(int64(txns))
	s.initTime.observe(all.Milliseconds())
}

// reset is srst.
func (s *stats) reset() {
	s.received.Store(0)
	s.sent.Store(0)
	s.responses.reset()
	s.catalog.reset()
}

// latency is the latency of all requests in ms: least, mean and most.
func (s *stats) latency() (least int64, mean float64, most int64) {
	r, w := s.readLatency.recent(), s.writeLatency.recent()
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

func nsToMs(ns int64) int64 { return ns / 1e6 }

// connStats is what cons reports of one connection. Guarded by conn.mu.
type connStats struct {
	received, sent int64
	lastOp         proto.OpCode
	lastXid        int32
	lastZxid       proto.Zxid
	lastResponse   int64 // ns on the server's clock
	latency        [3]int64
	latencySum     int64
	answeredTotal  int64

	// Not yet published.
	replies      sizeRange
	bytesReplies int64
	bytesEvents  int64
}

// Indexes into connStats.latency, in ms.
const (
	latencyLast = iota
	latencyMin
	latencyMax
)

func (cs *connStats) reset(now int64) {
	*cs = connStats{lastXid: -1, lastResponse: now, replies: cs.replies, bytesReplies: cs.bytesReplies, bytesEvents: cs.bytesEvents}
}

// account notes packets received, of which executed were answered at once.
func (cs *connStats) account(packets, executed, took, now int64) {
	cs.received += packets
	if executed > 0 {
		cs.observe(nsToMs(took), executed, now)
	}
}

// replied notes a reply. A negative xid, such as a ping's, does not hide that of the client's last request.
func (cs *connStats) replied(op proto.OpCode, xid int32, zxid proto.Zxid) {
	cs.sent++
	cs.lastOp, cs.lastZxid = op, zxid
	if xid >= 0 {
		cs.lastXid = xid
	}
}

// answered notes the reply to a write.
func (cs *connStats) answered(it *item, zxid proto.Zxid, now int64) {
	cs.replied(it.op, it.xid, zxid)
	cs.observe(nsToMs(now-it.received), 1, now)
}

func (cs *connStats) observe(ms, n, now int64) {
	if cs.answeredTotal == 0 || ms < cs.latency[latencyMin] {
		cs.latency[latencyMin] = ms
	}
	cs.latency[latencyMax] = max(cs.latency[latencyMax], ms)
	cs.latency[latencyLast] = ms
	cs.latencySum += ms * n
	cs.answeredTotal += n
	cs.lastResponse = now
}

// responded notes that a reply to a request is n bytes long, with its length, which ZooKeeper does not count.
func (cs *connStats) responded(n int) {
	n -= lengthBytes
	cs.replies.add(int64(n))
	cs.bytesReplies += int64(n)
}

// lengthBytes is the length before every frame.
const lengthBytes = 4

// told notes an event of n bytes, with its length.
func (cs *connStats) told(n int) {
	cs.sent++
	cs.bytesEvents += int64(n - lengthBytes)
}

// took adds what a connection has received since the last time.
func (s *stats) took(in *input) {
	if in.got > 0 {
		s.bytesIn.Add(in.got)
		in.got = 0
	}
}

// publish adds what a connection has sent since the last time to the server's numbers. REQUIRES: the conn's mu.
func (s *stats) publish(cs *connStats) {
	if cs.bytesReplies > 0 {
		s.responses.merge(cs.replies)
		s.bytesOut.Add(cs.bytesReplies)
	}
	if cs.bytesEvents > 0 {
		s.bytesEvents.Add(cs.bytesEvents)
	}
	cs.replies, cs.bytesReplies, cs.bytesEvents = sizeRange{}, 0, 0
}
