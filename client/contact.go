package client

import (
	"sync/atomic"
	"time"
)

// contact computes how long ago the server may have last heard of the session. The server counts a session's
// timeout from the last request that it received. The client knows only when it wrote a request that was answered
// since. The time at which the answer arrived says nothing: the answer may have been in transit for long, and
// events come without a request. Source: client-protocol 13.
//
// One request of each kind is marked with the time just before it was written; a call may wait for a quorum while
// pings go on. When the marked one is answered, one of those that are written next is marked. Any goroutine may read
// latest; conn.mu guards the rest.
type contact struct {
	clock
	latest atomic.Int64 // ns on the clock; a request written then or later has been answered

	calls, pings, rearms requests
}

// requests are those of one kind, which are answered in order.
type requests struct {
	written, answered int
	marked            int // number of the marked one, 0 if none
	at                time.Duration
}

// silence returns for how long the server may not have heard of the session.
func (t *contact) silence() time.Duration {
	return t.at(time.Now()) - time.Duration(t.latest.Load())
}

// writing notes that n requests are about to be written.
func (t *contact) writing(r *requests, n int, now time.Time) {
	r.written += n
	if n > 0 && r.marked == 0 {
		r.marked, r.at = r.written, t.at(now)
	}
}

// hears notes an answer. One without a request is ignored.
func (t *contact) hears(r *requests) {
	if r.answered == r.written {
		return
	}
	if r.answered++; r.answered == r.marked {
		r.marked = 0
		t.advance(r.at)
	}
}

func (t *contact) advance(to time.Duration) { t.latest.Store(max(t.latest.Load(), int64(to))) }
