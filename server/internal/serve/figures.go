package serve

import (
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/topk"
)

// What is counted of connections and of their requests.

// tally is what the reader has done since the last account. Owned by the reader.
type tally struct {
	packets  int64 // frames
	bytes    int64 // read from the socket; counted apart, by countInput
	executed int64 // reads answered at once
	// For stages.go: when the handling of the present input began, ns on the server's clock, how long it waited for
	// Store.Mu, and its first read, or the last one that took long.
	begun, waited int64
	first         request
}

// next begins a new count of all but bytes.
func (t *tally) next() { *t = tally{bytes: t.bytes} }

// recordRead tells package topk of a read that was picked. size is the length of the reply. The read began at began,
// ns on the server's clock. REQUIRES: Conn.mu.
func (c *Conn) recordRead(q *request, size int, began int64) {
	var room [topk.PathsMax][]byte
	now := c.srv.Clock.Now()
	c.srv.Top.Record(&c.mu.sampler, &topk.Request{Op: q.op, Session: c.sessionID(), Address: c.Remote.Addr(),
		Paths: topk.PathsOf(room[:0], q.op, q.body), Bytes: len(q.body) + size, Took: now - began, Now: now})
}

// keepWrite keeps a write that was picked until it is answered. REQUIRES: Conn.mu.
func (c *Conn) keepWrite(q *request) *topk.Kept {
	var room [topk.PathsMax][]byte
	return c.srv.Top.Keep(&c.mu.sampler, topk.PathsOf(room[:0], q.op, q.body), len(q.body))
}

// recordWrite tells package topk of a write that keepWrite has kept. REQUIRES: Conn.mu.
func (c *Conn) recordWrite(e *queued, size int, took int64) {
	c.srv.Top.Finish(&c.mu.sampler, e.kept, topk.Request{Op: e.op, Session: c.sessionID(), Address: c.Remote.Addr(),
		Bytes: size, Took: took, Now: c.srv.Clock.Now()})
}

// connView is a copy of the figures of a connection at one moment.
type connView struct {
	Stats  figures.Conn
	Queued int  // requests that wait for a write
	Unsent int  // bytes that wait for the client
	Paused bool // no request is read until others are answered, or the client has taken its replies
}

// View returns the figures of the connection.
func (c *Conn) View() connView {
	c.mu.Lock()
	defer c.mu.Unlock()
	return connView{c.mu.stats, c.mu.queue.length(), c.mu.out.waiting() + c.mu.out.taken, c.mu.reader.waits}
}

// PacketsSent is how many frames were sent since the server began, or since the word srst.
func (s *Front) PacketsSent() int64 {
	n := s.Stats.Sent.Load()
	s.eachStats(func(one *figures.Conn) { n += one.Sent })
	return n
}

// eachStats calls fn with the figures of every connection, under the lock of the connection.
func (s *Front) eachStats(fn func(*figures.Conn)) {
	s.Conns.Each(func(c *Conn) {
		c.mu.Lock()
		fn(&c.mu.stats)
		c.mu.Unlock()
	})
}

// ForgetSent restarts the count of sent frames, for the word srst.
func (s *Front) ForgetSent() {
	s.eachStats(func(one *figures.Conn) { s.Stats.Sent.Add(-one.Sent) })
}

// ResetConnections restarts the figures of each connection, for the word crst.
func (s *Front) ResetConnections() {
	s.eachStats(func(one *figures.Conn) {
		s.Stats.Sent.Add(one.Sent)
		one.Reset(s.Clock.Now())
	})
}
