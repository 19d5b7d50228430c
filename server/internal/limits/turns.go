package limits

import "runtime"

// Turns lets some of the busy connections work at a time. Go runs goroutines that never wait as long as there
// are any, and looks at the sockets of all others only now and then: some dozens of connections whose clients
// always have a next request would keep all other clients waiting for a good part of a second. There are fewer
// turns than processors, which leaves one for clients that ask little, and busy connections get turns in the
// order in which they asked. It holds a token for each connection that has its turn.
type Turns chan struct{}

// NewTurns returns as many turns as there are processors, less one.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)-1)) }

// Take waits for a turn. REQUIRES: no lock.
func (t Turns) Take() { t <- struct{}{} }

// Pass ends the turn.
func (t Turns) Pass() { <-t }
