package host

import (
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// outsideEvery is how often the log repeats a message about histories that differ.
const outsideEvery = time.Minute

// differences is when the log was last told of histories that differ. Owned by the host goroutine.
type differences struct {
	outside   time.Time                    // when it was logged that this server stays outside
	strangers map[proto.ServerID]time.Time // when it was logged that the history of a member differs
}

// warnOutside logs now and then that this server stays outside the ensemble.
func (m *Host) warnOutside(now time.Time) {
	o := m.status.Outside
	if o == nil || now.Sub(m.reported.outside) < outsideEvery {
		return
	}
	m.reported.outside = now
	m.Log.Warn("this server stays outside the ensemble: its directory has another history",
		zap.Int64("leader", int64(o.Leader)), zap.String("reason", o.Reason), zap.String("own", o.Own),
		zap.String("theirs", o.Theirs))
}

// warnStrangers logs now and then which members have a different history than this server. If no history has a
// quorum, this is the reason why no server leads.
func (m *Host) warnStrangers(now time.Time, strangers []zab.Stranger) {
	for _, s := range strangers {
		if at, ok := m.reported.strangers[s.ID]; ok && now.Sub(at) < outsideEvery {
			continue
		}
		if m.reported.strangers == nil {
			m.reported.strangers = map[proto.ServerID]time.Time{}
		}
		m.reported.strangers[s.ID] = now
		m.Log.Warn("a member has another history than this server: neither counts for the other",
			zap.Int64("peer_id", int64(s.ID)), zap.String("reason", s.Reason), zap.String("theirs", s.Theirs))
	}
}

// Two servers with the same id push each other out of the ensemble: when one of them connects to the leader, the
// leader gives up the connection of the other, which then connects again. The leader notices that. If the id is
// smaller than the leader's, the second server does not get that far: for an election the server with the larger id
// connects, to the address that it knows.

// introduction is the last connection of a learner to this leader.
type introduction struct {
	link     zab.LinkID
	addr     string
	replaced time.Time // when a connection arrived while the one before was open
}

// introductions finds servers with the same id. Owned by the host goroutine.
type introductions struct {
	last   map[proto.ServerID]introduction
	warned time.Time // when the last warning was logged
}

const (
	// twinWindow is a time. Within it a connection is replaced twice only if two servers do it: a single server
	// that has lost its connection silently comes again once.
	twinWindow = 10 * time.Second
	// twinEvery is how often a warning is logged.
	twinEvery = time.Minute
)

// meet notes that a server has sent its id on a link. If it is time to warn of two servers with this id, it returns
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

// introduced warns if a learner that has sent its id on a link is one of two servers with this id.
func (m *Host) introduced(l *peers.Link, id proto.ServerID, now time.Time) {
	if l.Dialled || m.Membership().Member(int64(id)) == nil { // unknown ids must not fill the map
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
