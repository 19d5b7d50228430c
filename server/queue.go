package server

import "github.com/seed94657493/warren/proto"

// waitQueue is the requests of one connection that cannot be answered yet: writes in flight and
// everything the client sent behind them. Guarded by conn.mu.
//
// Invariant: the first entry is a write in flight, or conn.left is set. What stands behind it runs when the applier
// has answered it, so that a session's requests take effect and are answered in order.
type waitQueue struct {
	entries []queued
	head    int    // entries before it are done
	buf     []byte // bodies of reads and finished replies; offsets of entries point into it
	used    int32  // buf before it belongs to entries that are done
	writes  int    // entries that are writes
	dear    int    // entries that are dear reads
	popped  uint64 // entries that were removed so far
	// uncounted is how many entries at the front are not counted as in process any more; see conn.leave.
	uncounted int
	strict    bool // one of the reads has had a large reply
}

// Bounds of what waits behind a connection's write before its socket is no longer read.
const (
	// maxQueued is how many requests may wait. With znodes of the largest size it bounds what their
	// replies may take.
	maxQueued = 256
	// maxQueuedBytes is how much their bodies may take, but for the last one.
	maxQueuedBytes = 2 << 20
	// maxReadsAhead is how many reads may wait in front of a write. When the write is applied they have to be
	// executed under the write lock, unless they have been before.
	maxReadsAhead = 32
	// largeReply is the size of a reply, in bytes, from which on no read of the connection may wait in front of a write.
	largeReply = 64 << 10
)

// dear reports whether a small request of the kind may take very long, whatever it answers.
func dear(op proto.OpCode) bool {
	return op == proto.OpGetEphemerals || op == proto.OpGetAllChildrenNumber || op == proto.OpMultiRead || op == proto.OpSetWatches || op == proto.OpSetWatches2
}

type queuedKind uint8

const (
	queuedWrite queuedKind = iota // waits for its txn
	queuedRead                    // body is the request's
	queuedReply                   // body is a whole frame to send
	queuedEnd                     // as queuedReply, and then the connection ends
)

type queued struct {
	body span
	xid  int32
	op   proto.OpCode
	kind queuedKind
	// dear is whether it is a read that may take very long.
	dear bool
	// weight is what a write has taken of the writeBudget.
	weight int32
}

func (q *waitQueue) len() int { return len(q.entries) - q.head }

// full reports whether nothing but writes may be pushed any more.
func (q *waitQueue) full() bool {
	return q.len() >= maxQueued || len(q.buf)-int(q.used) >= maxQueuedBytes
}

// ahead is how many entries stand in front of the first write.
func (q *waitQueue) ahead() int {
	n := 0
	for n < q.len() && q.entries[q.head+n].kind != queuedWrite {
		n++
	}
	return n
}

// takesWrite reports whether a write may be pushed: little has to be done before it is applied.
func (q *waitQueue) takesWrite() bool {
	reads := q.len() - q.writes
	return reads == 0 || q.dear == 0 && !q.strict && reads <= maxReadsAhead
}

func (q *waitQueue) push(e queued, body []byte) {
	e.body = span{int32(len(q.buf)), int32(len(body))}
	q.buf = append(q.buf, body...)
	q.entries = append(q.entries, e)
	switch {
	case e.kind == queuedWrite:
		q.writes++
	case e.dear:
		q.dear++
	}
}

// pop removes the first entry. What front returned for it is not valid any more.
func (q *waitQueue) pop() {
	e := &q.entries[q.head]
	switch {
	case e.kind == queuedWrite:
		q.writes--
	case e.dear:
		q.dear--
	}
	q.used = e.body.off + e.body.n
	q.head++
	q.popped++
	switch {
	case q.head == len(q.entries):
		q.entries, q.head = q.entries[:0], 0
		if cap(q.buf) > outputKept {
			q.buf = nil
		}
		q.buf, q.used = q.buf[:0], 0
	case q.head >= 1024 && q.head > len(q.entries)/2, q.used >= maxQueuedBytes && int(q.used) > len(q.buf)/2:
		q.compact()
	}
}

// popRead is pop for what is no write. It returns how many entries less are in process.
func (q *waitQueue) popRead() int {
	q.pop()
	if q.uncounted > 0 {
		q.uncounted--
		return 0
	}
	return 1
}

// compact moves what still waits to the front, so that a queue that is never empty does not grow.
func (q *waitQueue) compact() {
	n := copy(q.entries, q.entries[q.head:])
	q.entries, q.head = q.entries[:n], 0
	if rest := q.buf[q.used:]; cap(q.buf) > 4*maxQueuedBytes && len(rest) <= maxQueuedBytes {
		q.buf = append([]byte(nil), rest...)
	} else {
		q.buf = q.buf[:copy(q.buf, rest)]
	}
	for i := range q.entries {
		q.entries[i].body.off -= q.used
	}
	q.used = 0
}

// front returns the first entry and its body.
func (q *waitQueue) front() (queued, []byte) {
	e := q.entries[q.head]
	return e, e.body.of(q.buf)
}
