package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// payloads is the memory into which a leader writes the txns that it prepares.
//
// In an ensemble the core keeps txns for learners that come back, so memory that was written never changes. A
// standalone server does not need a txn once it is applied. It uses the memory again, which keeps that memory in
// the caches of the processor.
type payloads struct {
	chunk []byte // the next txn is written behind those in it
	// spent are full chunks in the order in which they were filled; empty in an ensemble.
	spent flow.FIFO[spentChunk]
	reuse bool // a standalone server
}

// spentChunk is memory that may be reused when all txns up to last are applied and answered.
type spentChunk struct {
	chunk []byte
	last  proto.Zxid
}

// payloadChunk is the size of a chunk in bytes, unless a txn is larger.
const payloadChunk = 256 << 10

// reserve makes room for n bytes. The txns up to last are prepared, and those up to finished are applied and
// answered.
func (p *payloads) reserve(n int, last, finished proto.Zxid) {
	if cap(p.chunk)-len(p.chunk) >= n {
		return
	}
	if p.reuse && cap(p.chunk) == payloadChunk {
		p.spent.Push(spentChunk{p.chunk, last})
	}
	if n <= payloadChunk && p.spent.Len() > 0 && p.spent.Front().last <= finished {
		p.chunk = p.spent.Front().chunk[:0]
		p.spent.Pop()
		flow.Poison(p.chunk[:cap(p.chunk)])
		return
	}
	p.chunk = make([]byte, 0, max(payloadChunk, n))
}
