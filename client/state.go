package client

import (
	"context"
	"iter"
	"time"
)

// StateChange is the state of the session from a moment on.
type StateChange struct {
	State     State
	SessionID SessionID     // 0 before the first connection
	Timeout   time.Duration // negotiated session timeout
	Server    string        // address of the server, "" without one
	At        time.Time     // when it began
	Err       error         // the reason of a state that is a failure
}

// standing is the state for operations from one StateChange to the next. Standings form a list, so that a
// follower misses none, however slow it is; only followers keep old ones alive.
type standing struct {
	StateChange
	session int           // how many sessions the client has had
	conn    *conn         // nil unless connected
	contact *contact      // of the last connection; nil before the first one
	final   error         // why there is no further standing
	changed chan struct{} // closed when next is set
	next    *standing
}

// standings ranges over the standings, from the current one, until the last one or the end of ctx. It skips none.
func (s *session) standings(ctx context.Context) iter.Seq[*standing] {
	return func(yield func(*standing) bool) {
		st := s.now.Load()
		for yield(st) && st.final == nil {
			select {
			case <-st.changed:
				st = st.next
			case <-ctx.Done():
				return
			}
		}
	}
}

// State returns the current state of the session.
func (c *Client) State() StateChange { return c.s.now.Load().StateChange }

// States ranges over the states of the session, from the current one, until the last one or the end of ctx. It
// skips none.
func (c *Client) States(ctx context.Context) iter.Seq[StateChange] {
	return func(yield func(StateChange) bool) {
		for st := range c.s.standings(ctx) {
			if !yield(st.StateChange) {
				return
			}
		}
	}
}

// WaitConnected waits until the session is served. It returns the error of ctx, or the reason why the session
// will never be served.
func (c *Client) WaitConnected(ctx context.Context) error {
	for st := range c.s.standings(ctx) {
		if st.State.IsConnected() || st.final != nil {
			return st.final
		}
	}
	return ctx.Err()
}

// WhileHeld returns a context that ends when the session may have lost its ephemerals: when the session timeout has
// passed since a request was written that a server has answered, or earlier if the session ends. Its cause is the
// session's error. The caller must call cancel. Recipes that grant exclusive access pass this context, or that of
// WhileConnected, to the holder.
//
// Err and Done of this context look at the clock: if the process was stopped for too long, or on Linux if the machine
// was suspended, the first call afterwards tells. A context that is derived from it ends a moment later.
//
// A server that is cut off from the others may answer for a while, in which they expire the session. The context may
// then end too late, by about as long as the server has answered; see WhileConnected.
func (c *Client) WhileHeld(ctx context.Context) (held context.Context, cancel context.CancelFunc) {
	return c.tie(ctx, false)
}

// WhileConnected is WhileHeld, but the context ends at once when the connection is lost, too, with ErrConnectionLoss.
//
// It ends in time even if the server is cut off from the others, as long as the session timeout is long enough. Warren
// disconnects its clients after two ticks, or a third of syncLimit ticks if that is longer: the timeout must be longer
// than twice that. ZooKeeper does so after syncLimit ticks, and the timeout must be longer than one and a half times
// syncLimit+1 ticks.
func (c *Client) WhileConnected(ctx context.Context) (held context.Context, cancel context.CancelFunc) {
	return c.tie(ctx, true)
}

// tie returns a context that ends with the session, or with the connection.
func (c *Client) tie(ctx context.Context, toConnection bool) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	h := &held{ctx, end, c.s, c.s.now.Load().session, toConnection}
	go h.follow()
	return h, func() { end(context.Canceled) }
}

// held is the context of a session. A process that was stopped for longer than the session timeout may go on in the
// holder's goroutine, before any timer or any other goroutine. So Err and Done look at the clock themselves.
type held struct {
	context.Context
	end          context.CancelCauseFunc
	s            *session
	session      int
	toConnection bool
}

// Err implements context.Context.
func (h *held) Err() error {
	h.look()
	return h.Context.Err()
}

// Done implements context.Context.
func (h *held) Done() <-chan struct{} {
	h.look()
	return h.Context.Done()
}

// look ends the context if the session, or the connection, may be lost by now.
func (h *held) look() {
	st := h.s.now.Load()
	h.see(st)
	if st.contact != nil && st.contact.silence() >= st.Timeout { // no server is certain to have heard of the session
		h.end(ErrSessionExpired)
	}
}

// see ends the context if a standing says that the session, or the connection, may be lost.
func (h *held) see(st *standing) {
	switch {
	case st.final != nil:
		h.end(st.final)
	case st.session != h.session, st.State == Expired, st.State == Lost:
		h.end(ErrSessionExpired)
	case h.toConnection && st.State == Disconnected:
		h.end(ErrConnectionLoss)
	}
}

// follow ends the context when its session may be lost.
func (h *held) follow() {
	for st := range h.s.standings(h.Context) {
		h.see(st)
	}
}
