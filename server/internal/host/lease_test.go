package host

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// leased is a host that serves, without a core.
func leased(t *testing.T, id proto.ServerID, voters ...proto.ServerID) *Host {
	store := meta.NewMem(1)
	s := assemble(rigConfig(), vfs.NewMem(), store)
	q := must.Do(quorum.Majority(voters...))(t)
	s.Tracker = sessions.New(s.Config.TickTime, id, 0, 0)
	require.NoError(t, s.Tracker.Reserve(store.SetSessionBase))
	s.Tracker.Follow()
	m := s.member
	m.ID, m.Active = id, &zab.Ensemble{Quorum: q}
	s.Guard = env.NewGuard(s.Env)
	s.LeaseEnd.Store(0)
	return m
}

// from is since when the lease of m runs.
func from(m *Host) int64 { return max(0, m.LeaseEnd.Load()-int64(m.lease.Length())) }

// answer is the answer of m to a PING that comes some time after the one before.
func answer(m *Host, l *link, msg *zab.Message) *peers.Packet {
	l.touched = 0
	return m.pong(l, msg)
}

// Sessions with a long timeout have a longer lease.
func TestLeaseTime(t *testing.T) {
	for _, tc := range []struct {
		tick time.Duration
		sync int
		want time.Duration
		of   map[time.Duration]time.Duration
	}{
		{2 * time.Second, 5, 4 * time.Second, map[time.Duration]time.Duration{ // ZooKeeper's defaults
			4 * time.Second: 4 * time.Second, 12 * time.Second: 6 * time.Second, 18 * time.Second: 9 * time.Second,
			20 * time.Second: 10 * time.Second, 40 * time.Second: 10 * time.Second,
		}},
		{2 * time.Second, 1, 4 * time.Second, map[time.Duration]time.Duration{time.Minute: 4 * time.Second}},
		{2 * time.Second, 0, 4 * time.Second, nil},
		{100 * time.Millisecond, 12, 400 * time.Millisecond, map[time.Duration]time.Duration{
			800 * time.Millisecond: 400 * time.Millisecond, 2 * time.Second: time.Second,
			time.Minute: 1200 * time.Millisecond,
		}},
	} {
		cfg := rigConfig()
		cfg.TickTime, cfg.SyncLimit = tc.tick, tc.sync
		require.Equal(t, tc.want, cfg.LeaseTime(), "%+v", tc)
		for timeout, want := range tc.of {
			require.Equal(t, want, cfg.LeaseOf(timeout), "%v with %+v", timeout, tc)
		}
	}
}

// An answer of a learner counts from the time at which it was made, as soon as the leader has said that the answer
// has arrived. A leader that may not answer its own clients reports no new arrivals.
func TestLearnerKnowsWhatHasArrived(t *testing.T) {
	leader, learner := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3)
	toLearner := &link{Link: &peers.Link{ID: 7, Peer: 2}, warren: true}
	toLeader := &link{Link: &peers.Link{ID: 9, Peer: 1, Dialled: true}, warren: true}
	leader.links.open[7] = toLearner
	leader.lease.Lift() // and the test sets what it has published
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}
	require.Empty(t, leader.ping(toLearner, msg).Data, "it answers no PING before UPTODATE")
	toLearner.exchange = &lease.Exchange{}
	round := func() (ping *peers.Packet, answered int64) {
		ping = leader.ping(toLearner, msg)
		learner.pinged(toLeader, ping)
		before := learner.Clock.Now()
		pong := answer(learner, toLeader, msg)
		require.Equal(t, msg.Zxid, pong.Zxid)
		require.NotNil(t, pong.Data, "an empty buffer is not null")
		leader.pinged(toLearner, pong)
		return ping, before
	}
	ping, first := round()
	require.Empty(t, ping.Data, "nothing has arrived")
	require.Zero(t, from(learner), "nothing is known to have arrived")
	require.False(t, learner.MayAnswer())
	ping, second := round()
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255}, ping.Data)
	require.GreaterOrEqual(t, from(learner), first)
	require.LessOrEqual(t, from(learner), second)
	require.True(t, learner.MayAnswer())
	leader.LeaseEnd.Store(0)
	was := from(learner)
	for range 5 {
		_, _ = round()
	}
	require.Equal(t, was, from(learner), "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	_, last := round()
	require.Greater(t, from(learner), was)
	require.Less(t, from(learner), last)
	told := leader.news(toLearner)
	require.Equal(t, peers.PacketArrived, told.Type)
	learner.reported(toLeader, binary.BigEndian.Uint64(told.Data))
	require.GreaterOrEqual(t, from(learner), last, "it does not wait for the next PING")
	require.Nil(t, leader.news(toLearner), "it is told once")
	toLearner.warren = false
	toLearner.exchange.Tell()
	require.Nil(t, leader.news(toLearner), "a learner in Java does not know the packet")
	toLearner.warren = true
	was = from(learner)
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing, Data: noRoom[:]})
	require.Equal(t, was, from(learner), "it does not say what has arrived")
	toLeader.warren = false
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	require.Greater(t, from(learner), last, "a PING of a leader in Java is all that there is")
	toLeader.warren = true
	answer(learner, toLeader, msg)
	learner.pinged(toLeader, &peers.Packet{Type: proto.PacketPing,
		Data: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}})
	was, last = from(learner), learner.Clock.Now()
	require.LessOrEqual(t, was, last, "no more arrives than was sent")
	learner.lease.End()
	require.False(t, learner.MayAnswer())
}

// An answer of an observer counts when the leader has it. The leader gets it by way of the observer's master. An
// answer that the master has and the leader does not have is worth nothing.
func TestObserverOfAFollowerKnowsWhatHasArrived(t *testing.T) {
	leader, master, observer := leased(t, 1, 1, 2, 3), leased(t, 2, 1, 2, 3), leased(t, 4, 1, 2, 3)
	leader.links.open[7] = &link{Link: &peers.Link{ID: 7, Peer: 2}, warren: true, exchange: &lease.Exchange{}}
	leader.lease.Lift() // and the test sets what it has published
	toLeader := &link{Link: &peers.Link{ID: 8, Peer: 1, Dialled: true}, warren: true}
	below := &link{Link: &peers.Link{ID: 9, Peer: 4}, warren: true, exchange: &lease.Exchange{}}
	master.status.State, master.links.open[8], master.links.open[9] = zab.Following, toLeader, below
	f := &following{Env: master.Env, h: master, link: toLeader}
	f.below = observers.New(f.needs())
	master.role = f
	toMaster := &link{Link: &peers.Link{ID: 3, Peer: 2, Dialled: true}, warren: true}
	msg := &zab.Message{Type: zab.Ping, Zxid: 5}

	// The master pings the observer after each PING of the leader.
	round := func() (made int64) {
		master.pinged(toLeader, leader.ping(leader.links.open[7], msg))
		leader.pinged(leader.links.open[7], answer(master, toLeader, msg))
		ping := master.ping(below, msg)
		observer.pinged(toMaster, ping)
		made = observer.Clock.Now()
		pong := answer(observer, toMaster, msg)
		master.pinged(below, pong)
		f.Packet(below, pong)
		return made
	}
	first := round()
	round()
	require.Zero(t, from(observer), "the master has an answer, the leader none that tells of it")
	third := round()
	require.GreaterOrEqual(t, from(observer), first)
	require.Less(t, from(observer), third)
	was := from(observer)
	for range 3 { // the leader does not get them
		observer.pinged(toMaster, master.ping(below, msg))
		pong := answer(observer, toMaster, msg)
		master.pinged(below, pong)
	}
	require.Equal(t, was, from(observer))
	leader.LeaseEnd.Store(0)
	round()
	stuck := from(observer)
	round()
	round()
	require.Equal(t, stuck, from(observer), "the leader does not know itself whether it leads")
	leader.LeaseEnd.Store(math.MaxInt64)
	round()
	round()
	require.Greater(t, from(observer), stuck)

	// The observer's sessions reach the leader together with the master's own.
	touched := append(proto.AppendInt32(proto.AppendInt64(nil, 77), 4000), noRoom[:]...)
	touched = proto.AppendInt32(proto.AppendInt64(touched, 3), arrivedMark)
	f.Packet(below, &peers.Packet{Type: proto.PacketPing, Data: touched})
	require.Equal(t, touched[:sessions.TouchSize], answer(master, toLeader, msg).Data,
		"of the observer's disk and counts it says nothing")
	require.Empty(t, answer(master, toLeader, msg).Data)

	// A leader in Java does not say what has arrived: its PINGs are the only sign.
	toLeader.warren = false
	was = from(observer)
	master.pinged(toLeader, &peers.Packet{Type: proto.PacketPing})
	observer.pinged(toMaster, master.ping(below, msg))
	require.Greater(t, from(observer), was)
}

// A client that comes back while the leader does not know whether it leads is sent away: the leader never answers
// that question.
func TestClientIsNotKeptByASilentLeader(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	toLeader := &link{Link: &peers.Link{ID: 9, Peer: 1, Dialled: true}}
	f := &following{Env: m.Env, h: m, link: toLeader, renewed: map[proto.SessionID]*flow.Resumption{}}
	f.below = observers.New(f.needs())
	now := m.Clock.Now()
	aborted := map[proto.SessionID]*bool{}
	for id, age := range map[proto.SessionID]int64{1: 2 * int64(m.lease.Length()), 2: 0} {
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
