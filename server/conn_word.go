package server

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// telnetInterrupt is what telnet sends for ^C; it only closes the connection.
const telnetInterrupt = "\xff\xf4\xff\xfd"

// wordOf returns the four-letter word that the first four bytes of a connection spell.
func (s *front) wordOf(n uint32) (string, bool) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	word := string(b[:])
	return word, s.words.has(word) || word == telnetInterrupt
}

// answerWord answers a word and ends the connection.
func (c *conn) answerWord(word string) {
	var out bytes.Buffer
	s := c.srv
	c.mu.Lock()
	c.mu.stats.Received++
	c.mu.Unlock()
	if word == telnetInterrupt {
		return
	}
	s.words.answer(word, c, &out)
	s.stats.Sent.Add(1)
	c.mu.Lock()
	c.mu.out.buf = append(c.mu.out.buf, out.Bytes()...)
	c.mu.out.closing = true
	c.mu.Unlock()
	c.flush()
	// The client may have closed its side long ago: its end must not cut the answer off.
	if c.wait(func() bool { return c.mu.out.finished }) {
		c.drainInput()
	}
}

// serveWordOnly answers a word, and nothing else, on a connection beyond the limits.
func (c *conn) serveWordOnly() {
	defer c.cleanup()
	_ = c.nc.SetReadDeadline(c.srv.clock.in(wordTimeout))
	for {
		if err := c.fill(); err != nil {
			return
		}
		if n, ok := c.in.peekLength(); ok {
			if word, ok := c.srv.wordOf(n); ok {
				c.answerWord(word)
			}
			return
		}
	}
}

// wordTimeout is how long a connection beyond the limits may take to send its word.
const wordTimeout = time.Second

// sortedConns is the open connections by address.
func (s *front) sortedConns() []*conn {
	var all []*conn
	s.conns.each(func(c *conn) { all = append(all, c) })
	slices.SortFunc(all, func(a, b *conn) int { return a.remote.Compare(b.remote) })
	return all
}

// packetsSent is how many frames were sent since the server began or since srst.
func (s *front) packetsSent() int64 {
	n := s.stats.Sent.Load()
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		n += c.mu.stats.Sent
		c.mu.Unlock()
	})
	return n
}

// forgetSent begins to count the frames that were sent anew, for srst.
func (s *front) forgetSent() {
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		s.stats.Sent.Add(-c.mu.stats.Sent)
		c.mu.Unlock()
	})
}

// resetConnections begins the figures of each connection anew, for crst.
func (s *front) resetConnections() {
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		s.stats.Sent.Add(c.mu.stats.Sent)
		c.mu.stats.Reset(s.clock.now())
		c.mu.Unlock()
	})
}

// connView is how things stand with a connection at one moment.
type connView struct {
	stats   figures.Conn
	queued  int               // requests that wait for a write
	pending bool              // output waits for the client
	session *sessions.Session // nil before there is one
}

func (c *conn) view() connView {
	c.mu.Lock()
	defer c.mu.Unlock()
	return connView{c.mu.stats, c.mu.queue.Len(), c.mu.out.waiting() > 0, c.session.Load()}
}
