package serve

import (
	"errors"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
)

// serve handles the connection until it ends. It is the reader goroutine. cleanup is not deferred: it takes locks that
// a goroutine that panics may hold; see package server.
func (r *reader) serve() {
	if (greeting{&r.feed}).handshake() {
		r.requests()
	}
	r.cleanup()
}

// requests handles what the client sends, until the connection ends.
func (r *reader) requests() {
	for r.process() {
		// To read TLS may mean to write, which may wait for the client: that is no part of a turn.
		if r.pace.busy && len(r.in.buf) > inputBuffer && r.c.raw != nil && r.c.secure == nil {
			r.takeTurn() // tryOnce passes the turn on if there is nothing to read
		}
		if err := r.fill(); err != nil {
			if !r.ended && !errors.Is(err, net.ErrClosed) { // the client has gone without closing its session
				r.srv.Metrics.ConnectionDropped.Inc()
			}
			return
		}
		r.received = r.srv.Clock.Now()
		if r.arriving != nil && !r.c.Session.Load().Touch(r.received) {
			r.c.Abort() // the client was silent for too long, as in account
		}
	}
}

// process handles every whole frame that has arrived. It returns false if the connection has ended.
func (r *reader) process() bool {
	defer r.passTurn()
	for {
		if r.ended {
			r.in.drop()
			return true
		}
		r.takeTurn()
		r.tally.begun = r.pace.began
		more, err := r.frames()
		accepted, submitted := r.submit()
		r.unlock()
		if submitted {
			r.srv.host.Came()
		}
		if !accepted {
			r.c.Abort()
		}
		r.account()
		r.c.flush()
		if err != nil {
			r.srv.Log.Warn("closing connection", zap.Stringer("client_addr", r.c.Remote), zap.Error(err))
			return false
		}
		if !more {
			return true
		}
		r.passTurn()
		r.pace.busy = true
		if !r.waitForRoom() {
			return false
		}
	}
}

// frames handles frames until no whole one is left. It returns more=true if the connection has to wait first, for
// its own output or for writes in flight.
func (r *reader) frames() (more bool, err error) {
	for {
		if r.arriving != nil {
			if done, more := r.setArriving(); !done {
				return more, nil
			}
			if r.handled() {
				return true, nil
			}
		}
		f, found, err := r.in.next(r.srv.Config.JuteMaxBuffer, r.c.Session.Load() != nil)
		switch {
		case err != nil || !found:
			return false, err
		case r.srv.throttled() || !r.mayAsk():
			return true, nil
		case f.long:
			if !r.beginWatches(&f) || r.ended {
				return true, nil
			}
			continue
		}
		if done, err := r.handle(&f.request); err != nil || !done {
			return true, err
		}
		r.in.skip(4 + f.size)
		if r.handled() {
			return true, nil
		}
	}
}

// handled counts a request, and reports whether the next one has to wait.
func (r *reader) handled() (enough bool) {
	r.tally.packets++
	late := r.pace.worked() && r.pace.overtime(r.srv.Clock.Now())
	return late || r.ended || r.overloaded()
}

// overloaded reports whether no more is read from the connection until some of its requests are answered. Source:
// server-semantics 6.4.
func (r *reader) overloaded() bool {
	return r.work != nil && int(r.srv.InProcess.Load())+len(r.work.Requests) > int(r.srv.OutstandingMax.Load())
}

// handle handles one request. It returns false, without any effect, if the request has to wait for room. An error
// ends the connection. createSession and deleteContainer belong to the server: from a client they are unknown.
func (r *reader) handle(q *request) (done bool, err error) {
	if q.op == proto.OpOutcomes && r.c.extensions&proto.ExtensionOutcomes != 0 {
		return r.outcomes(q)
	}
	if !r.mayAskFor(q) {
		return true, nil
	}
	switch op := q.op; {
	case op.IsWrite(), op == proto.OpSync: // a sync has its place in the order of all writes of all connections
		return r.write(q)
	case op.IsRead(), op == proto.OpPing:
		return r.read(q)
	case op == proto.OpAuth:
		r.lockQueue()
		if !r.c.mu.queue.acceptsRead() || r.c.pauses() {
			return false, nil
		}
		r.auth(q)
	case op == proto.OpSasl:
		if !r.alone() {
			return false, nil
		}
		r.sasl(q)
	default:
		r.last(appendHeaderReply(nil, q.xid, -1, proto.ErrUnimplemented))
	}
	return true, nil
}

// submit hands the writes taken so far to the host, and reports false if the host takes no more. The lock of the
// connection was held since write. So after Abort has returned, nothing of the connection is submitted any more,
// and a request that the client sends on its next connection is not overtaken. REQUIRES: Conn.mu if there are
// writes.
func (r *reader) submit() (accepted, submitted bool) {
	if r.work == nil {
		return true, false
	}
	w := r.work
	r.work = nil
	r.srv.InProcess.Add(int64(len(w.Requests)))
	return r.srv.host.Add(w), true
}

// waitForRoom waits until the client has taken enough of its output, and few enough requests are in flight. It
// returns false if the connection has ended.
func (r *reader) waitForRoom() bool {
	needs := r.needs
	r.needs = needRoom
	q := &r.c.mu.queue
	return r.wait(func() bool {
		switch {
		case r.c.pauses(), !q.acceptsRead(), needs == needReads && !q.acceptsWrite():
			r.srv.budget.Leave(r.c) // the write may have got its place there before
			return false
		case needs == needBudget:
			return r.srv.budget.Ready(r.c)
		case needs == needAlone && q.length() > 0:
			return false
		}
		return q.length() == 0 || int(r.srv.InProcess.Load()) <= int(r.srv.OutstandingMax.Load())
	}) && r.srv.waitThrottle() && r.waitDue()
}

// throttled reports whether no further request is taken from a socket, because too many requests are in the
// pipeline, or too many lines wait for the audit log. Source: server-semantics 6.3.
func (s *Front) throttled() bool {
	limit := s.Config.RequestThrottle.MaxRequests
	return limit > 0 && int(s.InProcess.Load()) >= limit || s.audit.Full()
}

// waitThrottle waits until requests are taken again. It returns false when the server stops.
func (s *Front) waitThrottle() bool {
	if !s.throttled() {
		return true
	}
	s.Metrics.ThrottleWaits.Inc()
	began := s.Clock.Now()
	defer func() { s.Metrics.ThrottleTime.Observe(figures.Ms(s.Clock.Now() - began)) }()
	for s.throttled() {
		if s.Stopping.WaitFor(max(s.Config.RequestThrottle.StallTime/10, time.Millisecond)) {
			return false
		}
	}
	return true
}
