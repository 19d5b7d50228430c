package flow

import (
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Request is one write, or one end or beginning of a session, on its way to the host goroutine.
type Request struct {
	Client  Client            // nil for the server's own requests
	Session *sessions.Session // nil for the server's own requests
	IDs     []auth.Identity   // the identities of the client's connection
	Body    Span              // of Batch.Buf
	Xid     int32
	Op      proto.OpCode
}

// Span is a part of a buffer: [off, off+n).
type Span struct{ Off, N int32 }

// NewSpan returns [off, off+n).
func NewSpan(off, n int) Span { return Span{int32(off), int32(n)} }

// Of returns the part of b. Appending to it does not change b.
func (s Span) Of(b []byte) []byte { return b[s.Off : s.Off+s.N : s.Off+s.N] }

// Batch is the writes found in one read of one socket.
type Batch struct {
	Requests []Request
	Buf      []byte // their bodies
	Received int64  // when they were read, ns on the server's clock
	Taken    int    // how many of them the role has processed
}

// Add appends a request. It copies the body.
func (b *Batch) Add(r Request, body []byte) {
	r.Body = NewSpan(len(b.Buf), len(body))
	b.Buf = append(b.Buf, body...)
	b.Requests = append(b.Requests, r)
}

// Reset empties the batch for reuse.
func (b *Batch) Reset() {
	clear(b.Requests)
	b.Requests = b.Requests[:0]
	if cap(b.Buf) > maxPooledBuffer {
		b.Buf = nil
	}
	b.Buf = b.Buf[:0]
	b.Taken = 0
}

// maxPooledBuffer is the largest buffer of a Batch that is kept for reuse.
const maxPooledBuffer = 1 << 20
