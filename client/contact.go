package client

import (
	"sync/atomic"
	"time"
)

// contact knows for how long the server may not have heard of the session. The server counts a session's timeout from the last request
// that it got, and what the client knows about that is when it wrote a request that has been answered since. When an answer came
// says nothing: it may have been long on its way, and events come without a request. Source: client-protocol 13.
//
// One call and one ping are marked with the time just before they were written; a call may wait for a quorum while pings go on. When the
// marked one is answered, one of the next batch is marked. Latest may be read by anybody, the rest is guarded by conn.mu.
type contact struct {
	began  time.Time    // all times are since then, so that who sets the clock changes none
	latest atomic.Int64 // nanoseconds since began; what was written then or later has been answered

	call         int32 // xid of the marked call, 0 if none
	callAt       time.Duration
	ping         int // number of the marked ping, 0 if none
	pingAt       time.Duration
	pings        int // that were queued
	pingsWritten int
	pingAnswers  int
}

// silence is for how long the server may not have heard of the session.
func (t *contact) silence() time.Duration {
	return time.Since(t.began) - time.Duration(t.latest.Load())
}

// writing marks what is about to be written: calls up to an xid, unless that is 0, and the pings that are queued.
func (t *contact) writing(xid int32, now time.Time) {
	if xid != 0 && t.call == 0 {
		t.call, t.callAt = xid, now.Sub(t.began)
	}
	if t.pings > t.pingsWritten && t.ping == 0 {
		t.ping, t.pingAt = t.pings, now.Sub(t.began)
	}
	t.pingsWritten = t.pings
}

// answered notes the answer to a call.
func (t *contact) answered(xid int32) {
	if xid == t.call {
		t.call = 0
		t.advance(t.callAt)
	}
}

// ponged notes the answer to a ping. They are answered in order, and an answer to none counts for nothing.
func (t *contact) ponged() {
	if t.pingAnswers == t.pingsWritten {
		return
	}
	if t.pingAnswers++; t.pingAnswers == t.ping {
		t.ping = 0
		t.advance(t.pingAt)
	}
}

func (t *contact) advance(to time.Duration) { t.latest.Store(max(t.latest.Load(), int64(to))) }
