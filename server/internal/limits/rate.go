package limits

import (
	"sync"
	"time"
)

// Rate is how much the connections of one address have used of the requests that they may send together in a
// second. Above that their sockets are not read: no request is refused, but the client becomes slower. Unused
// requests are kept for rateBurst.
type Rate struct {
	mu   sync.Mutex
	next int64 // when the next request that is not reserved may be handled, ns on the server's clock
}

const (
	// rateShares is in how many parts the requests of a second are reserved. A waiting connection is woken once
	// for each part.
	rateShares = 100
	// rateBurst is how long an address keeps its unused requests.
	rateBurst = 100 * time.Millisecond
)

// Reserve reserves a share of perSecond requests: n of them may be handled from due on. now and due are ns on the
// server's clock.
func (r *Rate) Reserve(now int64, perSecond int) (n int, due int64) {
	n = max(1, perSecond/rateShares)
	r.mu.Lock()
	defer r.mu.Unlock()
	due = max(r.next, now-int64(rateBurst))
	r.next = due + int64(n)*int64(time.Second)/int64(perSecond)
	return n, due
}

// Rested reports whether nothing has to be remembered at now: as many requests are unused as can be.
func (r *Rate) Rested(now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next <= max(now-int64(rateBurst), 0)
}
