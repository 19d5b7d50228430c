package peers

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// ledger is the Runtime of production, and counts the goroutines by name.
type ledger struct {
	sched.Runtime
	mu      sync.Mutex
	begun   map[string]int
	running int
}

func (l *ledger) Go(name string, fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[name]++
	l.running++
	l.Runtime.Go(name, func() {
		fn()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	})
}

// The Runtime of the configuration starts all goroutines, and Stop waits for them.
func TestGoroutinesOfTheRuntime(t *testing.T) {
	w := newWorld(t, 3, 3)
	books := map[proto.ServerID]*ledger{}
	start := func(id proto.ServerID) *host {
		books[id] = &ledger{Runtime: sched.OS(), begun: map[string]int{}}
		return w.start(id, func(cfg *Config) { cfg.Runtime = books[id] })
	}
	three, one := start(3), start(1)
	three.peers.SendElection(vote(1, 1))
	one.heard(3, 1)
	one.follow(three)
	one.stop()
	three.stop()
	require.Eventually(t, func() bool { // a goroutine ends a moment after Peers has counted it
		return !slices.ContainsFunc([]*ledger{books[1], books[3]}, func(l *ledger) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.running > 0
		})
	}, patience, time.Millisecond)
	for id, names := range map[proto.ServerID][]string{
		1: {"election acceptor", "election connection", "election writer", "peers dialer",
			"link reader", "link writer"},
		3: {"election channel", "election writer", "learner acceptor", "learner connection", "link writer"},
	} {
		for _, name := range names {
			require.Positive(t, books[id].begun[name], "%s of server %d", name, id)
		}
	}
}

// pipe returns the two ends of a connection. What a test reads from far must come soon.
func pipe(t *testing.T) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	require.NoError(t, far.SetDeadline(time.Now().Add(patience)))
	return near, far
}

// The first connection that stands is taken without waiting for other attempts. One that stands later is closed.
func TestFirstConnectionIsTaken(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	good := w.members[2].Quorum[0]
	w.members = slices.Clone(w.members)
	w.members[2].Quorum = []string{"192.0.2.1:1", good}
	stuck := make(chan struct{})
	release := sync.OnceFunc(func() { close(stuck) })
	near, far := pipe(t)
	follower := w.start(1, func(cfg *Config) {
		cfg.Timeouts.Stagger = 1
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "192.0.2.1:1" {
				<-stuck
				return near, nil
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	t.Cleanup(release) // before the server is stopped
	follower.follow(leader)
	release()
	requireEnd(t, far)
}

// An attempt ends by the clock of the Runtime, and its context tells the deadline.
func TestDeadlineOfAContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Peers{rt: sched.OS()}
		due := time.Now().Add(time.Second)
		ctx, cancel := p.withDeadline(t.Context(), due)
		defer cancel()
		got, ok := ctx.Deadline()
		require.True(t, ok)
		require.True(t, got.Equal(due))
		require.NoError(t, ctx.Err())
		<-ctx.Done()
		require.True(t, time.Now().Equal(due))
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)

		ctx, cancel = p.withDeadline(t.Context(), time.Now().Add(time.Second))
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.False(t, errors.Is(ctx.Err(), context.DeadlineExceeded))
	})
}

// slow is a host whose first call of Election waits.
type slow struct {
	*host
	once    sync.Once
	waits   chan struct{}
	proceed chan struct{}
}

func (s *slow) Election(m zab.Message) {
	s.once.Do(func() {
		close(s.waits)
		<-s.proceed
	})
	s.host.Election(m)
}

// While the handler waits in a call for an election connection, it is not called for the connection that replaces it;
// sending goes on.
func TestHandlerIsCalledForOneConnectionAtATime(t *testing.T) {
	w := newWorld(t, 3, 3)
	s := &slow{waits: make(chan struct{}), proceed: make(chan struct{})}
	proceed := sync.OnceFunc(func() { close(s.proceed) })
	one := w.start(1, func(cfg *Config) {
		s.host = cfg.Handler.(*host)
		cfg.Handler = s
	})
	t.Cleanup(proceed) // before the server is stopped
	first := w.greet(1, 3)
	must.Do(first.Write(appendElection(nil, vote(1, 1))))(t)
	<-s.waits
	second := w.greet(1, 3)
	requireEnd(t, first)
	one.peers.SendElection(vote(3, 2))
	requireRound(t, second, 2)
	one.mu.Lock()
	ups := len(one.up)
	one.mu.Unlock()
	require.Equal(t, 1, ups)
	proceed()
	one.wait("PeerUp of the second", func() bool { return len(one.up) == 2 })
	require.Len(t, one.elected, 1)
}

// A channel that is stopped keeps neither the connection that it had nor a new one.
func TestStoppedChannel(t *testing.T) {
	e := &election{p: &Peers{rt: sched.OS()}}
	c := newChannel(e, 3, nil)
	oldNear, oldFar := pipe(t)
	newNear, newFar := pipe(t)
	c.replace(oldNear)
	c.mu.stopped = true
	c.replace(newNear)
	requireEnd(t, oldFar)
	requireEnd(t, newFar)
	require.True(t, c.idle())
}

// A pause between two attempts ends when the other side asks for a connection, when that has happened since the pause
// before, and when the channel is stopped.
func TestPauseEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChannel(&election{p: &Peers{rt: sched.OS()}}, 3, []string{"127.0.0.1:1"})
		c.mu.dialing = true
		began := time.Now()
		require.False(t, c.rest(time.Second))
		require.Equal(t, time.Second, time.Since(began))
		began = time.Now()
		c.dial(true)
		require.True(t, c.rest(time.Second))
		for _, end := range []func(){func() { c.dial(true) }, c.stop} {
			rung := make(chan bool, 1)
			go func() { rung <- c.rest(time.Second) }()
			synctest.Wait()
			require.Empty(t, rung)
			end()
			require.True(t, <-rung)
		}
		require.Zero(t, time.Since(began))
	})
}

// The choice between strangers does not depend on the order of a map.
func TestForgetsTheSmallestStranger(t *testing.T) {
	for range 20 {
		e := &election{p: &Peers{rt: sched.OS()}}
		e.mu.strangers = map[proto.ServerID]*channel{}
		for _, id := range []proto.ServerID{8, 5, 9, 7} {
			e.mu.strangers[id] = newChannel(e, id, nil)
		}
		e.mu.strangers[5].mu.dialing = true
		require.True(t, e.forgetOne())
		require.Nil(t, e.mu.strangers[7])
		require.Len(t, e.mu.strangers, 3)
	}
}

// layer is a connection on top of another one, as that of TLS is. Its Close may wait.
type layer struct {
	net.Conn
	closed *atomic.Bool
}

func (l layer) NetConn() net.Conn { return l.Conn }

func (l layer) Close() error {
	l.closed.Store(true)
	return l.Conn.Close()
}

// To abort a link never waits, so it closes the socket below all layers.
func TestAbortDoesNotWaitForALayer(t *testing.T) {
	w := newWorld(t, 3, 3)
	leader := w.start(3)
	var closed atomic.Bool
	follower := w.start(1, func(cfg *Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, address)
			return layer{nc, &closed}, err
		}
	})
	mine, its := follower.follow(leader)
	mine.Abort()
	follower.waitClosed(mine.ID)
	leader.waitClosed(its.ID)
	require.False(t, closed.Load())
}
