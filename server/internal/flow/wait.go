package flow

import "github.com/seed94657493/warren/proto"

// WaitQueue is the requests of one connection that cannot be answered yet: writes in flight, and everything that the
// client has sent behind them. What stands behind a write runs when the write is answered, so that the requests of a
// session take effect and are answered in their order. The lock of the connection guards it. The zero value is empty.
type WaitQueue struct {
	entries []Queued
	head    int    // entries before it are done
	buf     []byte // bodies of reads and finished replies; offsets of entries point into it
	used    int32  // buf before it belongs to entries that are done
	writes  int    // entries that are writes
	dear    int    // entries that are dear reads
	popped  uint64 // entries that were removed so far
	// uncounted is how many entries at the front are not counted as in process any more; see LeaveAhead.
	uncounted int
	strict    bool // one of the reads has had a large reply
}

// Bounds of what waits behind a connection's write before its socket is no longer read.
const (
	// waitKept is the largest buffer that an empty queue keeps for reuse.
	waitKept = 64 << 10
	// MaxQueued is how many requests may wait. It bounds what their replies may take if znodes have the largest size.
	MaxQueued = 256
	// MaxQueuedBytes is how much their bodies may take, but for the last one.
	MaxQueuedBytes = 2 << 20
	// maxReadsAhead is how many reads may wait in front of a write. Those that were not executed before have to be
	// executed under the write lock when the write is applied.
	maxReadsAhead = 32
)

// QueuedKind is what an entry waits for.
type QueuedKind uint8

// The kinds of entries.
const (
	QueuedWrite QueuedKind = iota // waits for its txn
	QueuedRead                    // its body is the request's
	QueuedReply                   // its body is a whole frame to be sent
	QueuedEnd                     // as QueuedReply, and then the connection ends
)

// Queued is one entry of a WaitQueue.
type Queued struct {
	body   Span
	Xid    int32
	Op     proto.OpCode
	Kind   QueuedKind
	Dear   bool  // a read that may take very long
	Weight int32 // what a write has taken of the budget of large writes
}

// Len returns how many entries there are.
func (q *WaitQueue) Len() int { return len(q.entries) - q.head }

// Full reports whether nothing but writes may be pushed any more.
func (q *WaitQueue) Full() bool {
	return q.Len() >= MaxQueued || len(q.buf)-int(q.used) >= MaxQueuedBytes
}

// Ahead is how many entries stand in front of the first write.
func (q *WaitQueue) Ahead() int {
	n := 0
	for n < q.Len() && q.entries[q.head+n].Kind != QueuedWrite {
		n++
	}
	return n
}

// TakesWrite reports whether a write may be pushed: little has to be done before it is applied.
func (q *WaitQueue) TakesWrite() bool {
	reads := q.Len() - q.writes
	return reads == 0 || q.dear == 0 && !q.strict && reads <= maxReadsAhead
}

// Push adds an entry at the end. It copies the body.
func (q *WaitQueue) Push(e Queued, body []byte) {
	e.body = NewSpan(len(q.buf), len(body))
	q.buf = append(q.buf, body...)
	q.entries = append(q.entries, e)
	switch {
	case e.Kind == QueuedWrite:
		q.writes++
	case e.Dear:
		q.dear++
	}
}

// Pop removes the first entry. What Front returned for it is not valid any more.
func (q *WaitQueue) Pop() {
	e := &q.entries[q.head]
	switch {
	case e.Kind == QueuedWrite:
		q.writes--
	case e.Dear:
		q.dear--
	}
	q.used = e.body.Off + e.body.N
	q.head++
	q.popped++
	switch {
	case q.head == len(q.entries):
		q.entries, q.head = q.entries[:0], 0
		if cap(q.buf) > waitKept {
			q.buf = nil
		}
		q.buf, q.used = q.buf[:0], 0
	case q.head >= 1024 && q.head > len(q.entries)/2, q.used >= MaxQueuedBytes && int(q.used) > len(q.buf)/2:
		q.compact()
	}
}

// Popped returns how many entries were removed so far.
func (q *WaitQueue) Popped() uint64 { return q.popped }

// PopRead is Pop for an entry that is no write. It returns how many entries less are in process.
func (q *WaitQueue) PopRead() int {
	q.Pop()
	if q.uncounted > 0 {
		q.uncounted--
		return 0
	}
	return 1
}

// compact moves the entries that wait to the front, so that a queue that is never empty does not grow.
func (q *WaitQueue) compact() {
	n := copy(q.entries, q.entries[q.head:])
	q.entries, q.head = q.entries[:n], 0
	if rest := q.buf[q.used:]; cap(q.buf) > 4*MaxQueuedBytes && len(rest) <= MaxQueuedBytes {
		q.buf = append([]byte(nil), rest...)
	} else {
		q.buf = q.buf[:copy(q.buf, rest)]
	}
	for i := range q.entries {
		q.entries[i].body.Off -= q.used
	}
	q.used = 0
}

// LeaveAhead stops counting the entries in front of the first write as in process, because they may wait for their
// client for long. It returns how many they are.
func (q *WaitQueue) LeaveAhead() int {
	q.uncounted = q.Ahead()
	return q.uncounted
}

// DropAhead removes the entries in front of the first write. It is for a connection that is dead.
func (q *WaitQueue) DropAhead() {
	for q.Ahead() > 0 {
		q.Pop()
	}
	q.uncounted = 0
}

// SetStrict notes that one of the reads has had a large reply. From then on no read may wait in front of a write.
func (q *WaitQueue) SetStrict() { q.strict = true }

// Front returns the first entry and its body.
func (q *WaitQueue) Front() (Queued, []byte) {
	e := q.entries[q.head]
	return e, e.body.Of(q.buf)
}
