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
	final   error         // why there is no further standing
	changed chan struct{} // closed when next is set
	next    *standing
}

// State returns the current state of the session.
func (c *Client) State() StateChange { return c.s.now.Load().StateChange }

// States ranges over the states of the session, from the current one, until the last one or the end of ctx. It
// skips none.
func (c *Client) States(ctx context.Context) iter.Seq[StateChange] {
	return func(yield func(StateChange) bool) {
		st := c.s.now.Load()
		for yield(st.StateChange) && st.final == nil {
			select {
			case <-st.changed:
				st = st.next
			case <-ctx.Done():
				return
			}
		}
	}
}

// WaitConnected waits until the session is served. It returns the error of ctx, or the reason why the session
// will never be served.
func (c *Client) WaitConnected(ctx context.Context) error {
	st := c.s.now.Load()
	for !st.State.IsConnected() {
		if st.final != nil {
			return st.final
		}
		select {
		case <-st.changed:
			st = st.next
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// WhileHeld returns a context that ends when the session may have lost its ephemerals: when the session timeout has
// passed since a request was written that a server has answered, or earlier if the session ends. Its cause is the
// session's error. The caller must call cancel. Recipes that grant exclusive access pass this context, or that of
// WhileConnected, to the holder.
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
func (c *Client) tie(ctx context.Context, toConnection bool) (held context.Context, cancel context.CancelFunc) {
	held, end := context.WithCancelCause(ctx)
	session := c.s.now.Load().session
	go c.follow(held, end, session, toConnection)
	return held, func() { end(context.Canceled) }
}

// follow ends a held context when its session may be lost.
func (c *Client) follow(held context.Context, end context.CancelCauseFunc, session int, toConnection bool) {
	for st := c.s.now.Load(); ; st = st.next {
		switch {
		case st.session != session, st.State == Expired, st.final != nil, st.State == Lost:
			end(ErrSessionExpired)
			return
		case toConnection && st.State == Disconnected:
			end(ErrConnectionLoss)
			return
		}
		select {
		case <-held.Done():
			return
		case <-st.changed:
		}
	}
}
