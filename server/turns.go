package server

import (
	"runtime"
	"time"
)

// Go runs goroutines that never wait as long as there are any, and looks at the sockets of all others only now and then: some
// dozens of connections whose clients always have a next request would keep everybody else waiting for a good part of a second. So
// a connection that is busy works only in its turn. There are fewer turns than processors, which leaves one for clients who ask
// little, and busy connections get them in the order in which they asked.
//
// A connection is busy when it has had busyAfter requests, busyBytes, a turn's time, a dear request, or too little room, since its socket
// was last empty. A turn is over after one read of the socket, a share of reads, a dear request, or turnTime. The read belongs to the
// turn if it is of a frame that is larger than the usual buffer.

const (
	// busyAfter is how many requests in a row make a connection busy. One that has a single request in flight, and finds the next
	// there already, gets there seldom.
	busyAfter = 256
	// busyBytes is how many bytes make a connection busy.
	busyBytes = 256 << 10
	// turnTime is how long a connection may work without a look at the others, but for its last requests.
	turnTime = 500 * time.Microsecond
	// turnRequests is how many requests are handled between two looks at the time.
	turnRequests = 16
)

// turns holds a token for each connection that has its turn.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)-1)) }

// take waits for a turn. REQUIRES: no lock.
func (t turns) take() { t <- struct{}{} }

// pass ends the turn.
func (t turns) pass() { <-t }

// takeTurn waits for a turn if the connection is busy and has none. Whoever has one does not wait for anything but locks. It is
// called by the reader, without a lock.
func (c *conn) takeTurn() {
	if c.busy && !c.turn {
		c.srv.turns.take()
		c.turn = true
	}
	c.shareBegan = c.srv.clock.now()
}

// passTurn ends the connection's turn, if it has one. It is called by the reader.
func (c *conn) passTurn() {
	if c.turn {
		c.turn = false
		c.srv.turns.pass()
	}
}

// worked counts a request, and reports whether others have to have their turn before the next. It is called by the reader.
func (c *conn) worked() (enough bool) {
	c.inARow++
	c.busy = c.busy || c.inARow >= busyAfter
	if c.inARow%turnRequests != 0 || c.srv.clock.now()-c.shareBegan < int64(turnTime) {
		return false
	}
	c.busy = true
	return true
}

// idle notes that the socket was empty. It is called by the reader.
func (c *conn) idle() { c.busy, c.inARow, c.unbroken = false, 0, 0 }

// workOn lets others have their turn before the reader goes on. REQUIRES: no lock.
func (c *conn) workOn() {
	c.busy = true
	c.passTurn()
	c.takeTurn()
}
