package server

import (
	"slices"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// writeBudget bounds what large writes of all clients together may have in the pipeline, so that a small write of somebody else
// never has more than that in front of it: in the batch that is being prepared, in the log, and in the state. A large write for which
// there is no room waits in its socket, and those that wait get their turn in the order in which they came, one each. Small writes never wait
// here; there are at most outstandingMax of them.
type writeBudget struct {
	mu struct {
		sync.Mutex
		used    int
		waiting []waitingWrite
	}
}

// waitingWrite is a large write that was not taken from its socket yet.
type waitingWrite struct {
	conn   *conn
	weight int32
}

const (
	// writeBudgetMax is the weight of large writes in the pipeline.
	writeBudgetMax = 1 << 20
	// smallWrite is what every write may have for nothing.
	smallWrite = 8 << 10
	// multiWeight is what a byte of a multi weighs: its operations are small, and each takes as long as a write.
	multiWeight = 8
)

// weightOf is about how much longer a write takes than a small one, in bytes of a setData; 0 if it is small. It is never more than all
// that there is.
func weightOf(op proto.OpCode, body []byte) int32 {
	n := len(body)
	if op == proto.OpMulti {
		n *= multiWeight
	}
	return int32(min(max(n-smallWrite, 0), writeBudgetMax))
}

// take takes weight, and reports false if c has to wait for that.
func (b *writeBudget) take(c *conn, weight int32) bool {
	if weight == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.placeOf(c)
	if at < 0 && len(b.mu.waiting) > 0 || at > 0 || b.mu.used+int(weight) > writeBudgetMax {
		if at < 0 {
			b.mu.waiting = append(b.mu.waiting, waitingWrite{c, weight})
		}
		return false
	}
	b.mu.used += int(weight)
	if at == 0 {
		b.forget(0)
	}
	return true
}

// release gives weight back.
func (b *writeBudget) release(weight int32) {
	if weight == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used -= int(weight)
	b.wakeNext()
}

// ready reports whether take would succeed for c, which waits. If c has left meanwhile it may try again, too.
func (b *writeBudget) ready(c *conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.placeOf(c)
	return at < 0 || at == 0 && b.fits()
}

// leave forgets that c waits: it is over, or waits for its client, and the others shall not.
func (b *writeBudget) leave(c *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.placeOf(c); at >= 0 {
		b.forget(at)
	}
}

// placeOf is where c waits, -1 if it does not. REQUIRES: b.mu.
func (b *writeBudget) placeOf(c *conn) int {
	return slices.IndexFunc(b.mu.waiting, func(w waitingWrite) bool { return w.conn == c })
}

// fits reports whether there is room for the first that waits. REQUIRES: b.mu.
func (b *writeBudget) fits() bool {
	return b.mu.used+int(b.mu.waiting[0].weight) <= writeBudgetMax
}

// forget takes what waits at a place off the list. REQUIRES: b.mu.
func (b *writeBudget) forget(at int) {
	b.mu.waiting = slices.Delete(b.mu.waiting, at, at+1)
	b.wakeNext()
}

// wakeNext lets the first that waits try again, if there is room for it. REQUIRES: b.mu.
func (b *writeBudget) wakeNext() {
	if len(b.mu.waiting) > 0 && b.fits() {
		b.mu.waiting[0].conn.nudge()
	}
}
