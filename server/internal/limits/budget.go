package limits

import (
	"slices"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// WriteBudget bounds the large writes of all clients together in the pipeline: in the batch that is being
// prepared, in the log, and in the state. So a small write of another client never has more than that before it.
// A large write for which there is no room waits in its socket. Waiting connections get their turn in the order
// in which they came, one write for each connection. Small writes never wait here; the number of requests in
// process bounds them. The zero value is ready.
type WriteBudget struct {
	mu struct {
		sync.Mutex
		used    int
		waiting []waitingWrite
	}
}

// Waiter is a connection that waits for room. Values are compared with ==.
type Waiter interface {
	// Nudge lets the connection look again whether there is room. It does not block and takes no lock.
	Nudge()
}

// waitingWrite is a large write that was not taken from its socket yet.
type waitingWrite struct {
	from   Waiter
	weight int32
}

const (
	// SmallWrite is the largest size of a small write, in bytes: up to it a write takes no longer than others.
	SmallWrite = 8 << 10
	// writeBudgetMax bounds the weight of the large writes in the pipeline.
	writeBudgetMax = 1 << 20
	// multiWeight is the weight of a byte of a multi: its operations are small, and each takes as long as a
	// write.
	multiWeight = 8
)

// Weight returns about how much longer a write takes than a small one, in bytes of a setData; 0 if the write is
// small. identities is the size of those of the client, which a learner forwards with each of its writes. The weight
// is never more than the whole budget.
func Weight(op proto.OpCode, body []byte, identities int) int32 {
	n := len(body)
	if op == proto.OpMulti {
		n *= multiWeight
	}
	return int32(min(max(n+identities-SmallWrite, 0), writeBudgetMax))
}

// Take takes weight, and reports false if w has to wait for it.
func (b *WriteBudget) Take(w Waiter, weight int32) bool {
	if weight == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.placeOf(w)
	if at < 0 && len(b.mu.waiting) > 0 || at > 0 || b.mu.used+int(weight) > writeBudgetMax {
		if at < 0 {
			b.mu.waiting = append(b.mu.waiting, waitingWrite{w, weight})
		}
		return false
	}
	b.mu.used += int(weight)
	if at == 0 {
		b.forget(0)
	}
	return true
}

// Release gives weight back.
func (b *WriteBudget) Release(weight int32) {
	if weight == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used -= int(weight)
	b.wakeNext()
}

// Ready reports whether Take would succeed for w, which waits. It is true even if w has left meanwhile.
func (b *WriteBudget) Ready(w Waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.placeOf(w)
	return at < 0 || at == 0 && b.fits()
}

// Leave forgets that w waits, because w has ended or waits for its client, so that the others go on.
func (b *WriteBudget) Leave(w Waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.placeOf(w); at >= 0 {
		b.forget(at)
	}
}

// placeOf returns where w waits, -1 if it does not. REQUIRES: b.mu.
func (b *WriteBudget) placeOf(w Waiter) int {
	return slices.IndexFunc(b.mu.waiting, func(other waitingWrite) bool { return other.from == w })
}

// fits reports whether there is room for the first waiting write. REQUIRES: b.mu.
func (b *WriteBudget) fits() bool {
	return b.mu.used+int(b.mu.waiting[0].weight) <= writeBudgetMax
}

// forget removes the waiting write at a place from the list. REQUIRES: b.mu.
func (b *WriteBudget) forget(at int) {
	b.mu.waiting = slices.Delete(b.mu.waiting, at, at+1)
	b.wakeNext()
}

// wakeNext lets the first waiting connection try again, if there is room for its write. REQUIRES: b.mu.
func (b *WriteBudget) wakeNext() {
	if len(b.mu.waiting) > 0 && b.fits() {
		b.mu.waiting[0].from.Nudge()
	}
}
