package host

import "slices"

// bodies keeps the bodies of requests that a learner has forwarded, until they are answered: if the leader is lost
// before, the next one is asked again. Answers come about in the order of the requests, so memory is used again in
// chunks. Owned by the host goroutine.
type bodies struct {
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

// body is one of these bodies.
type body struct {
	data  []byte
	chunk *bodyChunk // nil if data has memory of its own
}

// keep copies a body.
func (a *bodies) keep(b []byte) body {
	if len(b) > bodyChunkSize/4 {
		return body{data: slices.Clone(b)}
	}
	if a.chunk == nil || cap(a.chunk.buf)-len(a.chunk.buf) < len(b) {
		a.next()
	}
	c := a.chunk
	start := len(c.buf)
	c.buf = append(c.buf, b...)
	c.live++
	return body{data: c.buf[start:len(c.buf):len(c.buf)], chunk: c}
}

// next begins another chunk.
func (a *bodies) next() {
	if n := len(a.free); n > 0 {
		a.chunk, a.free = a.free[n-1], a.free[:n-1]
		return
	}
	a.chunk = &bodyChunk{buf: make([]byte, 0, bodyChunkSize)}
}

// drop gives the memory of a body back.
func (a *bodies) drop(b body) {
	c := b.chunk
	if c == nil {
		return
	}
	if c.live--; c.live > 0 {
		return
	}
	poison(c.buf[:cap(c.buf)])
	c.buf = c.buf[:0]
	if c != a.chunk && len(a.free) < bodiesFreeMax {
		a.free = append(a.free, c)
	}
}
