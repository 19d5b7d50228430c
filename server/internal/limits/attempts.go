package limits

import (
	"net/netip"
	"sync"
	"time"
)

// GuessesMax is how many guesses of a password may be wrong in a row, and GuessEvery how long it takes until one more
// may.
const (
	GuessesMax = 10
	GuessEvery = 10 * time.Second
)

const (
	// sendersMax is how many senders are remembered, and looked how many of them are compared when one has to be
	// forgotten.
	sendersMax, looked = 4096, 32
)

// Attempts counts what each sender does, such as wrong guesses of a password. A sender is an address or, of IPv6, a
// network of 64 bits. Any goroutine may use it.
type Attempts struct {
	most  float64       // how many attempts a sender has in a row
	every time.Duration // and how long it takes until it has one more
	mu    struct {
		sync.Mutex
		buckets map[netip.Prefix]*bucket
	}
}

// NewAttempts returns a count by which a sender has most attempts in a row, and one more after every.
func NewAttempts(most float64, every time.Duration) *Attempts {
	a := &Attempts{most: most, every: every}
	a.mu.buckets = map[netip.Prefix]*bucket{}
	return a
}

// NewGuesses returns the count of wrong guesses of passwords.
func NewGuesses() *Attempts { return NewAttempts(GuessesMax, GuessEvery) }

// bucket holds the attempts that a sender has left. A sender that has all of them has no bucket.
type bucket struct {
	left float64
	at   time.Time // when left was computed
}

// Network returns the addresses that count as one with addr: of IPv6 its network of 64 bits.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.WithZone("").Prefix(bits) // the zero Prefix for the zero Addr
	return p
}

// Take uses up an attempt. It returns false if there is none.
func (a *Attempts) Take(addr netip.Addr, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.bucketOf(Network(addr), now)
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// Has reports whether there is an attempt. Only one that fails is used up, by Fail: any number that succeed may go on
// at once.
func (a *Attempts) Has(addr netip.Addr, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := Network(addr)
	if a.mu.buckets[at] == nil {
		return true
	}
	return a.bucketOf(at, now).left >= 1
}

// Fail uses up an attempt that has failed. Of those that went on at once more may fail than there were attempts: they
// are owed, up to debtMax.
func (a *Attempts) Fail(addr netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.bucketOf(Network(addr), now)
	b.left = max(b.left-1, -debtMax)
}

// debtMax bounds what is owed, so that a wrong password that was used everywhere does not lock out its owner for long.
const debtMax = 20

// bucketOf returns the bucket of a sender as it is now. REQUIRES: mu.
func (a *Attempts) bucketOf(at netip.Prefix, now time.Time) *bucket {
	b := a.mu.buckets[at]
	if b == nil {
		a.makeRoom()
		b = &bucket{left: a.most, at: now}
		a.mu.buckets[at] = b
	}
	b.left = min(a.most, b.left+now.Sub(b.at).Seconds()/a.every.Seconds())
	b.at = now
	return b
}

// GiveBack returns an attempt that does not count.
func (a *Attempts) GiveBack(addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := Network(addr)
	if b := a.mu.buckets[at]; b != nil {
		if b.left++; b.left >= a.most {
			delete(a.mu.buckets, at)
		}
	}
}

// makeRoom forgets a sender if there are too many: the one with the oldest attempt among looked, so that the work is
// bounded. REQUIRES: mu.
func (a *Attempts) makeRoom() {
	if len(a.mu.buckets) < sendersMax {
		return
	}
	var oldest netip.Prefix
	seen := 0
	for at, b := range a.mu.buckets { // in an order that nothing outside can tell
		if o := a.mu.buckets[oldest]; o == nil || b.at.Before(o.at) {
			oldest = at
		}
		if seen++; seen == looked {
			break
		}
	}
	delete(a.mu.buckets, oldest)
}
