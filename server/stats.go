package server

import (
	"math/bits"
	"sync/atomic"

	"github.com/seed94657493/warren/proto"
)

// stats is what the four-letter words and the metrics report of this server since it began or
// since srst. Counters are added to once for each batch or socket read, not for each request.
type stats struct {
	received     atomic.Int64 // frames from clients
	sent         atomic.Int64 // frames of writes and events
	reads        [opSlots]atomic.Int64
	readLatency  summary // ms
	writeLatency summary // ms
	fsyncTime    summary // ms
	snapshotTime summary // ms
	batchTxns    summary // txns
}

// opSlots is the size of tables that are indexed by opIndex.
const opSlots = 128

// opIndex maps a read's op code to a table index.
func opIndex(op proto.OpCode) int { return int(op) & (opSlots - 1) }

func newStats() *stats {
	s := &stats{}
	for _, m := range []*summary{&s.readLatency, &s.writeLatency, &s.fsyncTime, &s.snapshotTime, &s.batchTxns} {
		m.reset()
	}
	return s
}

// applied accounts for a batch whose replies are ready at now.
func (s *stats) applied(b *logBatch, now int64) {
	for i := range b.items {
		if b.items[i].conn != nil {
			s.writeLatency.observe(nsToMs(now - b.items[i].received))
		}
	}
	if b.txns > 0 {
		s.batchTxns.observe(int64(b.txns))
	}
}

// reset is srst.
func (s *stats) reset() {
	s.received.Store(0)
	s.sent.Store(0)
	s.readLatency.reset()
	s.writeLatency.reset()
}

// latency is the latency of all requests in ms: least, mean and most.
func (s *stats) latency() (least int64, mean float64, most int64) {
	r, w := s.readLatency.view(), s.writeLatency.view()
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

// summary counts values in buckets a quarter of a power of two wide, so that quantiles are within
// an eighth of the truth. Observing is a few atomic additions; any goroutine may do it.
type summary struct {
	buckets     [64 * 4]atomic.Int64
	sum         atomic.Int64
	least, most atomic.Int64
}

// bucketOf maps a value to its bucket: values below 4 are exact.
func bucketOf(v int64) int {
	if v < 4 {
		return int(max(v, 0))
	}
	exp := bits.Len64(uint64(v)) - 1
	return exp*4 + int(v>>(exp-2)&3)
}

// bucketValue is the middle of a bucket.
func bucketValue(i int) float64 {
	if i < 8 {
		return float64(i & 3)
	}
	exp, quarter := i/4, i%4
	width := float64(int64(1) << (exp - 2))
	return float64(int64(1)<<exp) + (float64(quarter)+0.5)*width - 0.5
}

func (m *summary) observe(v int64) { m.observeN(v, 1) }

// observeN observes v n times.
func (m *summary) observeN(v, n int64) {
	if n == 0 {
		return
	}
	m.buckets[bucketOf(v)].Add(n)
	m.sum.Add(v * n)
	for least := m.least.Load(); v < least && !m.least.CompareAndSwap(least, v); least = m.least.Load() {
	}
	for most := m.most.Load(); v > most && !m.most.CompareAndSwap(most, v); most = m.most.Load() {
	}
}

func (m *summary) reset() {
	for i := range m.buckets {
		m.buckets[i].Store(0)
	}
	m.sum.Store(0)
	m.least.Store(1<<63 - 1)
	m.most.Store(0)
}

// summaryView is a summary at one moment.
type summaryView struct {
	counts      [64 * 4]int64
	count, sum  int64
	least, most int64
}

func (m *summary) view() (v summaryView) {
	for i := range m.buckets {
		v.counts[i] = m.buckets[i].Load()
		v.count += v.counts[i]
	}
	v.sum, v.least, v.most = m.sum.Load(), m.least.Load(), m.most.Load()
	if v.count == 0 {
		v.least = 0
	}
	return v
}

func (v *summaryView) mean() float64 {
	if v.count == 0 {
		return 0
	}
	return float64(v.sum) / float64(v.count)
}

// quantile is the value below which the share q of all values lies.
func (v *summaryView) quantile(q float64) float64 {
	rank, seen := int64(q*float64(v.count)), int64(0)
	for i, n := range v.counts {
		if seen += n; n > 0 && seen > rank {
			return min(max(bucketValue(i), float64(v.least)), float64(v.most))
		}
	}
	return float64(v.most)
}

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
}

// Indexes into connStats.latency, in ms.
const (
	latencyLast = iota
	latencyMin
	latencyMax
)

func (cs *connStats) reset(now int64) { *cs = connStats{lastXid: -1, lastResponse: now} }

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
