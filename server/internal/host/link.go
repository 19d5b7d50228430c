package host

import (
	"iter"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/peers"
)

// link is a connection to another server, with what this server knows of the other one. Owned by the host goroutine.
// It lives as long as the connection: from the first packet, or from when it is up, to forget.
type link struct {
	*peers.Link
	warren bool // the other server is Warren
	// exchange is nil as long as the learner at the other end is not up to date, or no PING of the leader there has
	// been answered.
	exchange *lease.Exchange
	priority int64 // of a follower that has one, as it has told this leader; else 0
	idle     bool  // the follower has told this leader that it has no clients
	arrived  int64 // when the last packet arrived, ns on the server's clock
	told     bool  // the learner was told of all silent sessions: see silent.go
}

// learner reports whether an up-to-date learner is at the other end. l may be nil.
func (l *link) learner() bool { return l != nil && !l.Dialled && l.exchange != nil }

// exchanges yields the servers at the other ends of links on which PINGs are answered.
func (m *Host) exchanges() iter.Seq2[proto.ServerID, *lease.Exchange] {
	return func(yield func(proto.ServerID, *lease.Exchange) bool) {
		for _, l := range m.links {
			if l != nil && l.exchange != nil && !yield(l.Peer, l.exchange) {
				return
			}
		}
	}
}
