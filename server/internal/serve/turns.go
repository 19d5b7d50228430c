package serve

import (
	"time"
)

// A connection that is busy works only in its turn: see limits.Turns. It is busy when it has had busyAfter requests,
// busyBytes, a turn's time, a dear request, or too little room, since its socket was last empty. A turn is over after
// one read of the socket, a share of reads, a dear request, or turnTime. The read of the socket belongs to the turn if
// it is of a frame that is larger than the usual buffer.

const (
	// busyAfter is how many requests in a row make a connection busy. A client with one request in flight, whose next
	// one has arrived when the answer is sent, gets there seldom.
	busyAfter = 256
	// busyBytes is how many bytes make a connection busy.
	busyBytes = 256 << 10
	// turnTime is how long a connection may work without a look at the others, but for its last requests.
	turnTime = 500 * time.Microsecond
	// turnRequests is how many requests are handled between two looks at the time.
	turnRequests = 16
)

// takeTurn waits for a turn if the connection is busy and has none. A connection that has its turn waits for nothing
// but locks. The reader calls it, without a lock.
func (c *Conn) takeTurn() {
	if c.busy && !c.turn {
		c.srv.Turns.Take()
		c.turn = true
	}
	c.shareBegan = c.srv.Clock.Now()
}

// passTurn ends the connection's turn, if it has one. The reader calls it.
func (c *Conn) passTurn() {
	if c.turn {
		c.turn = false
		c.srv.Turns.Pass()
	}
}

// worked counts a request, and reports whether other connections get their turn before the next. The reader calls it.
func (c *Conn) worked() (enough bool) {
	c.inARow++
	c.busy = c.busy || c.inARow >= busyAfter
	if c.inARow%turnRequests != 0 || c.srv.Clock.Now()-c.shareBegan < int64(turnTime) {
		return false
	}
	c.busy = true
	return true
}

// idle notes that the socket was empty. The reader calls it.
func (c *Conn) idle() { c.busy, c.inARow, c.unbroken = false, 0, 0 }

// workOn lets other connections have their turn before the reader goes on. REQUIRES: no lock.
func (c *Conn) workOn() {
	c.busy = true
	c.passTurn()
	c.takeTurn()
}
