package server

import (
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// request is one write, or one end or beginning of a session, on its way to the node goroutine.
// Its body is a part of the batch's buffer.
type request struct {
	conn    *conn    // who asked; nil for the server's own
	session *session // nil for the server's own
	ids     []datatree.Identity
	body    span
	xid     int32
	op      proto.OpCode
}

// span is a part of a buffer: [off, off+n).
type span struct{ off, n int32 }

func (s span) of(b []byte) []byte { return b[s.off : s.off+s.n : s.off+s.n] }

// batch is the writes found in one read of one socket.
type batch struct {
	requests []request
	buf      []byte // the bodies
	received int64  // when they were read, ns on the server's clock
	taken    int    // requests that a member has looked at
	// call, if not nil, is all that there is: it is run in the node goroutine of a standalone server while nothing is on its way.
	call func(*node)
}

func (b *batch) add(r request, body []byte) {
	r.body = span{int32(len(b.buf)), int32(len(body))}
	b.buf = append(b.buf, body...)
	b.requests = append(b.requests, r)
}

// heavy reports whether it takes long to prepare without a rest.
func (b *batch) heavy() bool {
	return len(b.buf) >= smallWrite && slices.ContainsFunc(b.requests, func(r request) bool { return r.op != proto.OpMulti })
}

func (b *batch) reset() {
	clear(b.requests)
	b.requests = b.requests[:0]
	if cap(b.buf) > maxPooledBuffer {
		b.buf = nil
	}
	b.buf = b.buf[:0]
	b.taken, b.call = 0, nil
}

// item is one request after it was prepared: the txn it became, if any, and whom to answer.
type item struct {
	conn     *conn
	session  *session
	received int64
	payload  span // see logBatch.payload; n is 0 if the request did not become a txn
	create2  span // of logBatch.create2, for a multi
	xid      int32
	op       proto.OpCode
	err      proto.ErrCode // what to answer when there is no payload
	drop     bool          // do not answer: close the connection
}

// logBatch is what one sync makes durable: txns in zxid order and everything that has to be
// answered between them.
type logBatch struct {
	framed      []byte   // records as the log writes them
	payloads    [][]byte // instead of framed, in an ensemble: the txns that were delivered
	bytes       int64    // of payloads
	items       []item
	create2     []int32    // indexes of operations of multis that are answered as create2
	first, last proto.Zxid // of the txns; 0 if there are none
	txns        int
	passed      chan struct{} // if not nil: closed when everything before is applied
}

func (b *logBatch) empty() bool { return len(b.items) == 0 }

func (b *logBatch) full() bool {
	return len(b.framed) >= maxBatchBytes || len(b.items) >= maxBatchItems
}

// payload is the txn of an item that has one.
func (b *logBatch) payload(it *item) []byte {
	if len(b.payloads) > 0 {
		return b.payloads[it.payload.off]
	}
	return it.payload.of(b.framed)
}

func (b *logBatch) reset() {
	clear(b.items)
	clear(b.payloads)
	b.payloads, b.bytes = b.payloads[:0], 0
	b.items, b.create2 = b.items[:0], b.create2[:0]
	if cap(b.framed) > 4*maxBatchBytes {
		b.framed = nil
	}
	b.framed = b.framed[:0]
	b.first, b.last, b.txns, b.passed = 0, 0, 0, nil
}

// Bounds of what is gathered before it is passed on.
const (
	// maxBatchBytes is how many bytes of records node gathers while the logger is busy.
	maxBatchBytes = 4 << 20
	// maxBatchItems is how many requests node gathers while the logger is busy.
	maxBatchItems = 16384
	// maxPooledBuffer is the largest buffer that goes back to a pool.
	maxPooledBuffer = 1 << 20
)
