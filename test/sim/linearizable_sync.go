package sim

import (
	"slices"

	"github.com/seed94657493/warren/proto"
)

// deferredSync is a sync whose answer has arrived before all the commits ahead of it were applied.
type deferredSync struct {
	token uint64
	after proto.Zxid
}

// deferSync does the duty of a learner's host: the answer waits behind the commits that came before it.
func (n *node) deferSync(e *end, token uint64) {
	n.deferred = append(n.deferred, deferredSync{token, e.lastCommit})
}

func (n *node) retryDeferred() {
	n.deferred = slices.DeleteFunc(n.deferred, func(d deferredSync) bool {
		if lastOf(n.state) < d.after {
			return false
		}
		n.s.synced(n, d.token)
		return true
	})
	if !n.status.Serving {
		n.deferred = nil
	}
}

// Linearizable sync: reads after the answer show every write that was acknowledged before the call.
func (s *Sim) synced(n *node, token uint64) {
	call, ok := s.load.tokens[token]
	if !ok {
		return
	}
	delete(s.load.tokens, token)
	s.Stats.Syncs++
	if s.world != nil {
		if call.n == n && call.life == n.life {
			s.checkProtectedSync(n, call)
		}
		return
	}
	if call.n == n && call.life == n.life && lastOf(n.state) < call.acked {
		s.fail("LinearizableSync", "server %d has %v after a sync, but %v was acknowledged before it", n.id,
			lastOf(n.state), call.acked)
	}
}
