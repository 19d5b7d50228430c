package limits

import "runtime"

// Turns lets some of the busy connections work at a time. As long as there are goroutines that never wait, Go
// runs them and polls the sockets of all others only now and then. So some dozens of connections whose clients
// always have a next request would delay all other clients for a good part of a second. There are fewer turns
// than processors, which leaves one for clients that send little. Busy connections get turns in the order in
// which they asked. The channel holds a token for each connection that has its turn.
type Turns chan struct{}

// NewTurns returns as many turns as there are processors, less one.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)-1)) }

// Take waits for a turn. REQUIRES: no lock.
func (t Turns) Take() { t <- struct{}{} }

// Pass ends the turn.
func (t Turns) Pass() { <-t }
