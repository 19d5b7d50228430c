package server

import (
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// leased is a member without a core, that serves.
func leased(t *testing.T, id proto.ServerID, voters ...proto.ServerID) *host.Host {
	s := New(rigConfig(), Options{FS: vfs.NewMem()})
	quorum, err := zab.Majority(voters...)
	require.NoError(t, err)
	s.Tracker = sessions.New(s.Config.TickTime, id, 0)
	s.Tracker.Follow()
	m := s.member
	m.ID, m.Active = id, &zab.Ensemble{Quorum: quorum}
	s.Guard = env.NewGuard(s.Env)
	s.LeaseEnd.Store(0)
	return m
}

func TestLeaseTime(t *testing.T) {
	for _, tc := range []struct {
		tick time.Duration
		sync int
		want time.Duration
	}{
		{2 * time.Second, 5, 4 * time.Second}, // ZooKeeper's defaults
		{2 * time.Second, 1, 4 * time.Second},
		{2 * time.Second, 0, 4 * time.Second},
		{100 * time.Millisecond, 12, 400 * time.Millisecond},
	} {
		cfg := rigConfig()
		cfg.TickTime, cfg.SyncLimit = tc.tick, tc.sync
		require.Equal(t, tc.want, New(cfg, Options{}).member.LeaseTime(), "%+v", tc)
	}
}

// An answer counts from when it was made, once the leader has said that it has it, and a leader that may not answer its own clients
// says nothing new.
func TestLearnerKnowsWhatHasArrived(t *testing.T) {
	leader, learner := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3)
	toLearner := &peers.Link{ID: 7, Peer: 2}
	toLeader := &peers.Link{ID: 9, Peer: 1, Dialled: true}
	learner.Warren[9] = true
	leader.Links[7], leader.Warren[7], leader.Lease.From = toLearner, true, math.MaxInt64 // whether it may answer is decided here
	leader.LeaseEnd.Store(math.MaxInt64)
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}
	require.Empty(t, leader.Ping(toLearner, msg).Data, "it answers no PING before UPTODATE")
	leader.Lease.Exchanges[7] = &host.Exchange{}
	round := func() (ping *peers.Packet, answered int64) {
		ping = leader.Ping(toLearner, msg)
		learner.Pinged(toLeader, ping)
		before := learner.Clock.Now()
		pong := learner.Pong(toLeader, msg)
		require.Equal(t, msg.Zxid, pong.Zxid)
		require.NotNil(t, pong.Data, "an empty buffer is not null")
		leader.Pinged(toLearner, pong)
		return ping, before
	}
	ping, first := round()
	require.Empty(t, ping.Data, "nothing has arrived")
	require.Zero(t, learner.Lease.From, "nothing is known to have arrived")
	require.False(t, learner.MayAnswer())
	ping, second := round()
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255}, ping.Data)
	require.GreaterOrEqual(t, learner.Lease.From, first)
	require.LessOrEqual(t, learner.Lease.From, second)
	require.True(t, learner.MayAnswer())
	require.Equal(t, learner.Lease.From+int64(learner.Lease.Length), learner.LeaseEnd.Load())
	leader.LeaseEnd.Store(0)
	was := learner.Lease.From
	for range 5 {
		_, _ = round()
	}
	require.Equal(t, was, learner.Lease.From, "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	_, last := round()
	require.Greater(t, learner.Lease.From, was)
	require.Less(t, learner.Lease.From, last)
	was = learner.Lease.From
	learner.Pinged(toLeader, &peers.Packet{Type: proto.PacketPing, Data: host.NoRoom[:]})
	require.Equal(t, was, learner.Lease.From, "it does not say what has arrived")
	delete(learner.Warren, 9)
	learner.Pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	require.Greater(t, learner.Lease.From, last, "a PING of a leader in Java is all that there is")
	learner.Warren[9] = true
	learner.Pong(toLeader, msg)
	learner.Pinged(toLeader, &peers.Packet{Type: proto.PacketPing, Data: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}})
	require.Zero(t, learner.Lease.Exchanges[9].Sent.Len(), "no more arrives than was sent")
	learner.EndLease()
	require.False(t, learner.MayAnswer())
}

// An answer of an observer counts when the leader has it, which it gets by way of the observer's master: an answer that the master has and
// the leader does not is worth nothing.
func TestObserverOfAFollowerKnowsWhatHasArrived(t *testing.T) {
	leader, master, observer := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3), leased(t, 4, 1, 2, 3)
	leader.Links[7], leader.Warren[7], leader.Lease.Exchanges[7] = &peers.Link{ID: 7, Peer: 2}, true, &host.Exchange{}
	leader.LeaseEnd.Store(math.MaxInt64)
	leader.Lease.From = math.MaxInt64
	toLeader := &peers.Link{ID: 8, Peer: 1, Dialled: true}
	below := &peers.Link{ID: 9, Peer: 4}
	master.Status.State, master.Warren[8], master.Links[8] = zab.Following, true, toLeader
	master.Links[9], master.Warren[9], master.Lease.Exchanges[9] = below, true, &host.Exchange{}
	f := &host.Following{M: master, Link: toLeader}
	f.Below = host.NewObservers(f)
	master.Role = f
	toMaster := &peers.Link{ID: 3, Peer: 2, Dialled: true}
	observer.Warren[3] = true
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}

	// The master pings the observer behind each PING of the leader.
	round := func() (made int64) {
		master.Pinged(toLeader, leader.Ping(leader.Links[7], msg))
		leader.Pinged(leader.Links[7], master.Pong(toLeader, msg))
		ping := master.Ping(below, msg)
		observer.Pinged(toMaster, ping)
		made = observer.Clock.Now()
		pong := observer.Pong(toMaster, msg)
		master.Pinged(below, pong)
		f.Below.Packet(below, pong)
		return made
	}
	first := round()
	round()
	require.Zero(t, observer.Lease.From, "the master has an answer, the leader none that tells of it")
	third := round()
	require.GreaterOrEqual(t, observer.Lease.From, first)
	require.Less(t, observer.Lease.From, third)
	was := observer.Lease.From
	for range 3 { // the leader does not hear of them
		observer.Pinged(toMaster, master.Ping(below, msg))
		pong := observer.Pong(toMaster, msg)
		master.Pinged(below, pong)
	}
	require.Equal(t, was, observer.Lease.From)
	leader.LeaseEnd.Store(0)
	round()
	stuck := observer.Lease.From
	round()
	round()
	require.Equal(t, stuck, observer.Lease.From, "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	round()
	round()
	require.Greater(t, observer.Lease.From, stuck)

	// Sessions of the observer reach the leader with the master's own.
	touched := append(proto.AppendInt32(proto.AppendInt64(nil, 77), 4000), host.NoRoom[:]...)
	touched = proto.AppendInt32(proto.AppendInt64(touched, 3), host.ArrivedMark)
	f.Below.Packet(below, &peers.Packet{Type: proto.PacketPing, Data: touched})
	require.Equal(t, touched[:sessions.TouchSize], master.Pong(toLeader, msg).Data,
		"of the observer's disk and counts it says nothing")
	require.Empty(t, master.Pong(toLeader, msg).Data)

	// A leader in Java says nothing: its PINGs are all that there is.
	delete(master.Warren, 8)
	was = observer.Lease.From
	master.Pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	observer.Pinged(toMaster, master.Ping(below, msg))
	require.Greater(t, observer.Lease.From, was)
}

// A leader counts from when a quorum was there, itself included; observers do not count.
func TestLeaderKnowsItsQuorum(t *testing.T) {
	m := leased(t, 1, 1, 2, 3, 4, 5)
	for id, at := range map[zab.LinkID]int64{2: 20, 3: 30, 4: 40, 9: 90} {
		m.Links[id], m.Lease.Exchanges[id] = &peers.Link{ID: id, Peer: proto.ServerID(id)}, &host.Exchange{Newest: at}
	}
	require.EqualValues(t, 30, m.QuorumHeard())
	delete(m.Links, 3)
	require.EqualValues(t, 20, m.QuorumHeard())
	delete(m.Links, 2)
	require.Zero(t, m.QuorumHeard())
	alone := leased(t, 1, 1)
	require.InDelta(t, alone.Clock.Now(), alone.QuorumHeard(), float64(time.Minute))
	alone.Lease.Offered = 5
	alone.BeginLease(zab.Leading)
	require.EqualValues(t, 5, alone.Lease.From)
}

// A client that comes back while the leader does not know whether it leads is sent away: the leader never answers that question.
func TestClientIsNotKeptByASilentLeader(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	toLeader := &peers.Link{ID: 9, Peer: 1, Dialled: true}
	f := &host.Following{M: m, Link: toLeader, Renewed: map[proto.SessionID]*flow.Resumption{}}
	f.Below = host.NewObservers(f)
	now := m.Clock.Now()
	isDead := map[proto.SessionID]func() bool{}
	for id, age := range map[proto.SessionID]int64{1: 2 * int64(m.Lease.Length), 2: 0} {
		near, far := net.Pipe()
		defer far.Close()
		c := serve.NewConn(m.Clients.(*serve.Front), near)
		f.Renewed[id] = &flow.Resumption{Client: c, ID: id, Asked: now - age}
		isDead[id] = func() bool {
			c.Mu.Lock()
			defer c.Mu.Unlock()
			return c.Mu.Out.Dead
		}
	}
	f.Packet(toLeader, &peers.Packet{Type: proto.PacketPing})
	require.True(t, isDead[1]())
	require.False(t, isDead[2](), "the answer may be on its way")
	require.NotContains(t, f.Renewed, proto.SessionID(1))
	require.Contains(t, f.Renewed, proto.SessionID(2))
}

// The word of a full disk stands anywhere among the touched sessions of PING, and touches none.
func TestNoRoomStandsAmongTouchedSessions(t *testing.T) {
	touch := func(id proto.SessionID) []byte { return proto.AppendInt32(proto.AppendInt64(nil, int64(id)), 30_000) }
	require.False(t, host.SaysNoRoom(nil))
	require.False(t, host.SaysNoRoom([]byte{}))
	require.False(t, host.SaysNoRoom(append(touch(1), touch(256)...)))
	require.True(t, host.SaysNoRoom(host.NoRoom[:]))
	require.True(t, host.SaysNoRoom(append(touch(7), host.NoRoom[:]...)))
	require.True(t, host.SaysNoRoom(append(host.NoRoom[:], touch(-1)...)))
	require.False(t, host.SaysNoRoom(host.NoRoom[1:]), "not a whole entry")
}
