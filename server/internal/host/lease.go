package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/zab"
)

// leaseTime is the length of a lease: a third of the time after which a learner gives up its leader, and two ticks
// at least, since each tick has two PINGs.
func (m *Host) leaseTime() time.Duration {
	return max(2*m.Config.TickTime, time.Duration(max(m.Config.SyncLimit, 1))*m.Config.TickTime/3)
}

// keepLease is called with every tick of the core. When the lease has ended it closes the client connections.
func (m *Host) keepLease() {
	if m.role == nil || m.ReadOnly.Load() || m.peers == nil {
		return
	}
	if m.status.State == zab.Leading {
		m.lease.RenewByQuorum(m.ID, m.links.exchanges(), m.decides)
	}
	f, isLearner := m.role.(*following)
	if isLearner && f.link != nil {
		f.leaveDeaf()
	}
	over, first := m.lease.Over()
	if over && isLearner && f.link != nil {
		f.leaveUnreachable()
	}
	if first {
		m.Log.Warn("closing client connections: no quorum has confirmed this server's reports about their sessions",
			zap.Duration("for", m.lease.Length()))
		m.clients.AbortAll()
	}
}

// hearingInterval is how often a learner looks whether its leader hears it.
const hearingInterval = 100 * time.Millisecond

// leaveDeaf ends the link to a leader, or to an observer master, that is heard and does not hear: the writes of the
// ensemble would wait until the lease of the leader has ended. If all followers leave, they elect another leader. If
// one does, only that one waits, until it is heard.
//
// The election has to end before the lease of the leader does. The leader gives up then, and its vote arrives: a part
// of the others would elect it again, and those that do not would wait for a quorum. So nothing is done in the last
// quarter of the lease, and with a short lease the leader gives up first.
func (f *following) leaveDeaf() {
	m, now := f.m, f.m.Clock.Now()
	if now-f.looked < int64(hearingInterval) {
		return
	}
	f.looked = now
	if f.link.Deaf() && m.lease.Left() >= m.lease.Length()/4 {
		m.Log.Warn("leaving the leader: its packets arrive here, but it acknowledges none of ours",
			zap.Int64("leader", int64(f.link.Peer)))
		f.link.Abort()
	}
}

// leaveUnreachable ends the link to a leader that cannot be reached, when the lease of this learner has ended. If the
// process of the leader stands still, its kernel goes on to acknowledge what arrives, and this server waits for the
// leader for syncLimit as ever.
func (f *following) leaveUnreachable() {
	m := f.m
	if silent := f.link.Unacknowledged(); silent >= m.lease.Length()/2 && silent > 0 {
		m.Log.Warn("leaving the leader: it acknowledges none of our packets", zap.Int64("leader", int64(f.link.Peer)),
			zap.Duration("for", silent))
		f.link.Abort()
	}
}
