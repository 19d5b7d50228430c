package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// payloads is the memory in which a leader writes the txns that it prepares.
//
// In an ensemble the core keeps txns for learners that come back, so what was written is never changed. The txns of a standalone
// server are of no use once they are applied: their memory is used again, which keeps it in the caches of the processor.
type payloads struct {
	chunk []byte // where the next txn is written behind those that are there
	// spent are full chunks in the order in which they were filled; empty in an ensemble.
	spent flow.FIFO[spentChunk]
	reuse bool // a standalone server
}

// spentChunk is memory that is free again when all txns up to last are applied and answered.
type spentChunk struct {
	chunk []byte
	last  proto.Zxid
}

// payloadChunk is the size of a chunk in bytes, unless a txn is larger.
const payloadChunk = 256 << 10

// reserve makes room for n bytes. The txns up to last were prepared, and those up to finished are applied and answered.
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
		poison(p.chunk[:cap(p.chunk)])
		return
	}
	p.chunk = make([]byte, 0, max(payloadChunk, n))
}
