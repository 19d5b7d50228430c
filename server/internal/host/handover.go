package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Handovers of the leadership. The server is to stop (Host.handOver), an operator names another leader (HandOverTo),
// or package succession decides on it (consider). All of them begin in this file, but for a leader whose epoch has no
// more zxids (leading.flush). Unless the disk is full, clients and learners hold still first: see package kept.

// consider asks the policy whether this leader goes on to lead and takes writes, and does what the policy decides. It
// is called now and then.
func (l *leading) consider(now time.Time, learners []zab.Learner) {
	m := l.m
	if !m.core.Serves() {
		return // the leadership has ended within this turn: so does the role, when the core's output is taken
	}
	full := m.Guard.Full()
	f := succession.Facts{Now: now, Since: m.periods.role, Full: full, Room: true, HandsOver: l.handing != nil,
		Idle:       !m.Config.LeaderServes && m.clients.Idle(),
		Candidates: m.candidates(), Learners: learners, Prepared: l.next - 1, Committed: m.reach.committed,
		FitSuccessor: func() bool { return false },
		CanLead:      func(id proto.ServerID) bool { return m.canLead(id) == nil }}
	if c := m.member; c != nil {
		c.Unfit(m.ID, full)
		f.Room, f.FitSuccessor = c.FitQuorum(), c.FitSuccessor
	}
	d := m.policy.Decide(&f)
	switch {
	case d.Refuse && !l.refuses:
		m.Log.Error("refusing writes: too few voters have room on their disks", zap.Bool("here", !full))
	case l.refuses && !d.Refuse:
		m.Log.Info("accepting writes again: enough voters have room on their disks")
	}
	l.refuses = d.Refuse
	if d.Yield {
		m.Log.Warn("handing over to a server with more room: the disk is almost full")
		m.core.HandOver(false)
	}
	if d.To != succession.None {
		why := "handing over to a server with a higher priority"
		if d.Idle {
			why = "handing over to a server without clients, because leaders are to have none"
		}
		m.Log.Info(why, zap.Int64("server", int64(d.To)))
		if err := l.handOver(func() error { return m.member.HandOverTo(d.To, false) }); err != nil {
			m.Log.Warn("cannot hand over the leadership: this server goes on leading", zap.Error(err))
		}
	}
}

// candidates are the servers that have told this one a priority or, if leaders are to have no clients, that they have
// none.
func (m *Host) candidates() (all []succession.Candidate) {
	for _, l := range m.links.inOrder() {
		c := succession.Candidate{ID: l.Peer, Priority: l.priority, Idle: l.idle && !m.Config.LeaderServes}
		if c.Priority > 0 || c.Idle {
			all = append(all, c)
		}
	}
	return all
}

// handOver asks the core to hand its leadership over, and then to stop.
func (m *Host) handOver() {
	m.Do(func() {
		_ = m.afterHold(func() error {
			m.core.HandOver(true)
			return nil
		})
	})
}

// afterHold calls do, which begins a handover, at once, or when the clients of a leader and its learners hold still.
func (m *Host) afterHold(do func() error) error {
	if lead, ok := m.role.(*leading); ok {
		return lead.handOver(do)
	}
	return do()
}

// canLead returns why a server cannot take over the leadership; nil if it can.
func (m *Host) canLead(id proto.ServerID) error {
	if m.member == nil {
		return zab.ErrNotLeading
	}
	return m.member.HandOverTo(id, true)
}

// HandOverTo hands the leadership to a named server without an election; see zab.Core.HandOverTo. It returns when the
// handover has begun, or with dry when it is known whether it could. If this server leads and is the named one, there
// is nothing to do. Any goroutine may call it.
func (m *Host) HandOverTo(id proto.ServerID, dry bool) (err error) {
	begun := sched.NewGate(m.Runtime)
	if m.Do(func() {
		if err = nil; id != m.ID || !m.Rules() {
			err = m.canLead(id)
		}
		if err == nil && id != m.ID && !dry {
			err = m.afterHold(func() error { return m.member.HandOverTo(id, false) })
		}
		if err == nil && id != m.ID && !dry {
			m.Log.Info("handing over to the server that an operator has named", zap.Int64("server", int64(id)))
		}
		begun.Open()
	}) {
		sched.WaitAny(m.Runtime, begun, m.done)
	}
	if !begun.IsOpen() {
		return zab.ErrNotLeading
	}
	return err
}

// holdMax is how long a leader waits until its learners hold their requests and its own syncs are answered. The
// clients of a learner that has not answered by then are asked for as after the death of the leader.
const holdMax = 500 * time.Millisecond

// handing is a handover of this leader that is being prepared, or has begun.
type handing struct {
	do    func() error        // begins the handover
	asked []*link             // learners that were asked to hold requests
	waits map[zab.LinkID]bool // those that have not answered
	until int64               // when the handover begins in any case, ns on the server's clock
	begun bool                // do was called
}

// handOver calls do, which begins a handover, when all learners hold the requests of their clients.
func (l *leading) handOver(do func() error) error {
	m := l.m
	switch {
	case m.peers == nil, l.handing != nil && l.handing.begun:
		return do()
	case l.handing != nil:
		l.handing.do = do // the server is to stop as well
		return nil
	}
	h := &handing{do: do, waits: map[zab.LinkID]bool{}, until: m.Clock.Now() + int64(holdMax)}
	for _, link := range m.links.inOrder() {
		if link.learner() && link.warren {
			h.asked, h.waits[link.ID] = append(h.asked, link), true
		}
	}
	l.handing = h
	l.tell(peers.PacketHold)
	return nil
}

// tell sends a packet without data to the learners that were asked to hold requests.
func (l *leading) tell(t proto.PacketType) {
	for _, link := range l.handing.asked {
		if l.m.links.has(link) {
			link.SendPacket(&peers.Packet{Type: t, Zxid: -1})
			l.m.links.touch(link)
		}
	}
}

// maybeHand begins the handover that is being prepared if nothing is left to wait for.
func (l *leading) maybeHand() {
	h := l.handing
	if h == nil || h.begun {
		return
	}
	answered := len(h.waits) == 0 && len(l.txns) == 0 && l.syncs.Empty()
	if !answered && l.m.Clock.Now() < h.until {
		return
	}
	h.begun = true
	l.m.again = true
	if err := h.do(); err != nil {
		l.m.Log.Warn("cannot hand over the leadership: this server goes on leading", zap.Error(err))
		l.tell(peers.PacketUnhold)
		l.handing = nil
	}
}
