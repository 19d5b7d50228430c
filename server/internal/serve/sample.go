package serve

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/topk"
)

// What package topk is told of the requests that it picks: see Conn.mu.sampler.

// recordRead records a read that was picked. size is the length of the reply. The read began at began, ns on the
// server's clock. REQUIRES: Conn.mu.
func (c *Conn) recordRead(op proto.OpCode, body []byte, size int, began int64) {
	var room [topk.PathsMax][]byte
	now := c.srv.Clock.Now()
	c.srv.Top.Record(&c.mu.sampler, &topk.Request{Op: op, Session: c.sessionID(), Address: c.Remote.Addr(),
		Paths: topk.PathsOf(room[:0], op, body), Bytes: len(body) + size, Took: now - began, Now: now})
}

// keepWrite keeps a write that was picked until it is answered. REQUIRES: Conn.mu.
func (c *Conn) keepWrite(op proto.OpCode, body []byte) *topk.Kept {
	var room [topk.PathsMax][]byte
	return c.srv.Top.Keep(&c.mu.sampler, topk.PathsOf(room[:0], op, body), len(body))
}

// recordWrite records a write that keepWrite has kept. REQUIRES: Conn.mu.
func (c *Conn) recordWrite(e *flow.Queued, size int, took int64) {
	c.srv.Top.Finish(&c.mu.sampler, e.Kept, topk.Request{Op: e.Op, Session: c.sessionID(), Address: c.Remote.Addr(),
		Bytes: size, Took: took, Now: c.srv.Clock.Now()})
}
