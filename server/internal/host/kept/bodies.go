package kept

import (
	"slices"

	"github.com/seed94657493/warren/server/internal/flow"
)

// Bodies keeps the bodies of requests that a learner has forwarded, until they are answered: if the leader is lost
// before, the next one is asked again. Answers come about in the order of the requests, so memory is used again in
// chunks. The zero value is empty.
type Bodies struct {
	chunk *bodyChunk // the next body is written behind those in it
	free  []*bodyChunk
}

// bodyChunk is memory with the bodies of some requests.
type bodyChunk struct {
	buf  []byte
	live int // how many of them are not answered
}

const (
	bodyChunkSize = 32 << 10
	// bodiesFreeMax is how many chunks are kept for reuse.
	bodiesFreeMax = 8
)

// Body is one of these bodies.
type Body struct {
	Data  []byte     // valid until Drop
	chunk *bodyChunk // nil if Data has memory of its own
}

// Keep copies a body.
func (a *Bodies) Keep(b []byte) Body {
	if len(b) > bodyChunkSize/4 {
		return Body{Data: slices.Clone(b)}
	}
	if a.chunk == nil || cap(a.chunk.buf)-len(a.chunk.buf) < len(b) {
		a.next()
	}
	c := a.chunk
	start := len(c.buf)
	c.buf = append(c.buf, b...)
	c.live++
	return Body{Data: c.buf[start:len(c.buf):len(c.buf)], chunk: c}
}

// next begins another chunk.
func (a *Bodies) next() {
	if n := len(a.free); n > 0 {
		a.chunk, a.free = a.free[n-1], a.free[:n-1]
		return
	}
	a.chunk = &bodyChunk{buf: make([]byte, 0, bodyChunkSize)}
}

// Drop gives the memory of a body back.
func (a *Bodies) Drop(b Body) {
	c := b.chunk
	if c == nil {
		return
	}
	if c.live--; c.live > 0 {
		return
	}
	flow.Poison(c.buf[:cap(c.buf)])
	c.buf = c.buf[:0]
	if c != a.chunk && len(a.free) < bodiesFreeMax {
		a.free = append(a.free, c)
	}
}
