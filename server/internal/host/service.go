package host

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// changed compares the status of the core with the last one, and begins or ends service and logs accordingly.
func (m *Host) changed(st zab.Status) {
	old := m.status
	m.status = st
	same := old.State == st.State && old.Phase == st.Phase && old.Leader == st.Leader && old.Master == st.Master &&
		old.Epoch == st.Epoch && old.Serving == st.Serving
	if st.Fatal != nil && old.Fatal == nil {
		m.Fatal("agreement", st.Fatal)
	}
	if st.Deserted != old.Deserted {
		m.Metrics.Quorum.Disloyal.Inc()
	}
	if st.Stopped && !old.Stopped {
		m.handedOver()
	}
	if same && old.Outside == st.Outside {
		return
	}
	now := m.Clock.Steady()
	if old.State != st.State {
		m.opening.early = nil
		if st.State == zab.Looking {
			m.reach.leaderless()
		}
		m.changes(old.State, st.State, now)
		m.lease.Withdraw()
	}
	m.View.Store(&RoleView{State: st.State, phase: st.Phase, Leader: st.Leader, master: st.Master, Epoch: st.Epoch,
		Serving: st.Serving, since: m.periods.role,
		outside: st.Outside})
	m.warnOutside(now)
	if st.Outside != nil && m.ReadOnly.Load() {
		m.close("this server stays outside the ensemble")
	}
	if same {
		return
	}
	if m.peers != nil {
		m.logRole(old, st)
	}
	if st.Leader >= 0 && m.ReadOnly.Load() {
		m.close("a leader was found")
	}
	switch {
	case st.Serving && !old.Serving:
		m.open()
	case old.Serving && !st.Serving:
		m.close(st.Reason)
	}
}

// logRole logs the role when it changes.
func (m *Host) logRole(old, st zab.Status) {
	fields := []zap.Field{zap.Stringer("state", st.State), zap.Stringer("phase", st.Phase),
		zap.Int64("leader", int64(st.Leader)),
		zap.Int64("epoch", st.Epoch), zap.Bool("serving", st.Serving)}
	if st.Master != st.Leader {
		fields = append(fields, zap.Int64("master", int64(st.Master)))
	}
	if st.Reason != old.Reason && st.State == zab.Looking {
		fields = append(fields, zap.String("reason", st.Reason))
	}
	m.Log.Info("role", fields...)
}

// changes notes that the server looks for a leader, or has found one.
func (m *Host) changes(from, to zab.State, now time.Time) {
	if from == zab.Looking {
		m.Log.Info("election", zap.Stringer("state", to), zap.Duration("took", now.Sub(m.periods.looked)))
	}
	m.periods.change(from, to, now)
}

// open begins service: clients are accepted as soon as the state holds everything that was agreed on before. Until
// then requests wait.
func (m *Host) open() {
	generation := m.generation.Add(1)
	m.opening.on = true
	state, config := m.status.State, m.Membership()
	m.applier.Do(func() {
		if m.peers != nil {
			m.setConfig(config, false)
		}
		m.Do(func() { m.mayOpen(generation, state) })
	})
}

// mayOpen begins the role that was opening in a time of service. If the core has ended that role in the present turn,
// it does not begin: the end of the turn closes it.
func (m *Host) mayOpen(generation int64, state zab.State) {
	if m.generation.Load() == generation && m.opening.on && m.core.Serves() {
		m.opened(state)
	}
}

// opened begins the role. The state is up to date.
func (m *Host) opened(state zab.State) {
	m.opening.on = false
	m.periods.opened(state, m.Clock.Steady())
	m.lease.Begin(state == zab.Leading)
	serves := true
	if state == zab.Leading {
		m.role = newLeading(m)
		serves = m.Config.LeaderServes || m.peers == nil
	} else {
		m.role = newFollowing(m)
	}
	if serves {
		m.Doors.Open()
	} else {
		m.Doors.Leave()
	}
	m.resumeKept()
	m.reportLeft()
	m.Disk.Snapshotter.Allow()
	m.reach.serves(m.Store.LastZxid())
	early, resumes, then := m.opening.take()
	for _, e := range early {
		if m.links.has(e.link) {
			m.role.Packet(e.link, e.packet)
		}
	}
	for _, r := range resumes {
		m.resumeNow(r)
	}
	m.requests()
	m.Served.Open()
	if then != nil {
		then()
	}
}

// close ends service: nothing is answered any more, and every client has to find another server. Sessions live on.
func (m *Host) close(reason string) {
	m.dropKept()
	m.keeping = m.keep()
	m.generation.Add(1)
	m.periods.lost = m.Clock.Steady()
	m.Doors.Shut()
	if k := m.keeping; k == nil { // connections that are kept answer nothing, but must not be aborted
		m.lease.End()
	} else if k.Len() > 0 {
		m.Log.Info("keeping client connections until there is another leader", zap.Int("sessions", k.Len()))
	}
	m.ReadOnly.Store(false)
	m.opening.on = false
	if m.role != nil {
		m.role.end()
		m.role = nil
	}
	m.opening.giveUp()
	m.park()
	m.refuse()
	// Txns that were committed are still applied and answered. Then the connections end.
	m.applier.Do(func() {
		n := m.clients.ShutAll()
		if n > 0 {
			m.Log.Info("closed client connections", zap.Int("sessions", n), zap.String("reason", reason))
		}
	})
}

// Resume answers a client that comes back with its session: by Conn.Resumed, or by the end of its connection. Any
// goroutine may call it.
func (m *Host) Resume(r *flow.Resumption) {
	if !m.Do(func() { m.resumeNow(r) }) {
		r.Client.Abort()
	}
}

func (m *Host) resumeNow(r *flow.Resumption) {
	switch {
	case r.Client.Generation() != m.generation.Load():
		r.Client.Unanswered()
	case m.role != nil:
		m.supersede(r)
		m.role.resume(r)
	case m.opening.on:
		m.opening.resumes = append(m.opening.resumes, r)
	default:
		r.Client.Unanswered()
	}
}

// supersede makes requests of the session's earlier connections to this server too late, before the session goes on
// with another one: its client may have written at another server in between, and those writes are after them. What
// the earlier connections have asked for until now is taken first, and is refused if the session was elsewhere.
func (m *Host) supersede(r *flow.Resumption) {
	m.goOn(r.ID, false)
	if old := m.Tracker.Serving(r.ID); old != nil && old != r.Client {
		old.Supersede()
	}
	// A connection that does not serve the session any more has passed on all its requests.
	m.takeBatches()
	m.requests()
	for _, b := range m.waiting { // there was no room for these
		for _, q := range b.Requests[b.Taken:] {
			if q.Client != nil && q.Client != r.Client && q.Session != nil && q.Session.ID == r.ID {
				q.Client.Supersede()
			}
		}
	}
}
