package peers

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// open is the configuration of a server of an ensemble that can be changed.
func open(cfg *Config) { cfg.Changes = true }

// greetFrom opens an election connection to a server as one that can be reached at addresses.
func (w *world) greetFrom(to, as proto.ServerID, addresses ...string) net.Conn {
	w.t.Helper()
	nc := w.connect(w.member(to).Election[0])
	must.Do(nc.Write(appendGreeting(nil, as, addresses)))(w.t)
	return nc
}

// waitIdle waits until there is no connection to a server.
func (h *host) waitIdle(id proto.ServerID) {
	h.w.t.Helper()
	require.Eventually(h.w.t, func() bool { return h.peers.election.find(id).idle() }, patience, time.Millisecond)
}

// A stranger with a larger id keeps the connection that it has opened, and is answered on it.
func TestLargerStrangerIsAnswered(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2, open)
	nc := w.greet(2, 9)
	two.wait("PeerUp", func() bool { return slices.Equal(two.up, []proto.ServerID{9}) })
	must.Do(nc.Write(appendElection(nil, vote(2, 4))))(t)
	two.heard(9, 4)
	two.peers.SendElection(vote(9, 5))
	requireRound(t, nc, 5)
	requireEnd(t, w.greet(2, -5))
}

// One with a smaller id is called back where it has called from, whatever host it names, and is not called unless it
// asks.
func TestSmallerStrangerIsCalledBack(t *testing.T) {
	w := newWorld(t, 3, 3)
	three := w.start(3, open,
		func(cfg *Config) { cfg.Members = w.members[1:]; cfg.Timeouts.CallBack = time.Nanosecond })
	three.peers.SendElection(vote(1, 1))
	require.EqualValues(t, 1, three.peers.Stats().Unknown)
	for _, named := range []string{"127.0.0.1", "192.0.2.1", "localhost"} {
		ln := must.Listen(t)
		port := must.Port(t, ln.Addr().String())
		requireEnd(t, w.greetFrom(3, 1, "nonsense", named+":0", net.JoinHostPort(named, port)))
		nc := must.Do(ln.Accept())(t)
		id, _ := must.Do2(readGreeting(nc))(t)
		require.EqualValues(t, 3, id)
		three.peers.SendElection(vote(1, 7))
		requireRound(t, nc, 7)
		require.NoError(t, nc.Close())
		three.waitIdle(1)
		require.NoError(t, ln.Close())
	}
	failures := three.peers.Stats().DialFailures
	three.peers.SendElection(vote(1, 8))
	three.waitIdle(1)
	require.Equal(t, failures, three.peers.Stats().DialFailures)
}

// There is room for some; those whose connection has ended make room for others.
func TestManyStrangers(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2, open, func(cfg *Config) { cfg.Limits.AnonymousMax = 2 })
	first, second := w.greet(2, 11), w.greet(2, 12)
	two.wait("both", func() bool { return len(two.up) == 2 })
	requireEnd(t, w.greet(2, 13))
	two.peers.SendElection(vote(12, 1))
	requireRound(t, second, 1)
	require.NoError(t, first.Close())
	two.waitIdle(11)
	third := w.greet(2, 13)
	two.peers.SendElection(vote(12, 2))
	requireRound(t, second, 2)
	two.wait("the third", func() bool { return len(two.up) == 3 })
	two.peers.SendElection(vote(13, 3))
	requireRound(t, third, 3)
}

// A stranger may learn, also from a server that is an observer so far.
func TestStrangersLearn(t *testing.T) {
	w := newWorld(t, 2, 3)
	for _, leader := range []proto.ServerID{1, 3} {
		l := w.start(leader, open)
		nc := w.connect(w.member(leader).Quorum[0])
		must.Do(nc.Write(AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: 9, Warren: true})))(t)
		l.wait("a learner",
			func() bool { return len(l.links) == 1 && l.links[1].link != nil && l.links[1].link.Peer == 9 })
		own := w.connect(w.member(leader).Quorum[0])
		must.Do(own.Write(AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: leader, Warren: true})))(t)
		requireEnd(t, own)
	}
}

// Members come, go and move; a stranger that becomes one keeps its connection, and so does a member that moves.
func TestMembersChange(t *testing.T) {
	w := newWorld(t, 3, 4)
	two := w.start(2, open, func(cfg *Config) { cfg.Members = w.members[:3] })
	three, four := w.greet(2, 3), w.greet(2, 4)
	two.wait("both", func() bool { return len(two.up) == 2 })
	moved := slices.Clone(w.members)
	moved[2].Election = []string{w.port()}
	require.NoError(t, two.peers.SetMembers(moved))
	for i, nc := range []net.Conn{three, four} {
		two.peers.SendElection(vote(proto.ServerID(i+3), 6))
		requireRound(t, nc, 6)
	}
	two.peers.SendElection(vote(4, 7)) // what it misses, it is sent at its place as a member
	requireRound(t, four, 7)
	require.NoError(t, four.Close())
	two.peers.SendElection(vote(4, 8))
	require.NoError(t, must.Do(w.ports[w.member(4).Election[0]].Accept())(t).Close())

	require.NoError(t, two.peers.SetMembers(moved[:2]))
	requireEnd(t, three)
	again := w.greet(2, 3)
	two.wait("it comes again", func() bool { return len(two.up) == 3 })
	two.peers.SendElection(vote(3, 9))
	requireRound(t, again, 9)
	require.ErrorContains(t, two.peers.SetMembers(moved[2:]), "server 2 is not in the ensemble")
	require.NotNil(t, two.peers.member(1), "nothing has changed")
}

// The ports of a server follow its own addresses, and connections that stand go on.
func TestOwnPortsMove(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2, open)
	old := w.greet(2, 3)
	two.wait("PeerUp", func() bool { return len(two.up) == 1 })
	before := *w.member(2)
	both := slices.Clone(w.members)
	both[1].Election = []string{before.Election[0], w.port()}
	both[1].Quorum = []string{w.port()}
	require.NoError(t, two.peers.SetMembers(both))
	nc := w.connect(both[1].Election[1])
	must.Do(nc.Write(appendGreeting(nil, 9, []string{"127.0.0.1:1"})))(t)
	two.wait("at the new port", func() bool { return len(two.up) == 2 })
	two.peers.SendElection(vote(3, 1))
	requireRound(t, old, 1)

	two.peers.SendElection(vote(1, 1)) // it is called with the new address
	both[1].Election = both[1].Election[1:]
	require.NoError(t, two.peers.SetMembers(both))
	require.Eventually(t, func() bool {
		two.peers.mu.Lock()
		defer two.peers.mu.Unlock()
		return len(two.peers.mu.listeners) == 2
	}, patience, time.Millisecond)
	require.Equal(t, appendGreeting(nil, 2, both[1].Election), two.peers.election.greets())
	two.peers.SendElection(vote(3, 2))
	requireRound(t, old, 2)
}

// A stranger is let in also where the members never change: their lists may be older than its own. An id that no
// server can have, or that of this server, is refused.
func TestStrangerOfFixedMembers(t *testing.T) {
	w := newWorld(t, 3, 3)
	two := w.start(2)
	w.greet(2, 9)
	two.wait("PeerUp", func() bool { return slices.Equal(two.up, []proto.ServerID{9}) })
	for id, isLetIn := range map[proto.ServerID]bool{
		9: true, 0: true, 2: false, -1: false, -7: false, anonymousID: false,
	} {
		nc := w.connect(w.member(2).Quorum[0])
		must.Do(nc.Write(AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: id, Warren: true})))(t)
		if !isLetIn {
			requireEnd(t, nc)
			continue
		}
		two.wait("a learner", func() bool {
			for _, l := range two.links {
				if l.link != nil && l.link.Peer == id {
					return true
				}
			}
			return false
		})
	}
}
