package host

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// applies is the applier: it applies committed txns in the order in which they are put, and answers the clients.
type applies interface {
	// Put queues a batch for the next Come. The host goroutine calls it.
	Put(b *flow.ApplyBatch)
	// Come lets the batches that were put be applied. In calm the caller applies them itself, unless another
	// goroutine is applying already. Otherwise the applier goroutine does.
	Come(calm bool)
	// Do runs fn when everything queued before it is applied.
	Do(fn func())
	// Swap replaces the served state, in its place between batches. No client is served at that time.
	Swap(state *datatree.State)
	// Close ends the applier when everything queued before is applied.
	Close()
	// Run is the applier goroutine.
	Run()
}

// answers is the way of requests that become no txn: the applier answers them, in their place between txns. The host
// goroutine uses it.
type answers struct {
	env     *env.Env
	applier applies
}

// answer hands items without a txn to the applier, in their place.
func (a *answers) answer(items ...flow.Item) {
	b := a.env.ApplyPool.Get()
	b.Items = append(b.Items, items...)
	a.applier.Put(b)
}

// release gives back what a request has reserved.
func (a *answers) release(r *flow.Request) {
	if r.Client != nil && r.Op != proto.OpCreateSession {
		a.env.Large.Release(int(r.Body.N) + proto.RequestHeaderSize)
	}
}

// goesOn answers a client that has come back, when the state has all that was delivered.
func (a *answers) goesOn(r *flow.Resumption, s *sessions.Session, old sessions.Conn) {
	a.applier.Do(func() { r.Client.Resumed(s, old, r.TimeoutMs, r.Whole) })
}
