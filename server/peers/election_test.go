package peers

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// rounds returns the rounds of the notifications heard from a server, in order.
func (h *host) rounds(from proto.ServerID) (rounds []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.elected {
		if m.From == from && m.Type == zab.Notification {
			rounds = append(rounds, m.Round)
		}
	}
	return rounds
}

// greet opens an election connection to a server as another server does.
func (w *world) greet(to, as proto.ServerID) net.Conn {
	w.t.Helper()
	nc := w.connect(w.member(to).Election[0])
	must.Do(nc.Write(appendGreeting(nil, as, []string{"127.0.0.1:1"})))(w.t)
	return nc
}

// requireEnd checks that the other side closes the connection without saying anything.
func requireEnd(t *testing.T, nc net.Conn) {
	t.Helper()
	n, err := nc.Read(make([]byte, 1))
	require.Zero(t, n)
	require.Error(t, err)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the connection stays open")
}

// requireRound reads frames until the notification of a round.
func requireRound(t *testing.T, nc net.Conn, round int64) {
	t.Helper()
	want := appendElection(nil, vote(0, round))
	got := make([]byte, len(want))
	must.Do(io.ReadFull(nc, got))(t)
	require.Equal(t, want, got)
}

// Whichever server speaks first, there is one connection, opened by the larger id.
func TestElectionInBothDirections(t *testing.T) {
	for _, first := range []proto.ServerID{1, 3} {
		w := newWorld(t, 3, 3)
		hosts := map[proto.ServerID]*host{1: w.start(1), 3: w.start(3)}
		second := 4 - first
		hosts[first].peers.SendElection(vote(second, 1))
		hosts[second].heard(first, 1)
		hosts[second].peers.SendElection(vote(first, 2))
		hosts[first].heard(second, 2)
		hosts[first].wait("PeerUp", func() bool { return len(hosts[first].up) == 1 && hosts[first].up[0] == second })
		hosts[second].wait("PeerUp", func() bool { return len(hosts[second].up) == 1 && hosts[second].up[0] == first })
		m := hosts[second].elected[0]
		want := *vote(second, 1)
		want.From = first
		require.Equal(t, want, m)
	}
}

func TestElectionMesh(t *testing.T) {
	w := newWorld(t, 3, 5)
	for id := range proto.ServerID(5) {
		w.start(id + 1)
	}
	for round := range int64(20) {
		for from, h := range w.hosts {
			for to := range w.hosts {
				if to != from {
					h.peers.SendElection(vote(to, round))
				}
			}
		}
		for _, h := range w.hosts {
			for from := range w.hosts {
				if from != h.peers.cfg.ID {
					h.heard(from, round)
				}
			}
		}
	}
}

// Until it can be sent, only the newest notification is kept; probes are kept beside it.
func TestNewestIsSent(t *testing.T) {
	w := newWorld(t, 3, 3)
	one := w.start(1)
	for round := range int64(5) {
		one.peers.SendElection(vote(3, round))
		one.peers.SendElection(&zab.Message{Type: zab.Probe, To: 3, Nonce: uint64(round)})
		one.peers.SendElection(&zab.Message{Type: zab.ProbeReply, To: 3, Nonce: uint64(round)})
	}
	three := w.start(3)
	three.heard(1, 4)
	three.wait("probes", func() bool { return len(three.elected) == 3 })
	require.Equal(t, zab.Message{Type: zab.Probe, From: 1, To: 3, Nonce: 4}, three.elected[1])
	require.Equal(t, zab.Message{Type: zab.ProbeReply, From: 1, To: 3, Nonce: 4}, three.elected[2])
}

// What has waited too long for a connection is not sent on it: the core is told that the peer is there, and says what
// holds now.
func TestStaleIsNotSent(t *testing.T) {
	w := newWorld(t, 3, 3)
	one := w.start(1, func(cfg *Config) { cfg.Timeouts.Stale = time.Nanosecond })
	one.peers.SendElection(vote(3, 1))
	three := w.start(3)
	one.wait("PeerUp", func() bool { return len(one.up) == 1 })
	one.peers.SendElection(vote(3, 2))
	three.heard(1, 2)
	require.Equal(t, []int64{2}, three.rounds(1))
}

// cutter remembers the connections that are dialled.
type cutter struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) configure(cfg *Config) {
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			c.mu.Lock()
			c.conns = append(c.conns, nc)
			c.mu.Unlock()
		}
		return nc, err
	}
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, nc := range c.conns {
		nc.Close()
	}
	c.conns = nil
}

// Connections break again and again: what is sent afterwards arrives, and nothing older after it.
func TestReconnect(t *testing.T) {
	w := newWorld(t, 3, 3)
	var c cutter
	one, three := w.start(1, c.configure), w.start(3, c.configure)
	for round := range int64(30) {
		from, to := one, three
		if round%2 == 1 {
			from, to = three, one
		}
		from.peers.SendElection(vote(to.peers.cfg.ID, round))
		require.Eventually(t, func() bool {
			if to.hasHeard(from.peers.cfg.ID, round) {
				return true
			}
			from.peers.SendElection(vote(to.peers.cfg.ID, round)) // a cut may have swallowed it
			return false
		}, patience, 10*time.Millisecond, "round %d", round)
		if round%3 == 0 {
			c.cut()
		}
	}
	last := int64(-1)
	for _, round := range three.rounds(1) {
		require.GreaterOrEqual(t, round, last, "an old message is repeated: %v", three.rounds(1))
		last = round
	}
}

func (h *host) hasHeard(from proto.ServerID, round int64) bool {
	for _, r := range h.rounds(from) {
		if r == round {
			return true
		}
	}
	return false
}

// A server with a larger id keeps the connection that it opens; the newest one counts.
func TestLargerOpensTheConnection(t *testing.T) {
	w := newWorld(t, 3, 3)
	one := w.start(1)
	first := w.greet(1, 3)
	one.wait("PeerUp", func() bool { return len(one.up) == 1 })
	one.peers.SendElection(vote(3, 1))
	requireRound(t, first, 1)
	second := w.greet(1, 3)
	one.wait("PeerUp", func() bool { return len(one.up) == 2 })
	requireEnd(t, first)
	one.peers.SendElection(vote(3, 2))
	requireRound(t, second, 2)
	must.Do(second.Write(appendElection(nil, vote(1, 7))))(t)
	one.heard(3, 7)
}

// A server with a smaller id that asks although there is a channel with it may be another one with its id. The channel
// is made anew with the member in any case.
func TestSmallerAsksAnew(t *testing.T) {
	w := newWorld(t, 3, 3)
	three, one := w.start(3), w.start(1)
	for round := int64(1); ; round++ {
		require.Eventually(t, func() bool { // what is sent while the channel is made anew may be lost
			one.peers.SendElection(vote(3, round))
			return three.hasHeard(1, round)
		}, patience, time.Millisecond)
		three.mu.Lock()
		asked := slices.Clone(three.asked)
		three.mu.Unlock()
		if len(asked) > 0 {
			require.Equal(t, "1 [127.0.0.1:1]", asked[0])
			return
		}
		requireEnd(t, w.greetFrom(3, 1, "127.0.0.1:1"))
	}
}

// A server with a smaller id asks, and is called back at the address that is configured.
func TestSmallerIsCalledBack(t *testing.T) {
	w := newWorld(t, 3, 3)
	three := w.start(3, func(cfg *Config) { cfg.Timeouts.CallBack = time.Nanosecond })
	asking := w.greet(3, 1)
	requireEnd(t, asking)
	nc := must.Do(w.ports[w.member(1).Election[0]].Accept())(t)
	defer nc.Close()
	id, _ := must.Do2(readGreeting(nc))(t)
	require.Equal(t, proto.ServerID(3), id)
	three.peers.SendElection(vote(1, 1))
	requireRound(t, nc, 1)

	// To ask again means that it has lost the connection.
	requireEnd(t, w.greet(3, 1))
	requireEnd(t, nc)
	again := must.Do(w.ports[w.member(1).Election[0]].Accept())(t)
	again.Close()
}

// A question that has crossed the connection which it asks for does not end it.
func TestQuestionCrossesTheCall(t *testing.T) {
	w := newWorld(t, 3, 3)
	three := w.start(3, func(cfg *Config) { cfg.Timeouts.CallBack = time.Hour })
	three.peers.SendElection(vote(1, 1))
	nc := must.Do(w.ports[w.member(1).Election[0]].Accept())(t)
	defer nc.Close()
	must.Do2(readGreeting(nc))(t)
	requireRound(t, nc, 1)
	requireEnd(t, w.greet(3, 1))
	three.peers.SendElection(vote(1, 2))
	requireRound(t, nc, 2)
	three.wait("PeerUp", func() bool { return len(three.up) == 1 })
}

// A server with a larger id is asked, and not again before it could call back.
func TestLargerIsAsked(t *testing.T) {
	w := newWorld(t, 3, 3)
	one := w.start(1)
	began := time.Now()
	one.peers.SendElection(vote(3, 5))
	ln := w.ports[w.member(3).Election[0]]
	for range 2 {
		nc := must.Do(ln.Accept())(t)
		id, _ := must.Do2(readGreeting(nc))(t)
		require.Equal(t, proto.ServerID(1), id)
		requireEnd(t, nc)
		nc.Close()
	}
	require.GreaterOrEqual(t, time.Since(began), one.peers.cfg.Timeouts.CallBack)
	nc := w.greet(1, 3)
	requireRound(t, nc, 5)
}

// A connection with an id that no other server can have is closed, and disturbs no member.
func TestImpossibleIDs(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2)
	for _, id := range []proto.ServerID{2, -1, -5} {
		requireEnd(t, w.greet(2, id))
	}
	require.EqualValues(t, 3, two.peers.Stats().Refused)
	require.Empty(t, two.up)
	two.peers.SendElection(vote(9, 1))
	two.peers.SendElection(vote(-9, 1))
	two.peers.SendElection(vote(2, 1))
	require.EqualValues(t, 3, two.peers.Stats().Unknown)
}

// Observers without an id get numbers below 0, as many as are allowed.
func TestAnonymousObservers(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2, func(cfg *Config) { cfg.Limits.AnonymousMax = 2 })
	first := w.greet(2, anonymousID)
	two.wait("first", func() bool { return len(two.up) == 1 && two.up[0] == -1 })
	second := w.greet(2, anonymousID)
	two.wait("second", func() bool { return len(two.up) == 2 && two.up[1] == -2 })
	requireEnd(t, w.greet(2, anonymousID))
	two.peers.SendElection(vote(-1, 1))
	two.peers.SendElection(vote(-2, 2))
	requireRound(t, first, 1)
	requireRound(t, second, 2)
	must.Do(first.Write(appendElection(nil, vote(2, 3))))(t)
	two.heard(-1, 3)
	first.Close()
	require.Eventually(t, func() bool { return two.peers.election.find(-1) == nil }, patience, time.Millisecond)
	w.greet(2, anonymousID)
	two.wait("third", func() bool { return len(two.up) == 3 && two.up[2] == -3 })
}

// A peer that cannot be reached costs the others no time; one attempt is made at a time, each after a longer pause.
func TestUnreachable(t *testing.T) {
	w := newWorld(t, 3, 3)
	var mu sync.Mutex
	var attempts []time.Time
	var running atomic.Int32
	one := w.start(1, func(cfg *Config) {
		cfg.Timeouts.CallBack = time.Microsecond
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			if running.Add(1) > 1 {
				t.Error("two attempts at the same time")
			}
			defer running.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			attempts = append(attempts, time.Now())
			return nil, errors.New("nobody is there")
		}
	})
	begin := time.Now()
	one.peers.SendElection(vote(3, 0))
	require.Eventually(t, func() bool {
		one.peers.SendElection(vote(3, 1))
		mu.Lock()
		defer mu.Unlock()
		return len(attempts) >= 10
	}, patience, time.Millisecond)
	timeouts := one.peers.cfg.Timeouts
	pause := timeouts.RedialMin
	mu.Lock()
	defer mu.Unlock()
	total := time.Duration(0)
	for i := 1; i < len(attempts); i++ {
		total += pause
		require.GreaterOrEqual(t, attempts[i].Sub(begin), total, "attempt %d", i)
		pause = min(2*pause, timeouts.RedialMax)
	}
	require.NotZero(t, one.peers.Stats().DialFailures)
}

// Frames that say nothing are dropped, frames that are none end the connection.
func TestElectionFrames(t *testing.T) {
	w := newWorld(t, 3, 3)
	one := w.start(1)
	nc := w.greet(1, 3)
	send := func(b ...byte) {
		must.Do(nc.Write(append(proto.AppendInt32(nil, int32(len(b))), b...)))(t)
	}
	send(1)
	send(make([]byte, 27)...)
	send(make([]byte, 36)...)
	send(make([]byte, frameMax)...) // version 0: a vote
	must.Do(nc.Write(appendElection(nil, vote(1, 9))))(t)
	one.heard(3, 9)
	require.Len(t, one.elected, 2)
	for _, length := range []int32{0, -1, frameMax + 1, 0x7fffffff} {
		nc = w.greet(1, 3)
		must.Do(nc.Write(proto.AppendInt32(nil, length)))(t)
		requireEnd(t, nc)
	}
}

// What was sent may be lost with its connection: then there is a new one, so that the core can repeat it. Not so if
// the peer has answered.
func TestWhatMayBeLost(t *testing.T) {
	w := newWorld(t, 3, 3)
	three := w.start(3)
	three.peers.SendElection(vote(1, 1))
	ln := w.ports[w.member(1).Election[0]]
	for i := range 3 {
		nc := must.Do(ln.Accept())(t)
		must.Do2(readGreeting(nc))(t)
		three.wait("PeerUp", func() bool { return len(three.up) == i+1 })
		if i > 0 {
			three.peers.SendElection(vote(1, 1))
		}
		requireRound(t, nc, 1)
		if i == 2 {
			must.Do(nc.Write(appendElection(nil, vote(3, 2))))(t)
			three.heard(1, 2)
		}
		nc.Close()
	}
	c := three.peers.election.find(1)
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.mu.conn == nil
	}, patience, time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.False(t, c.mu.dialing)
	require.False(t, c.wanted())
}

// A peer that accepts connections and ends them at once is not called in a tight loop.
func TestPeerThatHangsUp(t *testing.T) {
	w := newWorld(t, 3, 3)
	three := w.start(3, func(cfg *Config) {
		cfg.Timeouts.RedialMin, cfg.Timeouts.RedialMax = 5*time.Millisecond, 40*time.Millisecond
	})
	ln := w.ports[w.member(1).Election[0]]
	begin := time.Now()
	done := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			three.peers.SendElection(vote(1, 1))
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	for range 8 {
		nc := must.Do(ln.Accept())(t)
		nc.Close()
	}
	close(done)
	sending.Wait()
	require.GreaterOrEqual(t, time.Since(begin), 195*time.Millisecond, "5+10+20+40+40+40+40 ms")
}
