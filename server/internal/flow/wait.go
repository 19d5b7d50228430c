package flow

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/topk"
)

// WaitQueue holds the requests of one connection that cannot be answered yet: writes in flight, and everything
// that the client has sent after them. Requests after a write run when the write is answered, so that the
// requests of a session take effect and are answered in their order. The lock of the connection guards it. The
// zero value is empty.
type WaitQueue struct {
	entries []Queued
	head    int    // entries before it are done
	buf     []byte // bodies of reads and finished replies; offsets of entries point into it
	used    int32  // buf before it belongs to entries that are done
	writes  int    // entries that are writes
	dear    int    // entries that are expensive reads
	popped  uint64 // entries that were removed so far
	// uncounted is how many entries at the front no longer count as in process; see LeaveAhead.
	uncounted int
	strict    bool // one of the reads had a large reply
}

// Bounds of the entries after a connection's write, above which its socket is no longer read.
const (
	// waitKept is the largest buffer that an empty queue keeps for reuse.
	waitKept = 64 << 10
	// MaxQueued is how many requests may wait. It bounds the size of their replies if znodes have the largest
	// size.
	MaxQueued = 256
	// MaxQueuedBytes is how many bytes their bodies may have, not counting the last one.
	MaxQueuedBytes = 2 << 20
	// maxReadsAhead is how many reads may wait before a write. Those that were not executed earlier have to be
	// executed under the write lock when the write is applied.
	maxReadsAhead = 32
)

// QueuedKind is the kind of an entry.
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
	Weight int32 // how much of the budget of large writes a write has taken
	// At is when a read was read from the socket, ns on the server's clock.
	At int64
	// Kept is a write that is recorded when it is answered; nil for most.
	Kept *topk.Kept
}

// Len returns how many entries there are.
func (q *WaitQueue) Len() int { return len(q.entries) - q.head }

// Full reports whether only writes may be pushed.
func (q *WaitQueue) Full() bool {
	return q.Len() >= MaxQueued || len(q.buf)-int(q.used) >= MaxQueuedBytes
}

// Ahead returns how many entries stand before the first write.
func (q *WaitQueue) Ahead() int {
	n := 0
	for n < q.Len() && q.entries[q.head+n].Kind != QueuedWrite {
		n++
	}
	return n
}

// TakesWrite reports whether a write may be pushed: little work remains before it is applied.
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

// Pop removes the first entry. The result of Front for it is no longer valid.
func (q *WaitQueue) Pop() {
	e := &q.entries[q.head]
	switch {
	case e.Kind == QueuedWrite:
		q.writes--
	case e.Dear:
		q.dear--
	}
	e.Kept = nil
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

// PopRead is Pop for an entry that is no write. It returns by how many the entries in process decrease.
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

// LeaveAhead stops counting the entries before the first write as in process, because they may wait long for
// their client. It returns how many there are.
func (q *WaitQueue) LeaveAhead() int {
	q.uncounted = q.Ahead()
	return q.uncounted
}

// DropAhead removes the entries before the first write. It is for a dead connection.
func (q *WaitQueue) DropAhead() {
	for q.Ahead() > 0 {
		q.Pop()
	}
	q.uncounted = 0
}

// SetStrict notes that one of the reads had a large reply. From then on no read may wait before a write.
func (q *WaitQueue) SetStrict() { q.strict = true }

// Front returns the first entry and its body.
func (q *WaitQueue) Front() (Queued, []byte) {
	e := q.entries[q.head]
	return e, e.body.Of(q.buf)
}
