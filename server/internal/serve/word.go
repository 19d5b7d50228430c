package serve

import (
	"bytes"
	"encoding/binary"
	"time"
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
func (g greeting) answerWord(word string) {
	var out bytes.Buffer
	s := g.srv
	g.c.mu.Lock()
	g.c.mu.stats.Received++
	g.c.mu.Unlock()
	if word == telnetInterrupt {
		return
	}
	s.words.Answer(word, g.c, g.behindWord, &out)
	s.Stats.Sent.Add(1)
	g.c.mu.Lock()
	g.c.mu.out.buf = append(g.c.mu.out.buf, out.Bytes()...)
	g.c.mu.out.closing = true
	g.c.mu.Unlock()
	g.c.flush()
	// The client may have closed its side long ago. That must not cut off the answer.
	if g.wait(func() bool { return g.c.mu.out.finished }) {
		g.discardInput()
	}
}

// behindWord returns the first n bytes that the client has sent behind its word, nil if it sends fewer.
func (g greeting) behindWord(n int) []byte {
	for len(g.in.bytes()) < 4+n {
		if g.fill() != nil {
			return nil
		}
	}
	return g.in.bytes()[4 : 4+n]
}

// serveWordOnly answers a four-letter word, and nothing else, on a connection beyond the limits.
func (g greeting) serveWordOnly() {
	g.oneWord()
	g.cleanup()
}

// oneWord answers a four-letter word, if the client sends one in time.
func (g greeting) oneWord() {
	_ = g.c.nc.SetReadDeadline(g.srv.Clock.In(wordTimeout))
	for {
		if err := g.fill(); err != nil {
			return
		}
		if n, ok := g.in.peekLength(); ok {
			if word, ok := g.srv.wordOf(n); ok {
				g.answerWord(word)
			} else {
				g.c.refused(g.c.limit)
			}
			return
		}
	}
}

// wordTimeout is how long a connection beyond the limits has to send its word.
const wordTimeout = time.Second
