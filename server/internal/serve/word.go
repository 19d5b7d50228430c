package serve

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
func (s *Front) wordOf(n uint32) (string, bool) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	word := string(b[:])
	return word, s.words.Has(word) || word == telnetInterrupt
}

// answerWord answers a word and ends the connection.
func (c *Conn) answerWord(word string) {
	var out bytes.Buffer
	s := c.srv
	c.mu.Lock()
	c.mu.stats.Received++
	c.mu.Unlock()
	if word == telnetInterrupt {
		return
	}
	s.words.Answer(word, c, &out)
	s.Stats.Sent.Add(1)
	c.mu.Lock()
	c.mu.out.buf = append(c.mu.out.buf, out.Bytes()...)
	c.mu.out.closing = true
	c.mu.Unlock()
	c.Flush()
	// The client may have closed its side long ago. That must not cut off the answer.
	if c.wait(func() bool { return c.mu.out.finished }) {
		c.drainInput()
	}
}

// serveWordOnly answers a four-letter word, and nothing else, on a connection beyond the limits.
func (c *Conn) serveWordOnly() {
	c.oneWord()
	c.cleanup()
}

// oneWord answers a four-letter word, if the client sends one in time.
func (c *Conn) oneWord() {
	_ = c.nc.SetReadDeadline(c.srv.Clock.In(wordTimeout))
	for {
		if err := c.Fill(); err != nil {
			return
		}
		if n, ok := c.In.PeekLength(); ok {
			if word, ok := c.srv.wordOf(n); ok {
				c.answerWord(word)
			} else {
				c.refused(c.limit)
			}
			return
		}
	}
}

// wordTimeout is how long a connection beyond the limits has to send its word.
const wordTimeout = time.Second

// SortedConns returns the open connections by address.
func (s *Front) SortedConns() []*Conn {
	var all []*Conn
	s.Conns.Each(func(c *Conn) { all = append(all, c) })
	slices.SortFunc(all, func(a, b *Conn) int { return a.Remote.Compare(b.Remote) })
	return all
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

// connView is a copy of the figures of a connection at one moment.
type connView struct {
	Stats   figures.Conn
	Queued  int               // requests that wait for a write
	Unsent  int               // bytes that wait for the client
	Paused  bool              // no request is read until others are answered, or the client has taken its replies
	Session *sessions.Session // nil before there is one
}

func (c *Conn) View() connView {
	c.mu.Lock()
	defer c.mu.Unlock()
	return connView{c.mu.stats, c.mu.queue.Len(), c.mu.out.waiting() + c.mu.out.taken, c.mu.waits, c.Session.Load()}
}
