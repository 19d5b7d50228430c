package host

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// changed compares the status of the core with the last one, and begins or ends service and logs accordingly.
func (h *Host) changed(st zab.Status) {
	old := h.status
	h.status = st
	if st.Serving {
		h.epoch = st.Epoch
	}
	same := old.State == st.State && old.Phase == st.Phase && old.Leader == st.Leader && old.Master == st.Master &&
		old.Epoch == st.Epoch && old.Serving == st.Serving
	if st.Fatal != nil && old.Fatal == nil {
		h.Fatal("agreement", st.Fatal)
	}
	if st.Deserted != old.Deserted {
		h.Metrics.Quorum.Disloyal.Inc()
	}
	if st.Stopped && !old.Stopped {
		h.Handed.Open()
	}
	if same && old.Outside == st.Outside {
		return
	}
	now := h.Clock.Steady()
	if old.State != st.State {
		h.opening.early = nil
		if st.State == zab.Looking {
			h.reach.leaderless()
		}
		h.periods.change(old.State, st.State, now)
		h.lease.Withdraw()
	}
	h.View.Store(&RoleView{st, h.periods.role})
	h.notices.warnOutside(h.status.Outside, now)
	if st.Outside != nil && h.ReadOnly.Load() {
		h.close("this server stays outside the ensemble")
	}
	if same {
		return
	}
	if h.peers != nil {
		logRole(h.Log, old, st)
	}
	if st.Leader >= 0 && h.ReadOnly.Load() {
		h.close("a leader was found")
	}
	switch {
	case st.Serving && !old.Serving:
		h.open()
	case old.Serving && !st.Serving:
		h.close(st.Reason)
	}
}

// open begins service: clients are accepted as soon as the state holds everything that was agreed on before. Until
// then requests wait.
func (h *Host) open() {
	generation := h.generation.Add(1)
	h.opening.on = true
	state, config := h.status.State, h.Membership()
	h.applier.Do(func() {
		if h.peers != nil {
			setConfig(h.Env, config, false)
		}
		h.Do(func() { h.mayOpen(generation, state) })
	})
}

// mayOpen begins the role that was opening in a time of service. If the core has ended that role in the present turn,
// it does not begin: the end of the turn closes it.
func (h *Host) mayOpen(generation int64, state zab.State) {
	if h.generation.Load() == generation && h.opening.on && h.core.Serves() {
		h.opened(state)
	}
}

// opened begins the role. The state is up to date.
func (h *Host) opened(state zab.State) {
	h.opening.on = false
	h.periods.opened(state, h.Clock.Steady())
	h.lease.Begin(state == zab.Leading)
	serves := true
	if state == zab.Leading {
		h.role = newLeading(h)
		serves = h.Config.LeaderServes || h.peers == nil
	} else {
		h.role = newFollowing(h)
	}
	if serves {
		h.Doors.Open()
	} else {
		h.Doors.Leave()
	}
	h.resumeKept()
	if f, follows := h.role.(*following); follows {
		f.reportLeft()
	}
	h.Disk.Snapshotter.Allow()
	h.reach.serves(h.Store.LastZxid())
	early, resumes, then := h.opening.take()
	for _, e := range early {
		if h.links.has(e.link) {
			h.role.Packet(e.link, e.packet)
		}
	}
	for _, r := range resumes {
		h.resumeNow(r)
	}
	h.requests()
	h.Served.Open()
	if then != nil {
		then()
	}
}

// close ends service: nothing is answered any more, and every client has to find another server. Sessions live on.
func (h *Host) close(reason string) {
	h.keeping.drop()
	h.keeping = h.keep()
	h.generation.Add(1)
	h.periods.lost = h.Clock.Steady()
	h.Doors.Shut()
	if k := h.keeping.now; k == nil { // connections that are kept answer nothing, but must not be aborted
		h.lease.End()
	} else if k.Len() > 0 {
		h.Log.Info("keeping client connections until there is a leader", zap.Int("sessions", k.Len()))
	}
	h.ReadOnly.Store(false)
	h.opening.on = false
	if h.role != nil {
		h.role.end()
		h.role = nil
	}
	h.wake.Unpark() // ticks are wanted more often now
	h.opening.giveUp()
	h.waiting = h.keeping.park(h.waiting)
	h.refuse()
	// Txns that were committed are still applied and answered. Then the connections end.
	h.applier.Do(func() {
		n := h.clients.ShutAll()
		if n > 0 {
			h.Log.Info("closed client connections", zap.Int("sessions", n), zap.String("reason", reason))
		}
	})
}

// Resume answers a client that comes back with its session: by Conn.Resumed, or by the end of its connection. Any
// goroutine may call it.
func (h *Host) Resume(r *flow.Resumption) {
	if !h.Do(func() { h.resumeNow(r) }) {
		r.Client.Abort()
	}
}

func (h *Host) resumeNow(r *flow.Resumption) {
	switch {
	case r.Client.Generation() != h.generation.Load():
		r.Client.Unanswered()
	case h.role != nil:
		h.supersede(r)
		h.role.resume(r)
	case h.opening.on:
		h.opening.resumes = append(h.opening.resumes, r)
	default:
		r.Client.Unanswered()
	}
}

// supersede makes requests of the session's earlier connections to this server too late, before the session goes on
// with another one: its client may have written at another server in between, and those writes are after them. What
// the earlier connections have asked for until now is taken first, and is refused if the session was elsewhere.
func (h *Host) supersede(r *flow.Resumption) {
	h.keeping.goOn(r.ID, false)
	if old := h.Tracker.Serving(r.ID); old != nil && old != r.Client {
		old.Supersede()
	}
	// A connection that does not serve the session any more has passed on all its requests.
	h.takeBatches()
	h.requests()
	for _, b := range h.waiting { // there was no room for these
		for _, q := range b.Requests[b.Taken:] {
			if q.Client != nil && q.Client != r.Client && q.Session != nil && q.Session.ID == r.ID {
				q.Client.Supersede()
			}
		}
	}
}

// logRole logs the role when it changes.
func logRole(log *zap.Logger, old, st zab.Status) {
	fields := []zap.Field{zap.Stringer("state", st.State), zap.Stringer("phase", st.Phase),
		zap.Int64("leader", int64(st.Leader)),
		zap.Int64("epoch", st.Epoch), zap.Bool("serving", st.Serving)}
	if st.Master != st.Leader {
		fields = append(fields, zap.Int64("master", int64(st.Master)))
	}
	if st.Reason != old.Reason && st.State == zab.Looking {
		fields = append(fields, zap.String("reason", st.Reason))
	}
	log.Info("role", fields...)
}
