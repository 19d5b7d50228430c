package host

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// leased is a host that serves, without a core.
func leased(t *testing.T, id proto.ServerID, voters ...proto.ServerID) *Host {
	store := meta.NewMem(1)
	s := assemble(rigConfig(), vfs.NewMem(), store)
	q, err := quorum.Majority(voters...)
	require.NoError(t, err)
	s.Tracker = sessions.New(s.Config.TickTime, id, 0, 0)
	require.NoError(t, s.Tracker.Reserve(store.SetSessionBase))
	s.Tracker.Follow()
	m := s.member
	m.ID, m.Active = id, &zab.Ensemble{Quorum: q}
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
		require.Equal(t, tc.want, assemble(cfg, nil, nil).member.leaseTime(), "%+v", tc)
	}
}

// An answer of a learner counts from the time at which it was made, as soon as the leader has said that the answer
// has arrived. A leader that may not answer its own clients reports no new arrivals.
func TestLearnerKnowsWhatHasArrived(t *testing.T) {
	leader, learner := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3)
	toLearner := &peers.Link{ID: 7, Peer: 2}
	toLeader := &peers.Link{ID: 9, Peer: 1, Dialled: true}
	learner.warren[9] = true
	leader.links[7], leader.warren[7], leader.lease.from = toLearner, true, math.MaxInt64 // the test sets its lease
	leader.LeaseEnd.Store(math.MaxInt64)
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}
	require.Empty(t, leader.Ping(toLearner, msg).Data, "it answers no PING before UPTODATE")
	leader.lease.exchanges[7] = &exchange{}
	round := func() (ping *peers.Packet, answered int64) {
		ping = leader.Ping(toLearner, msg)
		learner.pinged(toLeader, ping)
		before := learner.Clock.Now()
		pong := learner.pong(toLeader, msg)
		require.Equal(t, msg.Zxid, pong.Zxid)
		require.NotNil(t, pong.Data, "an empty buffer is not null")
		leader.pinged(toLearner, pong)
		return ping, before
	}
	ping, first := round()
	require.Empty(t, ping.Data, "nothing has arrived")
	require.Zero(t, learner.lease.from, "nothing is known to have arrived")
	require.False(t, learner.MayAnswer())
	ping, second := round()
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255}, ping.Data)
	require.GreaterOrEqual(t, learner.lease.from, first)
	require.LessOrEqual(t, learner.lease.from, second)
	require.True(t, learner.MayAnswer())
	require.Equal(t, learner.lease.from+int64(learner.lease.length), learner.LeaseEnd.Load())
	leader.LeaseEnd.Store(0)
	was := learner.lease.from
	for range 5 {
		_, _ = round()
	}
	require.Equal(t, was, learner.lease.from, "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	_, last := round()
	require.Greater(t, learner.lease.from, was)
	require.Less(t, learner.lease.from, last)
	was = learner.lease.from
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing, Data: noRoom[:]})
	require.Equal(t, was, learner.lease.from, "it does not say what has arrived")
	delete(learner.warren, 9)
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	require.Greater(t, learner.lease.from, last, "a PING of a leader in Java is all that there is")
	learner.warren[9] = true
	learner.pong(toLeader, msg)
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing,
		Data: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}})
	require.Zero(t, learner.lease.exchanges[9].sent.Len(), "no more arrives than was sent")
	learner.endLease()
	require.False(t, learner.MayAnswer())
}

// An answer of an observer counts when the leader has it. The leader gets it by way of the observer's master. An
// answer that the master has and the leader does not have is worth nothing.
func TestObserverOfAFollowerKnowsWhatHasArrived(t *testing.T) {
	leader, master, observer := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3), leased(t, 4, 1, 2, 3)
	leader.links[7], leader.warren[7], leader.lease.exchanges[7] = &peers.Link{ID: 7, Peer: 2}, true, &exchange{}
	leader.LeaseEnd.Store(math.MaxInt64)
	leader.lease.from = math.MaxInt64
	toLeader := &peers.Link{ID: 8, Peer: 1, Dialled: true}
	below := &peers.Link{ID: 9, Peer: 4}
	master.status.State, master.warren[8], master.links[8] = zab.Following, true, toLeader
	master.links[9], master.warren[9], master.lease.exchanges[9] = below, true, &exchange{}
	f := &following{m: master, link: toLeader}
	f.below = newObservers(f)
	master.role = f
	toMaster := &peers.Link{ID: 3, Peer: 2, Dialled: true}
	observer.warren[3] = true
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}

	// The master pings the observer after each PING of the leader.
	round := func() (made int64) {
		master.pinged(toLeader, leader.Ping(leader.links[7], msg))
		leader.pinged(leader.links[7], master.pong(toLeader, msg))
		ping := master.Ping(below, msg)
		observer.pinged(toMaster, ping)
		made = observer.Clock.Now()
		pong := observer.pong(toMaster, msg)
		master.pinged(below, pong)
		f.below.Packet(below, pong)
		return made
	}
	first := round()
	round()
	require.Zero(t, observer.lease.from, "the master has an answer, the leader none that tells of it")
	third := round()
	require.GreaterOrEqual(t, observer.lease.from, first)
	require.Less(t, observer.lease.from, third)
	was := observer.lease.from
	for range 3 { // the leader does not get them
		observer.pinged(toMaster, master.Ping(below, msg))
		pong := observer.pong(toMaster, msg)
		master.pinged(below, pong)
	}
	require.Equal(t, was, observer.lease.from)
	leader.LeaseEnd.Store(0)
	round()
	stuck := observer.lease.from
	round()
	round()
	require.Equal(t, stuck, observer.lease.from, "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	round()
	round()
	require.Greater(t, observer.lease.from, stuck)

	// The observer's sessions reach the leader together with the master's own.
	touched := append(proto.AppendInt32(proto.AppendInt64(nil, 77), 4000), noRoom[:]...)
	touched = proto.AppendInt32(proto.AppendInt64(touched, 3), arrivedMark)
	f.below.Packet(below, &peers.Packet{Type: proto.PacketPing, Data: touched})
	require.Equal(t, touched[:sessions.TouchSize], master.pong(toLeader, msg).Data,
		"of the observer's disk and counts it says nothing")
	require.Empty(t, master.pong(toLeader, msg).Data)

	// A leader in Java does not say what has arrived: its PINGs are the only sign.
	delete(master.warren, 8)
	was = observer.lease.from
	master.pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	observer.pinged(toMaster, master.Ping(below, msg))
	require.Greater(t, observer.lease.from, was)
}

// The lease of a leader runs from the time at which a quorum was there, the leader included. Observers do not
// count.
func TestLeaderKnowsItsQuorum(t *testing.T) {
	m := leased(t, 1, 1, 2, 3, 4, 5)
	for id, at := range map[zab.LinkID]int64{2: 20, 3: 30, 4: 40, 9: 90} {
		m.links[id], m.lease.exchanges[id] = &peers.Link{ID: id, Peer: proto.ServerID(id)}, &exchange{newest: at}
	}
	require.EqualValues(t, 30, m.quorumHeard())
	delete(m.links, 3)
	require.EqualValues(t, 20, m.quorumHeard())
	delete(m.links, 2)
	require.Zero(t, m.quorumHeard())
	alone := leased(t, 1, 1)
	require.InDelta(t, alone.Clock.Now(), alone.quorumHeard(), float64(time.Minute))
	alone.lease.offered = 5
	alone.beginLease(zab.Leading)
	require.EqualValues(t, 5, alone.lease.from)
}

// A client that comes back while the leader does not know whether it leads is sent away: the leader never answers
// that question.
func TestClientIsNotKeptByASilentLeader(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	toLeader := &peers.Link{ID: 9, Peer: 1, Dialled: true}
	f := &following{m: m, link: toLeader, renewed: map[proto.SessionID]*flow.Resumption{}}
	f.below = newObservers(f)
	now := m.Clock.Now()
	aborted := map[proto.SessionID]*bool{}
	for id, age := range map[proto.SessionID]int64{1: 2 * int64(m.lease.length), 2: 0} {
		c := &client{}
		f.renewed[id] = &flow.Resumption{Client: c, ID: id, Asked: now - age}
		aborted[id] = &c.aborted
	}
	f.Packet(toLeader, &peers.Packet{Type: proto.PacketPing})
	require.True(t, *aborted[1])
	require.False(t, *aborted[2], "the answer may be on its way")
	require.NotContains(t, f.renewed, proto.SessionID(1))
	require.Contains(t, f.renewed, proto.SessionID(2))
}

// The entry for a full disk may be anywhere among the touched sessions of PING. It touches no session.
func TestNoRoomStandsAmongTouchedSessions(t *testing.T) {
	touch := func(id proto.SessionID) []byte { return proto.AppendInt32(proto.AppendInt64(nil, int64(id)), 30_000) }
	require.False(t, saysNoRoom(nil))
	require.False(t, saysNoRoom([]byte{}))
	require.False(t, saysNoRoom(append(touch(1), touch(256)...)))
	require.True(t, saysNoRoom(noRoom[:]))
	require.True(t, saysNoRoom(append(touch(7), noRoom[:]...)))
	require.True(t, saysNoRoom(append(noRoom[:], touch(-1)...)))
	require.False(t, saysNoRoom(noRoom[1:]), "not a whole entry")
}
