package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// The part of the roles in keeping client connections over a change of the leader: see package kept.

// reclaimed answers a learner that asks for the session of a client which has kept its connection.
func (l *leading) reclaimed(link *link, p *peers.Packet) {
	r := proto.NewReader(p.Data)
	id, heard := proto.SessionID(r.Int64()), l.m.Clock.Now()
	if r.Len() > 0 { // otherwise the learner is an older one
		heard -= int64(max(r.Int32(), 0)) * int64(time.Millisecond)
	}
	granted := l.m.MayAnswer() && l.m.Tracker.Reclaim(id, link.ID, heard)
	data := proto.AppendBool(proto.AppendInt64(nil, int64(id)), granted)
	link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: l.next - 1, Data: data})
	l.m.links.touch(link)
}

// moved tells the learner that had a session that it is elsewhere now.
func (l *leading) moved(id proto.SessionID, from, to zab.LinkID) {
	if link := l.m.links.open[from]; link != nil && from != to && link.warren {
		link.SendPacket(&peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
		l.m.links.touch(link)
	}
}

// keeping are the client connections that outlive a change of the leader.
type keeping struct {
	*kept.Connections
	// former is the role that has ended, of a learner. It goes on to answer requests that it has forwarded: those of
	// their txns that are committed come back when this server is up to date again at the latest.
	former *following
}

// keep lets the connections of clients outlive the role that ends, if they can. It returns nil if they cannot. It is
// called before the role ends.
func (m *Host) keep() *keeping {
	if m.status.Stopped || m.stop || m.status.Fatal != nil || m.Config.ConnectionKeep <= 0 {
		return nil
	}
	var epoch int64
	var former *following
	switch r := m.role.(type) {
	case *leading:
		if r.handing == nil || !r.handing.begun {
			return nil
		}
		epoch = r.epoch
	case *following:
		if r.link == nil || !r.handed && r.link.ID != m.noting || m.status.Outside != nil {
			return nil
		}
		epoch, former = r.epoch, r
	default:
		return nil
	}
	now, own := m.Clock.Now(), m.Tracker.Own()
	held := m.clients.HoldAll(func(s *sessions.Session) bool { return own[s] })
	until := func(s *sessions.Session) int64 {
		return min(now+int64(min(m.Config.ConnectionKeep, s.Timeout()/3)), m.LeaseEnd.Load())
	}
	return &keeping{former: former, Connections: kept.New(epoch, held, until, kept.Needs{
		CanAskAgain: former.canAskAgain, AskAgain: former.askAgain, Lose: former.lose,
		Take: func(batches []*flow.Batch) {
			m.waiting = append(m.waiting, batches...)
			m.again = true
		},
		Unbind: m.Tracker.Unbind, Generation: m.Generation, Now: m.Clock.Now,
	})}
}

// park sets the requests of kept connections aside.
func (m *Host) park() {
	if m.keeping != nil && len(m.waiting) > 0 {
		m.waiting = m.keeping.Park(m.waiting)
	}
}

// resumeKept asks for the sessions of the kept connections, when a role has begun.
func (m *Host) resumeKept() {
	k := m.keeping
	if k == nil {
		return
	}
	if !k.Outlive(m.status.Epoch) {
		m.dropKept()
		return
	}
	switch r := m.role.(type) {
	case *leading:
		k.Each(func(h flow.Held, may bool) {
			m.goOn(h.Session.ID, may && m.Tracker.Retake(h.Session, h.Client, true, m.heard(h.Session)))
		})
	case *following:
		if r.link == nil || !r.link.warren {
			m.dropKept()
			return
		}
		k.Each(func(h flow.Held, may bool) {
			if !may {
				m.goOn(h.Session.ID, false)
				return
			}
			data := sessions.AppendSilent(nil, []sessions.Silent{{ID: h.Session.ID, Heard: m.heard(h.Session)}},
				m.Clock.Now())
			r.link.SendPacket(&peers.Packet{Type: peers.PacketReclaim, Zxid: -1, Data: data})
		})
		m.links.touch(r.link)
	}
}

// granted handles the leader's answer about the session of a kept connection.
func (f *following) granted(p *peers.Packet) {
	m, r := f.m, proto.NewReader(p.Data)
	id, valid := proto.SessionID(r.Int64()), r.Bool()
	if m.keeping == nil || r.Err() != nil {
		return
	}
	h, waits := m.keeping.Of(id)
	if !waits {
		return // its client has come back meanwhile, on another connection
	}
	if valid = valid && m.Tracker.Retake(h.Session, h.Client, false, m.heard(h.Session)); valid {
		f.below.Disown(id)
		h.Session.After = max(h.Session.After, p.Zxid, m.reach.seen)
	}
	m.goOn(id, valid)
}

// goOn ends the wait of a kept connection: it goes on, or it ends. It does nothing if none waits for the session.
func (m *Host) goOn(id proto.SessionID, granted bool) {
	if _, waits := m.kept(id); waits {
		m.keeping.GoOn(id, granted)
		m.forgetKept()
	}
}

// kept returns the kept connection of a session, if there is one.
func (m *Host) kept(id proto.SessionID) (flow.Held, bool) {
	if m.keeping == nil {
		return flow.Held{}, false
	}
	return m.keeping.Of(id)
}

// forgetKept forgets the kept connections when the last of them has gone on or ended.
func (m *Host) forgetKept() {
	if m.keeping.Len() == 0 {
		m.keeping = nil
	}
}

// dropKept ends the connections that are kept.
func (m *Host) dropKept() {
	if m.keeping != nil {
		m.keeping.Drop()
		m.keeping = nil
	}
}

// expireKept ends the connections that were kept for too long.
func (m *Host) expireKept() {
	if m.keeping == nil {
		return
	}
	if ended := m.keeping.Expire(); ended > 0 {
		m.forgetKept()
		m.Log.Warn("closing client connections that outlived the leader: no other leader has granted their sessions",
			zap.Int("sessions", ended))
	}
}
