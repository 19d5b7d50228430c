package serve

import (
	"sync/atomic"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/topk"
)

// inFlight is the queue of the requests of a connection that cannot be answered yet: its writes, and what the client
// has sent behind them. The reader adds at the end. The applier removes a write from the front when it is applied, and
// runs the reads behind it, so that the requests of a session take effect and are answered in their order; where these
// reads are much work it leaves them to catchUp. Guarded by Conn.mu, but for left. The zero value is empty.
//
// Invariant: the counts are those of entries[head:]; while reads are left, none is added.
type inFlight struct {
	entries   []queued
	head      int    // entries before it are done
	buf       []byte // bodies of reads and finished replies; offsets of entries point into it
	used      int32  // buf before it belongs to entries that are done
	writes    int    // entries that are writes
	expensive int    // entries that are expensive reads
	popped    uint64 // entries that were removed so far
	uncounted int    // how many entries at the front no longer count as in process; see leave
	strict    bool   // one of the reads had a large reply: from then on no read may wait before a write
	helped    bool   // catchUp is running
	// left is whether the applier has left reads at the front of the queue to catchUp. It is set under Store.Mu,
	// held for writing, and cleared under Conn.mu; so the applier may ask without Conn.mu whether it is set.
	left atomic.Bool
}

// Bounds of the entries after a connection's write, above which its socket is no longer read.
const (
	// waitKept is the largest buffer that an empty queue keeps for reuse.
	waitKept = 64 << 10
	// maxQueued is how many requests may wait. It bounds the size of their replies if znodes have the largest
	// size.
	maxQueued = 256
	// maxQueuedBytes is how many bytes their bodies may have, not counting the last one.
	maxQueuedBytes = 2 << 20
	// maxReadsAhead is how many reads may wait before a write. Those that were not executed earlier have to be
	// executed under the write lock when the write is applied.
	maxReadsAhead = 32
)

// queuedKind is the kind of an entry.
type queuedKind uint8

const (
	queuedWrite queuedKind = iota // waits for its txn
	queuedRead                    // its body is the request's
	queuedReply                   // its body is a whole frame to be sent
	queuedEnd                     // as queuedReply, and then the connection ends
)

// queued is one entry of an inFlight.
type queued struct {
	body      flow.Span
	xid       int32
	op        proto.OpCode
	kind      queuedKind
	expensive bool       // a read that may take very long
	weight    int32      // how much of the budget of large writes a write has taken
	at        int64      // when a read was read from the socket, ns on the server's clock
	kept      *topk.Kept // a write that is recorded when it is answered; nil for most
}

// length returns how many entries there are.
func (q *inFlight) length() int { return len(q.entries) - q.head }

// acceptsRead reports whether a read, or a finished reply, may be added.
func (q *inFlight) acceptsRead() bool {
	return q.length() < maxQueued && len(q.buf)-int(q.used) < maxQueuedBytes && !q.left.Load()
}

// acceptsWrite reports whether a write may be added: little work remains before it is applied.
func (q *inFlight) acceptsWrite() bool {
	reads := q.length() - q.writes
	return !q.left.Load() && (reads == 0 || q.expensive == 0 && !q.strict && reads <= maxReadsAhead)
}

// ahead returns how many entries stand before the first write.
func (q *inFlight) ahead() int {
	n := 0
	for n < q.length() && q.entries[q.head+n].kind != queuedWrite {
		n++
	}
	return n
}

// push adds an entry at the end. It copies the body.
func (q *inFlight) push(e queued, body []byte) {
	e.body = flow.NewSpan(len(q.buf), len(body))
	q.buf = append(q.buf, body...)
	q.entries = append(q.entries, e)
	switch {
	case e.kind == queuedWrite:
		q.writes++
	case e.expensive:
		q.expensive++
	}
}

// front returns the first entry and its body.
func (q *inFlight) front() (queued, []byte) {
	e := q.entries[q.head]
	return e, e.body.Of(q.buf)
}

// pop removes the first entry. The result of front for it is no longer valid.
func (q *inFlight) pop() {
	e := &q.entries[q.head]
	switch {
	case e.kind == queuedWrite:
		q.writes--
	case e.expensive:
		q.expensive--
	}
	e.kept = nil
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
	case q.head >= 1024 && q.head > len(q.entries)/2, q.used >= maxQueuedBytes && int(q.used) > len(q.buf)/2:
		q.compact()
	}
}

// popRead is pop for an entry that is no write. It returns by how many the entries in process decrease.
func (q *inFlight) popRead() int {
	q.pop()
	if q.uncounted > 0 {
		q.uncounted--
		return 0
	}
	return 1
}

// compact moves the entries that wait to the front, so that a queue that is never empty does not grow.
func (q *inFlight) compact() {
	n := copy(q.entries, q.entries[q.head:])
	q.entries, q.head = q.entries[:n], 0
	if rest := q.buf[q.used:]; cap(q.buf) > 4*maxQueuedBytes && len(rest) <= maxQueuedBytes {
		q.buf = append([]byte(nil), rest...)
	} else {
		q.buf = q.buf[:copy(q.buf, rest)]
	}
	for i := range q.entries {
		q.entries[i].body.Off -= q.used
	}
	q.used = 0
}

// leave leaves the entries before the next write to catchUp, and returns how many. They do not count as in process
// any more: they may wait for the client for long, and must not block other clients. REQUIRES: Store.Mu for writing.
func (q *inFlight) leave() int {
	q.left.Store(true)
	q.uncounted = q.ahead()
	return q.uncounted
}

// forget drops what was left: the connection is dead. It returns by how many the entries in process decrease: a
// refusal, which ends the connection, may have come behind what was left.
func (q *inFlight) forget() (counted int) {
	if q.left.Load() {
		for q.ahead() > 0 {
			counted += q.popRead()
		}
		q.left.Store(false)
	}
	return counted
}
