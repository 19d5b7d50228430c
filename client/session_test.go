package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// states follows the states of a client; the returned function waits for the next one.
func states(t *testing.T, c *Client) func() StateChange {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ch := make(chan StateChange)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for st := range c.States(ctx) {
			select {
			case ch <- st:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() StateChange {
		select {
		case st := <-ch:
			return st
		case <-time.After(time.Minute):
			t.Fatal("no change of state")
			return StateChange{}
		}
	}
}

// until skips states up to the wanted one.
func until(t *testing.T, next func() StateChange, want State) StateChange {
	t.Helper()
	for {
		if st := next(); st.State == want {
			return st
		}
	}
}

func TestSessionSurvivesConnection(t *testing.T) {
	f, c := faked(t)
	turn := states(t, c)
	id, _ := c.Session()
	require.Equal(t, Connected, turn().State)
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/e", nil, Ephemeral))(t)
	for range 3 {
		f.cutAll()
		require.Equal(t, Disconnected, turn().State)
		st := turn()
		require.Equal(t, Connected, st.State)
		require.Equal(t, id, st.SessionID)
	}
	_, exists := require.Do2(c.Exists(ctx, "/e"))(t)
	require.True(t, exists)
	require.NoError(t, c.Close())
	require.Equal(t, Closed, until(t, turn, Closed).State)
	require.ErrorIs(t, require.Err2(c.Get(ctx, "/e")), ErrClosed)
	f.with(func() { require.NotContains(t, f.tree, "/e") })
}

func TestExpiryIsFinal(t *testing.T) {
	f, c := faked(t)
	turn := states(t, c)
	ctx := within(t, time.Minute)
	_, exists, w, err := c.ExistsW(ctx, "/x")
	require.NoError(t, err)
	require.False(t, exists)
	p := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
	f.expireAll()
	require.ErrorIs(t, until(t, turn, Expired).Err, ErrSessionExpired)
	require.ErrorIs(t, c.WaitConnected(ctx), ErrSessionExpired)
	_, _, err = c.Get(ctx, "/")
	require.ErrorIs(t, err, ErrSessionExpired)
	require.False(t, MayHaveApplied(err))
	for _, w := range []*Watch{w, p} {
		e := next(t, w)
		require.Equal(t, WatchLost, e.Type)
		require.ErrorIs(t, e.Err, ErrSessionExpired)
		_, ok := w.Next(ctx)
		require.False(t, ok)
		require.ErrorIs(t, w.Err(), ErrSessionExpired)
	}
}

func TestRenewalRebuildsEphemerals(t *testing.T) {
	f := newFake(t)
	rebuilt := make(chan error, 1)
	c := dial(t, f.addr(), WithRenewal(func(ctx context.Context, c *Client) error {
		_, err := c.Create(ctx, "/e", nil, Ephemeral)
		rebuilt <- err
		return err
	}))
	turn := states(t, c)
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/e", nil, Ephemeral))(t)
	p := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
	held, cancel := c.WhileHeld(ctx)
	defer cancel()
	before, _ := c.Session()
	f.expireAll()
	until(t, turn, Expired)
	require.NotEqual(t, before, until(t, turn, Connected).SessionID)
	require.NoError(t, <-rebuilt)
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), ErrSessionExpired)
	// The watch shows the gap, and lives on in the new session. (Whether it saw the expiry depends on the
	// timing.)
	types := []EventType{}
	for e := range p.All(ctx) {
		types = append(types, e.Type)
		if e.Type == NodeCreated {
			break
		}
	}
	lost, armed := slices.Index(types, WatchLost), slices.Index(types, WatchRearmed)
	require.True(t, 0 <= lost && lost < armed, "events %v", types)
}

// A client that has nothing to rebuild goes on under a new session all the same, with its persistent watches.
func TestRenewalWithoutRebuilding(t *testing.T) {
	f, c := faked(t, WithRenewal(nil))
	turn := states(t, c)
	ctx := within(t, time.Minute)
	w := require.Do(c.Watch(ctx, "/", WatchSubtree))(t)
	for range 3 {
		before, _ := c.Session()
		f.expireAll()
		require.ErrorIs(t, until(t, turn, Expired).Err, ErrSessionExpired)
		require.NotEqual(t, before, until(t, turn, Connected).SessionID)
		require.NoError(t, Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
	}
	require.Do(c.Create(ctx, "/n", nil, Ephemeral))(t)
	for e := range w.All(ctx) {
		if e.Type == NodeCreated {
			break
		}
	}
	require.NoError(t, ctx.Err())
}

func TestCallsInFlightSayWhatMayHaveHappened(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	cut := func(op proto.OpCode) {
		f.with(func() { f.onRequest = func(got proto.OpCode, _ int) bool { return got != op } })
	}
	cut(proto.OpSetData)
	_, err := c.Set(ctx, "/", nil, AnyVersion)
	require.ErrorIs(t, err, ErrConnectionLoss)
	require.True(t, MayHaveApplied(err))
	require.False(t, SafeToRetry(err))
	require.Equal(t, 1, strings.Count(err.Error(), "applied"), err)
	require.ErrorContains(t, err, "(may have been applied)")

	cut(proto.OpGetData)
	_, _, err = c.Get(ctx, "/")
	require.ErrorIs(t, err, ErrConnectionLoss)
	require.False(t, MayHaveApplied(err))
	require.True(t, SafeToRetry(err))
	require.NotContains(t, err.Error(), "applied")

	// Retry gets over it.
	var cuts atomic.Int32
	f.with(func() {
		f.onRequest = func(op proto.OpCode, _ int) bool { return op != proto.OpGetData || cuts.Add(1) > 3 }
	})
	require.NoError(t, Retry(ctx, func(ctx context.Context) error {
		_, _, err := c.Get(ctx, "/")
		return err
	}))
	require.EqualValues(t, 4, cuts.Load())
}

func TestCancelledCallLeavesOrder(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/a", []byte("a"), Persistent))(t)
	f.mu.Lock() // the server does not answer
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, require.Err2(c.Get(short, "/")), context.DeadlineExceeded)
	require.ErrorIs(t, require.Err(c.Set(short, "/", nil, AnyVersion)), context.DeadlineExceeded)
	f.mu.Unlock()
	data, _ := require.Do2(c.Get(ctx, "/a"))(t)
	require.Equal(t, "a", string(data))
}

func TestOutstandingIsBounded(t *testing.T) {
	f, c := faked(t, WithMaxOutstanding(4))
	ctx := within(t, time.Minute)
	f.mu.Lock()
	var first []Future[NodeData]
	for range 4 {
		first = append(first, c.Async().Get(ctx, "/"))
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err := c.Async().Get(short, "/").Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, MayHaveApplied(err))
	f.mu.Unlock()
	for range 100 {
		first = append(first, c.Async().Get(ctx, "/"))
	}
	for _, fu := range first {
		require.Do(fu.Wait(ctx))(t)
	}
}

func TestLargeRequestIsRefusedHere(t *testing.T) {
	f, c := faked(t, WithMaxRequest(2048))
	ctx := within(t, time.Minute)
	_, err := c.Set(ctx, "/", make([]byte, 3000), AnyVersion)
	require.ErrorIs(t, err, ErrTooLarge)
	require.False(t, MayHaveApplied(err))
	require.ErrorIs(t, c.AddAuth(ctx, "digest", make([]byte, 3000)), ErrTooLarge)
	require.Do2(c.Get(ctx, "/"))(t)
	f.with(func() { require.Equal(t, 0, f.auths) })
}

// As every operation, AddAuth sends nothing if its context has ended before.
func TestIdentityIsNotAddedAfterTheEndOfAContext(t *testing.T) {
	f, c := faked(t)
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	cancel()
	require.ErrorIs(t, c.AddAuth(ctx, "digest", []byte("a:b")), context.Canceled)
	require.NoError(t, c.Sync(within(t, time.Minute), "/"))
	f.with(func() { require.Equal(t, 0, f.auths) })
}

func TestBadCredentialsAreFinal(t *testing.T) {
	f := newFake(t)
	f.badScheme = "bad"
	c := require.Do(New(f.addr(), WithAuth("bad", []byte("x"))))(t)
	defer c.Close()
	until(t, states(t, c), AuthFailed)
	require.ErrorIs(t, require.Err2(c.Get(within(t, time.Minute), "/")), ErrAuthFailed)
}

// Credentials that no server takes are as final as refused ones.
func TestCredentialsTooLargeAreFinal(t *testing.T) {
	c := require.Do(New(newFake(t).addr(), WithAuth("digest", make([]byte, 3000)), WithMaxRequest(2048)))(t)
	defer c.Close()
	require.ErrorIs(t, until(t, states(t, c), AuthFailed).Err, ErrTooLarge)
}

func TestReadOnlySessionMovesToQuorum(t *testing.T) {
	ro, rw := newFake(t), newFake(t)
	ro.isReadOnly = true
	rw.zxid = 100
	hidden := rw.addr()
	_ = rw.listener.Close() // no server with quorum yet
	c := dial(t, ro.addr()+","+hidden, WithReadOnly())
	turn := states(t, c)
	require.Equal(t, ConnectedReadOnly, turn().State)
	ctx := within(t, time.Minute)
	require.ErrorIs(t, require.Err(c.Set(ctx, "/", nil, AnyVersion)), ErrNotReadOnly)
	w := armed(c.GetW(ctx, "/"))(t)
	rw.listen(hidden)
	require.Equal(t, hidden, until(t, turn, Connected).Server)
	require.Do(c.Set(ctx, "/", nil, AnyVersion))(t)
	require.Equal(t, NodeDataChanged, next(t, w).Type)
}

// A client that was detached before a server with quorum has seen it has no session to resume.
func TestResumeWithoutASession(t *testing.T) {
	f := newFake(t)
	f.isReadOnly = true
	r := dial(t, f.addr(), WithReadOnly()).Detach()
	require.Equal(t, SessionID(0), r.SessionID)
	c := dial(t, f.addr(), WithReadOnly(), WithResume(r))
	turn := states(t, c)
	until(t, turn, ConnectedReadOnly)
	f.with(func() { f.isReadOnly = false })
	f.expireAll()
	until(t, turn, Connected)
}

func TestDetachedSessionIsResumed(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/e", nil, Ephemeral))(t)
	r := c.Detach()
	d := dial(t, f.addr(), WithResume(r))
	id, _ := d.Session()
	require.Equal(t, r.SessionID, id)
	_, exists := require.Do2(d.Exists(ctx, "/e"))(t)
	require.True(t, exists)
}

func TestLostComesBeforeTheVerdict(t *testing.T) {
	f, c := faked(t, WithSessionTimeout(time.Second), WithBackoff(time.Millisecond, 5*time.Millisecond))
	turn := states(t, c)
	addr := f.addr()
	held, cancel := c.WhileConnected(t.Context())
	defer cancel()
	_ = f.listener.Close()
	f.cutAll()
	until(t, turn, Disconnected)
	<-held.Done()
	require.True(t,
		errors.Is(context.Cause(held), ErrConnectionLoss) || errors.Is(context.Cause(held), ErrSessionExpired))
	require.Equal(t, Lost, turn().State)
	f.listen(addr)
	require.Equal(t, Connected, turn().State) // no server had declared it expired
}

func TestHeartbeatKeepsConnection(t *testing.T) {
	f := newFake(t)
	// A third of it is between a ping that is due and the end.
	c := dial(t, f.addr(), WithSessionTimeout(6*time.Second))
	pings := make(chan struct{}, 100)
	f.with(func() {
		f.onRequest = func(op proto.OpCode, _ int) bool {
			if op == proto.OpPing {
				pings <- struct{}{}
			}
			return true
		}
	})
	for range 2 {
		<-pings
	}
	require.Equal(t, Connected, c.State().State)
	f.with(func() { require.Equal(t, 1, f.accepted) })
}

// What is held ends with the client, and its cause says why the client has ended.
func TestHeldEndsWithTheClient(t *testing.T) {
	_, c := faked(t)
	held, cancel := c.WhileHeld(t.Context())
	defer cancel()
	connected, cancelToo := c.WhileConnected(t.Context())
	defer cancelToo()
	require.NoError(t, c.Close())
	for _, ctx := range []context.Context{held, connected} {
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrClosed)
	}
}

// The renewal of a session that a server without quorum has made ends when the client moves to another server, which
// makes a new session.
func TestRenewalEndsWithItsReadOnlySession(t *testing.T) {
	f := newFake(t)
	renewals := make(chan context.Context, 2)
	c := dial(t, f.addr(), WithReadOnly(), WithBackoff(0, 0), WithRenewal(func(ctx context.Context, _ *Client) error {
		renewals <- ctx
		<-ctx.Done()
		return nil
	}))
	turn := states(t, c)
	f.with(func() { f.isReadOnly = true })
	f.expireAll()
	until(t, turn, ConnectedReadOnly)
	first := <-renewals
	f.with(func() { f.isReadOnly = false })
	until(t, turn, Connected)
	second := <-renewals
	<-first.Done()
	require.NoError(t, second.Err())
}

// asked is a context that tells when an operation waits.
type asked struct {
	context.Context
	isAsked chan struct{}
}

// Done implements context.Context.
func (a asked) Done() <-chan struct{} {
	select {
	case a.isAsked <- struct{}{}:
	default:
	}
	return a.Context.Done()
}

// An operation that begins when the session has expired is one of the next session: it is the answer of many programs
// to the event that says so.
func TestOperationsAfterExpiryAreOfTheNextSession(t *testing.T) {
	f := newFake(t)
	ctx := asked{within(t, time.Minute), make(chan struct{}, 1)}
	expired, waits := make(chan struct{}), make(chan struct{})
	c := dial(t, f.addr(), WithRenewal(nil), WithHooks(Hooks{State: func(st StateChange) {
		if st.State == Expired {
			close(expired)
			<-waits
		}
	}}))
	f.expireAll()
	<-expired
	go func() {
		<-ctx.isAsked
		close(waits)
	}()
	require.Do2(c.Get(ctx, "/"))(t)
}
