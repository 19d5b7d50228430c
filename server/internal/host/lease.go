package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/zab"
)

// keepLease is called when ticks of the core were due. When the lease has ended it closes the client connections,
// those of sessions with a long timeout later than the others.
func (h *Host) keepLease() {
	if h.role == nil || h.ReadOnly.Load() || h.peers == nil {
		return
	}
	if h.status.State == zab.Leading {
		h.lease.RenewByQuorum(h.ID, h.links.exchanges(), h.decides)
	}
	f, isLearner := h.role.(*following)
	if isLearner && f.link != nil {
		f.leaveDeaf()
		f.leaveStuck()
	}
	over, first := h.lease.Over()
	if over && isLearner && f.link != nil {
		f.leaveUnreachable()
	}
	if first {
		h.closing = 0
	}
	if !over || h.Clock.Now() <= h.closing {
		return
	}
	var ended int
	if ended, h.closing = h.clients.AbortOver(); ended > 0 {
		h.Log.Warn("closing client connections: no quorum has confirmed this server's reports about their sessions",
			zap.Duration("for", h.lease.Length()-h.lease.Left()), zap.Int("connections", ended))
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
	h, now := f.h, f.Clock.Now()
	if now-f.looked < int64(hearingInterval) {
		return
	}
	f.looked = now
	if f.link.Deaf() && h.lease.Left() >= h.lease.Length()/4 {
		h.Log.Warn("leaving the leader: its packets arrive here, but it acknowledges none of ours",
			zap.Int64("leader", int64(f.link.Peer)))
		f.link.Abort()
	}
}

// leaveUnreachable ends the link to a leader that cannot be reached, when the lease of this learner has ended. If the
// process of the leader stands still, its kernel goes on to acknowledge what arrives, and this server waits for the
// leader for syncLimit as ever. It also does so if it reaches no other server: it is cut off itself then, no leader
// could be elected here, and what its clients have would be lost for a network that is back in time.
func (f *following) leaveUnreachable() {
	h := f.h
	silent := f.link.Unacknowledged()
	if silent == 0 || silent < h.lease.Length()/2 || !h.peers.Reaches(f.link.Peer) {
		return
	}
	h.Log.Warn("leaving the leader: it acknowledges none of our packets", zap.Int64("leader", int64(f.link.Peer)),
		zap.Duration("for", silent))
	f.link.Abort()
}

// leaveStuck ends the link of an observer whose log has waited for its disk for as long as a learner waits for its
// leader. A follower that acknowledges nothing for so long is left by its leader, but nobody waits for an observer:
// its clients would wait for their requests until there is room, and read what is older and older.
func (f *following) leaveStuck() {
	h, since := f.h, f.LogStalled.Load()
	if h.status.State != zab.Observing || since == 0 {
		return
	}
	if stood := time.Duration(f.Clock.Now() - since); stood > h.Config.LongestLease() {
		h.Log.Error("leaving the leader: the log waits for the disk",
			zap.Int64("leader", int64(f.link.Peer)), zap.Duration("for", stood))
		f.link.Abort()
	}
}
