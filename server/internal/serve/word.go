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
func (r *reader) answerWord(word string) {
	var out bytes.Buffer
	s := r.srv
	r.c.mu.Lock()
	r.c.mu.stats.Received++
	r.c.mu.Unlock()
	if word == telnetInterrupt {
		return
	}
	s.words.Answer(word, r.c, r.behindWord, &out)
	s.Stats.Sent.Add(1)
	r.c.mu.Lock()
	r.c.mu.out.buf = append(r.c.mu.out.buf, out.Bytes()...)
	r.c.mu.out.closing = true
	r.c.mu.Unlock()
	r.c.flush()
	// The client may have closed its side long ago. That must not cut off the answer.
	if r.wait(func() bool { return r.c.mu.out.finished }) {
		r.discardInput()
	}
}

// behindWord returns the first n bytes that the client has sent behind its word, nil if it sends fewer.
func (r *reader) behindWord(n int) []byte {
	for len(r.in.bytes()) < 4+n {
		if r.fill() != nil {
			return nil
		}
	}
	return r.in.bytes()[4 : 4+n]
}

// serveWordOnly answers a four-letter word, and nothing else, on a connection beyond the limits.
func (r *reader) serveWordOnly() {
	r.oneWord()
	r.cleanup()
}

// oneWord answers a four-letter word, if the client sends one in time.
func (r *reader) oneWord() {
	_ = r.c.nc.SetReadDeadline(r.srv.Clock.In(wordTimeout))
	for {
		if err := r.fill(); err != nil {
			return
		}
		if n, ok := r.in.peekLength(); ok {
			if word, ok := r.srv.wordOf(n); ok {
				r.answerWord(word)
			} else {
				r.c.refused(r.c.limit)
			}
			return
		}
	}
}

// wordTimeout is how long a connection beyond the limits has to send its word.
const wordTimeout = time.Second
