package api

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of failed logins.
const (
	// attemptsMax is how many logins from one address may fail in a row, and attemptEvery how long it takes until one
	// more may.
	attemptsMax, attemptEvery = 10, 10 * time.Second
	// addressesMax is how many addresses are remembered, and looked how many of them are compared when one has to be
	// forgotten.
	addressesMax, looked = 4096, 32
)

// throttle counts what each address does, such as failed logins; of IPv6 addresses, what each network of 64 bits does.
type throttle struct {
	most  float64       // how many attempts an address has in a row
	every time.Duration // and how long it takes until it has one more
	mu    struct {
		sync.Mutex
		buckets map[netip.Prefix]*bucket
	}
}

func newThrottle(most float64, every time.Duration) *throttle {
	t := &throttle{most: most, every: every}
	t.mu.buckets = map[netip.Prefix]*bucket{}
	return t
}

// bucket holds the attempts that an address has left. An address that has all of them has no bucket.
type bucket struct {
	left float64
	at   time.Time // when left was computed
}

func (t *throttle) fill(b *bucket, now time.Time) {
	b.left = min(t.most, b.left+now.Sub(b.at).Seconds()/t.every.Seconds())
	b.at = now
}

// place returns the addresses that share a bucket with addr.
func place(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.WithZone("").Prefix(bits) // the zero Prefix for the zero Addr
	return p
}

// take uses up an attempt. It returns false if there is none.
func (t *throttle) take(addr netip.Addr, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := place(addr)
	b := t.mu.buckets[at]
	if b == nil {
		t.makeRoom()
		b = &bucket{left: t.most, at: now}
		t.mu.buckets[at] = b
	}
	if t.fill(b, now); b.left < 1 {
		return false
	}
	b.left--
	return true
}

// giveBack returns an attempt that does not count.
func (t *throttle) giveBack(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.mu.buckets[place(addr)]; b != nil {
		if b.left++; b.left >= t.most {
			delete(t.mu.buckets, place(addr))
		}
	}
}

// makeRoom forgets an address if there are too many: the one with the oldest failure among looked, so that the work is
// bounded. REQUIRES: mu.
func (t *throttle) makeRoom() {
	if len(t.mu.buckets) < addressesMax {
		return
	}
	var oldest netip.Prefix
	seen := 0
	for at, b := range t.mu.buckets { // in an order that nothing outside can tell
		if o := t.mu.buckets[oldest]; o == nil || b.at.Before(o.at) {
			oldest = at
		}
		if seen++; seen == looked {
			break
		}
	}
	delete(t.mu.buckets, oldest)
}
