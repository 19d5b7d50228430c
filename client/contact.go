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
// One call and one ping are marked with the time just before they were written; a call may wait for a quorum
// while pings go on. When the marked one is answered, one of the next batch is marked. Any goroutine may read
// latest; conn.mu guards the rest.
type contact struct {
	clock
	latest atomic.Int64 // ns on the clock; a request written then or later has been answered

	call         int32 // xid of the marked call, 0 if none
	callAt       time.Duration
	ping         int // number of the marked ping, 0 if none
	pingAt       time.Duration
	pings        int // that were queued
	pingsWritten int
	pingAnswers  int
}

// silence returns for how long the server may not have heard of the session.
func (t *contact) silence() time.Duration {
	return t.at(time.Now()) - time.Duration(t.latest.Load())
}

// writing marks the requests that are about to be written: calls up to an xid, unless that is 0, and the queued
// pings.
func (t *contact) writing(xid int32, now time.Time) {
	if xid != 0 && t.call == 0 {
		t.call, t.callAt = xid, t.at(now)
	}
	if t.pings > t.pingsWritten && t.ping == 0 {
		t.ping, t.pingAt = t.pings, t.at(now)
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

// ponged notes the answer to a ping. Pings are answered in order; an answer without a ping is ignored.
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
