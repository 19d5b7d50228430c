package host

import (
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// outsideEvery is how often the log says the same about histories that differ.
const outsideEvery = time.Minute

// differences is what the log was told of histories that differ. Owned by the node goroutine.
type differences struct {
	outside   time.Time                    // when it was said that this server stays outside
	strangers map[proto.ServerID]time.Time // when it was said that the history of a member differs
}

// warnOutside tells the log, now and then, that this server stays outside of the ensemble.
func (m *Host) warnOutside(now time.Time) {
	o := m.status.Outside
	if o == nil || now.Sub(m.told.outside) < outsideEvery {
		return
	}
	m.told.outside = now
	m.Log.Warn("this server stays outside the ensemble: its directory has another history",
		zap.Int64("leader", int64(o.Leader)), zap.String("reason", o.Reason), zap.String("own", o.Own),
		zap.String("theirs", o.Theirs))
}

// warnStrangers tells the log, now and then, which members have another history than this server. Where no history
// has a quorum this is the reason why no server leads.
func (m *Host) warnStrangers(now time.Time, strangers []zab.Stranger) {
	for _, s := range strangers {
		if at, ok := m.told.strangers[s.ID]; ok && now.Sub(at) < outsideEvery {
			continue
		}
		if m.told.strangers == nil {
			m.told.strangers = map[proto.ServerID]time.Time{}
		}
		m.told.strangers[s.ID] = now
		m.Log.Warn("a member has another history than this server: neither counts for the other",
			zap.Int64("peer_id", int64(s.ID)), zap.String("reason", s.Reason), zap.String("theirs", s.Theirs))
	}
}

// Two servers that were given the same id push each other out of the ensemble: whenever one of them connects to the
// leader, the leader gives up the connection of the other, which then connects again. The leader notices that. A
// server whose id is smaller than that of the leader does not get as far: for the election the larger id connects, to
// the address that it knows.

// introduction is the last connection of a learner to this leader.
type introduction struct {
	link     zab.LinkID
	addr     string
	replaced time.Time // when a connection came while the one before was open
}

// introductions finds servers with the same id. Owned by the node goroutine.
type introductions struct {
	last   map[proto.ServerID]introduction
	warned time.Time // when the log was told last
}

const (
	// twinWindow is the time in which a connection is replaced twice only if two servers do it: one that has lost its
	// connection without a word, and comes again, does so once.
	twinWindow = 10 * time.Second
	// twinEvery is how often the log tells of it.
	twinEvery = time.Minute
)

// meet notes that a server has said its id on a link. If it is time to warn of two servers with this id it returns
// the address of the other.
func (n *introductions) meet(id proto.ServerID, link zab.LinkID, addr string, isOpen func(zab.LinkID) bool,
	now time.Time) (other string, warn bool) {
	if n.last == nil {
		n.last = map[proto.ServerID]introduction{}
	}
	last, known := n.last[id]
	next := introduction{link: link, addr: addr, replaced: last.replaced}
	if known && last.link != link && isOpen(last.link) {
		next.replaced = now
		twice := now.Sub(last.replaced) < twinWindow
		warn = (twice || hostOf(last.addr) != hostOf(addr)) && now.Sub(n.warned) >= twinEvery
	}
	if warn {
		n.warned = now
	}
	n.last[id] = next
	return last.addr, warn
}

// introduced warns if a learner that has said its id on a link is one of two servers with this id.
func (m *Host) introduced(l *peers.Link, id proto.ServerID, now time.Time) {
	if l.Dialled || m.Membership().Member(int64(id)) == nil { // which bounds the map
		return
	}
	addr := l.Stats().Addr
	isOpen := func(link zab.LinkID) bool { return m.links[link] != nil }
	other, warn := m.introductions.meet(id, l.ID, addr, isOpen, now)
	if warn {
		m.Log.Warn("two servers have the same id and push each other out: give one of them another id, or stop it",
			zap.Int64("peer_id", int64(id)), zap.String("addr", addr), zap.String("other_addr", other))
	}
}

// hostOf is the host of an address, or the address if it has no port.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}
