package host

import (
	"cmp"
	"iter"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// link is a connection to another server, with what this server knows of the other one. Owned by the host goroutine.
// It lives as long as the connection: from the first packet, or from when it is up, to forget.
type link struct {
	*peers.Link
	warren bool // the other server is Warren
	// exchange is nil as long as the learner at the other end is not up to date, or no PING of the leader there has
	// been answered.
	exchange *lease.Exchange
	priority int64  // of a follower that has one, as it has told this leader; else 0
	idle     bool   // the follower has told this leader that it has no clients
	reported uint64 // how many of its answers to PINGs the learner was told that have arrived
	arrived  int64  // when the last packet arrived, ns on the server's clock
	told     bool   // the learner was told of all silent sessions: see silent.go
	touched  int64  // when this learner has reported sessions to its leader last, ns on the server's clock
}

// learner reports whether an up-to-date learner is at the other end. l may be nil.
func (l *link) learner() bool { return l != nil && !l.Dialled && l.exchange != nil }

// links are the connections to other servers that are open, as far as the host goroutine has heard. It owns them.
type links struct {
	open    map[zab.LinkID]*link // nil from when a link is accepted to its first packet
	touched []*link              // with output that is not flushed
	closed  []zab.LinkID         // the core may have asked for the states received on them
}

func newLinks() links { return links{open: map[zab.LinkID]*link{}} }

// accept notes a link that another server has opened. Its first packet tells of the link.
func (k *links) accept(id zab.LinkID) { k.open[id] = nil }

// add notes a link that this server has opened.
func (k *links) add(l *peers.Link) { k.open[l.ID] = &link{Link: l} }

// from returns the link on which a packet has arrived; nil if it was closed meanwhile.
func (k *links) from(l *peers.Link) *link {
	known, open := k.open[l.ID]
	if open && known == nil {
		known = &link{Link: l}
		k.open[l.ID] = known
	}
	return known
}

// has reports whether a link is open.
func (k *links) has(l *link) bool { return k.open[l.ID] == l }

// remove forgets a link that has closed.
func (k *links) remove(id zab.LinkID) {
	delete(k.open, id)
	k.closed = append(k.closed, id)
}

// takeClosed returns the links that were removed since the last call, valid until the next remove.
func (k *links) takeClosed() []zab.LinkID {
	closed := k.closed
	k.closed = k.closed[:0]
	return closed
}

// inOrder returns the links that have brought a packet, or that this server has opened, in an order that does not
// depend on the run.
func (k *links) inOrder() (all []*link) {
	for _, l := range k.open {
		if l != nil {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *link) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// touch notes that l has output to be flushed in this turn.
func (k *links) touch(l *link) {
	if !slices.Contains(k.touched, l) {
		k.touched = append(k.touched, l)
	}
}

// send sends a packet with this turn.
func (k *links) send(l *link, p *peers.Packet) {
	l.SendPacket(p)
	k.touch(l)
}

// flush lets the output of the turn go. In calm the caller writes it itself.
func (k *links) flush(calm bool) {
	for _, l := range k.touched {
		if calm {
			l.FlushNow()
		} else {
			l.Flush()
		}
	}
	clear(k.touched)
	k.touched = k.touched[:0]
}

// exchanges yields the servers at the other ends of links on which PINGs are answered.
func (k *links) exchanges() iter.Seq2[proto.ServerID, *lease.Exchange] {
	return func(yield func(proto.ServerID, *lease.Exchange) bool) {
		for _, l := range k.open {
			if l != nil && l.exchange != nil && !yield(l.Peer, l.exchange) {
				return
			}
		}
	}
}

// candidates are the servers that have told this one a priority or, if leaders are to have no clients, that they have
// none.
func (k *links) candidates(leaderServes bool) (all []succession.Candidate) {
	for _, l := range k.inOrder() {
		c := succession.Candidate{ID: l.Peer, Priority: l.priority, Idle: l.idle && !leaderServes}
		if c.Priority > 0 || c.Idle {
			all = append(all, c)
		}
	}
	return all
}

// sendSilent sends sessions in the order of their ids, in packets of a bounded size. last is the zxid of the newest
// txn of a leader, -1 from a learner.
func (k *links) sendSilent(l *link, last proto.Zxid, all []sessions.Silent, now int64) {
	const most = 4096
	slices.SortFunc(all, func(a, b sessions.Silent) int { return cmp.Compare(a.ID, b.ID) })
	for len(all) > 0 {
		n := min(len(all), most)
		data := sessions.AppendSilent(nil, all[:n], now)
		k.send(l, &peers.Packet{Type: peers.PacketSilent, Zxid: last, Data: data})
		all = all[n:]
	}
}
