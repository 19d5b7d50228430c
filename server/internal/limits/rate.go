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

// rateBurst is how long an address keeps its unused requests.
const rateBurst = 100 * time.Millisecond

// Reserve reserves n requests, of perSecond: they may be handled from due on. now and due are ns on the server's
// clock.
func (r *Rate) Reserve(now int64, n, perSecond int) (due int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due = max(r.next, now-int64(rateBurst))
	r.next = due + int64(n)*int64(time.Second)/int64(perSecond)
	return due
}

// GiveBack gives back n requests that were reserved and are not used.
func (r *Rate) GiveBack(n, perSecond int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next -= int64(n) * int64(time.Second) / int64(perSecond)
}

// Rested reports whether nothing has to be remembered at now: as many requests are unused as can be.
func (r *Rate) Rested(now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next <= max(now-int64(rateBurst), 0)
}
