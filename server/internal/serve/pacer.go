package serve

import (
	"time"

	"github.com/seed94657493/warren/server/internal/limits"
)

// pacer decides when a connection has to let others go first. Owned by the reader, which waits where pacer says so.
//
// A busy connection works only in its turn: see limits.turns. A connection is busy if, since its socket was last
// empty, it has had busyAfter requests, busyBytes, a turn's time, an expensive request, or too little room. A turn
// ends after one read of the socket, a share of reads, an expensive request, or turnTime. For a frame larger than the
// usual buffer, the read of the socket is part of the turn, unless it is TLS.
//
// Invariant: only a busy connection has a turn.
type pacer struct {
	busy     bool
	turn     bool  // it has the turn
	inARow   int32 // requests since the socket was empty
	unbroken int   // bytes since the socket was empty
	began    int64 // when the present turn began, or the present work without a turn, ns on the server's clock
	share    int   // requests that were reserved last; 0 since the socket was empty
	credit   int   // requests that may be handled from due on; see limits.Rate
	due      int64 // ns on the server's clock
}

const (
	// busyAfter is how many requests in a row make a connection busy. A client with one request in flight reaches
	// it seldom, even if its next request has always arrived when the reply is sent.
	busyAfter = 256
	// busyBytes is how many bytes make a connection busy.
	busyBytes = 256 << 10
	// turnTime is how long a connection may work before others get their turn. The last requests may exceed it.
	turnTime = 500 * time.Microsecond
	// turnRequests is how many requests are handled between two checks of the time.
	turnRequests = 16
	// rateShares is the part of the requests of a second that a busy connection reserves. While it waits, it is woken
	// once for each part. It begins with one request: of many connections of an address most send few.
	rateShares = 100
)

// wantsTurn reports whether the reader has to wait for a turn, which the connection has from then on.
func (p *pacer) wantsTurn() bool {
	wants := p.busy && !p.turn
	p.turn = p.busy
	return wants
}

// endsTurn reports whether the connection has a turn to pass on, and has none from then on.
func (p *pacer) endsTurn() (had bool) {
	had, p.turn = p.turn, false
	return had
}

// arrived counts n bytes that were read from the socket.
func (p *pacer) arrived(n int) {
	if p.unbroken += n; p.unbroken >= busyBytes {
		p.busy = true
	}
}

// idle notes that the socket was empty. REQUIRES: the turn was passed.
func (p *pacer) idle() { p.busy, p.inARow, p.unbroken, p.share = false, 0, 0, 0 }

// worked counts a request that mayAsk has allowed, and reports whether the time is to be checked: see overtime.
func (p *pacer) worked() (check bool) {
	p.credit = max(p.credit-1, 0)
	p.inARow++
	p.busy = p.busy || p.inARow >= busyAfter
	return p.inARow%turnRequests == 0
}

// overtime reports whether the connection has worked so long that others get their turn.
func (p *pacer) overtime(now int64) bool {
	over := now-p.began >= int64(turnTime)
	p.busy = p.busy || over
	return over
}

// mayAsk reports whether the next request may be handled now, at a rate of limit requests per second.
func (p *pacer) mayAsk(now int64, rate *limits.Rate, limit int) bool {
	if p.credit == 0 {
		p.share = min(max(1, 2*p.share), max(1, limit/rateShares))
		p.credit, p.due = p.share, rate.Reserve(now, p.share, limit)
	}
	return now >= p.due
}

// leave gives back what mayAsk has reserved at the same rate and limit, and was not used.
func (p *pacer) leave(rate *limits.Rate, limit int) {
	rate.GiveBack(p.credit, limit)
	p.credit = 0
}

// wait is how long the next request has to wait for mayAsk; 0 or less if it need not.
func (p *pacer) wait(now int64) time.Duration {
	if p.credit == 0 {
		return 0
	}
	return time.Duration(p.due - now)
}
