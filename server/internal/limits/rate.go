package limits

import (
	"sync"
	"time"
)

// Rate is how far the connections of one address have used up the requests that they may send together in a second.
// Above that their sockets are not read: nothing is refused, the client is slower. What was not used is kept for
// rateBurst.
type Rate struct {
	mu   sync.Mutex
	next int64 // when the next request that is not reserved may be handled, ns on the server's clock
}

const (
	// rateShares is in how many parts a second's requests are reserved. A connection that waits is woken once
	// for each.
	rateShares = 100
	// rateBurst is how long an address keeps what it has not sent.
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
