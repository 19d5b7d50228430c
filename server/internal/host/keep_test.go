package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// keptClient is a client whose connection is kept. It notes how its wait ended.
type keptClient struct {
	client
	wentOn, ended int
}

func (c *keptClient) Release(_ int64, goesOn bool) bool {
	if goesOn {
		c.wentOn++
	} else {
		c.ended++
	}
	return goesOn
}

// backAt is a learner that is back at a leader, and has kept a connection of each session. The last leader was given a
// sync with xid 1 of each, and a setData with xid 2.
func backAt(t *testing.T, lost int64, ids ...proto.SessionID) (f *following, leader *link, clients []*keptClient,
	again func() []int32,
) {
	f, leader = learnerOf(t)
	f.epoch = 4
	h := f.h
	former := &following{Env: f.Env, h: h, pending: map[proto.SessionID]*flow.FIFO[forwarded]{}}
	f.pending = map[proto.SessionID]*flow.FIFO[forwarded]{}
	var held []flow.Held
	for _, id := range ids {
		c := &keptClient{}
		s := &sessions.Session{ID: id}
		clients, held = append(clients, c), append(held, flow.Held{Client: c, Session: s})
		q := flow.QueueOf(former.pending, id)
		for i, op := range []proto.OpCode{proto.OpSync, proto.OpSetData} {
			q.Push(forwarded{item: flow.Item{Client: c, Session: s, Xid: int32(i + 1), Op: op}, kept: true})
		}
	}
	var taken []int32
	h.keeping = keeping{former: former, now: kept.New(lost, held,
		func(*sessions.Session) int64 { return h.Clock.Now() + int64(time.Minute) }, kept.Needs{
			CanAskAgain: former.canAskAgain, AskAgain: former.askAgain, Lose: func(proto.SessionID) {},
			Take: func(all []*flow.Batch) {
				for _, b := range all {
					taken = append(taken, b.Requests[0].Xid)
				}
			},
			Unbind: h.Tracker.Unbind, Generation: h.Generation, Now: h.Clock.Now,
		})}
	return f, leader, clients, func() []int32 { return taken }
}

func granted(id proto.SessionID, proposed proto.Zxid) *peers.Packet {
	return &peers.Packet{Type: peers.PacketReclaim, Zxid: proposed,
		Data: proto.AppendBool(proto.AppendInt64(nil, int64(id)), true)}
}

// A learner that is back at the same leader waits for what it has given the leader before: the leader may have made
// txns of it meanwhile. Another leader has what is left of them, so nothing has to be waited for.
func TestKeptConnectionsWaitForTxnsOfTheSameLeader(t *testing.T) {
	const id = proto.SessionID(7)
	write := proto.TxnHeader{ClientID: id, Cxid: 2, Zxid: 6, Type: proto.OpSetData}
	b := &flow.ApplyBatch{}
	f, leader, clients, again := backAt(t, 4, id)
	f.Packet(leader, granted(id, 6))
	require.Zero(t, clients[0].wentOn)
	f.deliver([]zab.Txn{{Zxid: 6, Payload: write.AppendTo(nil)}}, b)
	f.delivered(6)
	require.Equal(t, 1, clients[0].wentOn)
	require.Empty(t, again(), "both are answered")
	require.Len(t, b.Items, 2)
	require.Equal(t, []int32{1, 2}, []int32{b.Items[0].Xid, b.Items[1].Xid}, "the answer to the sync was lost")
	require.Nil(t, f.h.keeping.now)

	f, leader, clients, again = backAt(t, 4, id)
	f.Packet(leader, granted(id, 4))
	require.Equal(t, 1, clients[0].wentOn, "all is delivered")
	require.Equal(t, []int32{1, 2}, again())

	f, leader, clients, again = backAt(t, 3, id)
	f.Packet(leader, granted(id, 6))
	require.Equal(t, 1, clients[0].wentOn, "it is the next leader")
	require.Equal(t, []int32{1, 2}, again())
}

// A client that leaves its connection while that waits for txns does not go on there.
func TestKeptConnectionsEndWhoseClientsLeave(t *testing.T) {
	f, leader, clients, again := backAt(t, 4, 7, 8, 9)
	for id := proto.SessionID(7); id <= 9; id++ {
		f.Packet(leader, granted(id, 6))
	}
	f.Packet(leader, &peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, 7)})
	f.claim(8) // by way of an observer
	moved := proto.TxnHeader{ClientID: 9, Cxid: flow.MoveXid, Zxid: 5, Type: proto.OpCreateSession}
	f.deliver([]zab.Txn{{Zxid: 5, Payload: moved.AppendTo(nil)}}, &flow.ApplyBatch{})
	f.delivered(6)
	for _, c := range clients {
		require.Equal(t, 1, c.ended)
		require.Zero(t, c.wentOn)
	}
	require.Empty(t, again())
	require.Zero(t, f.Tracker.Count())
}

// holding has one connection that can be kept.
type holding struct {
	clients
	held flow.Held
}

func (h holding) HoldAll(func(*sessions.Session) bool) []flow.Held { return []flow.Held{h.held} }

// A leader may begin a new epoch while it serves. Connections that outlive it, and what is known of silent sessions,
// count in the epoch after that one.
func TestKeptConnectionsOutliveALeaderThatHasRenewedItsEpoch(t *testing.T) {
	f, leader := learnerOf(t)
	m := f.h
	m.role, m.noting, f.epoch = f, leader.ID, 4
	m.clients = holding{m.clients, flow.Held{Client: &keptClient{}, Session: &sessions.Session{ID: 7}}}
	serves := zab.Status{State: zab.Following, Leader: 1, Master: 1, Epoch: 4, Serving: true}
	m.status = serves
	serves.Epoch = 6
	m.changed(serves)
	m.changed(zab.Status{State: zab.Looking, Leader: -1, Master: -1})
	require.NotNil(t, m.keeping.now)
	require.True(t, m.keeping.now.Back(6))
	require.True(t, m.keeping.now.Outlive(7))
	require.False(t, m.keeping.now.Outlive(5))
	require.EqualValues(t, 6, m.silence.former.epoch)
}

// A leader gives a session back to the server whose link was lost, and to no other one.
func TestLeaderGivesSessionsBackToTheirServer(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, lost: map[zab.LinkID]lostLink{4: {0, 2}}}
	l.syncs = syncs.New(l.needs())
	m.Tracker.Lead(func(yield func(proto.SessionID, int32)) { yield(7, 1000); yield(8, 1000) }, 0)
	require.Equal(t, proto.OK, m.Tracker.Check(7, 4, false, 0), "the session was on the link that is gone")
	require.False(t, l.gives(7, &link{Link: &peers.Link{ID: 5, Peer: 3}}, 0))
	require.True(t, l.gives(7, &link{Link: &peers.Link{ID: 6, Peer: 2}}, 0))
	require.EqualValues(t, 6, m.Tracker.Owner(7))
	l.lost[10] = lostLink{0, -1}
	require.Equal(t, proto.OK, m.Tracker.Check(8, 10, false, 0))
	require.False(t, l.gives(8, &link{Link: &peers.Link{ID: 11, Peer: -1}}, 0), "any observer without an id")
}

// What a learner has forwarded behind a sync that came from another server becomes a txn when that sync is answered,
// be the link of the learner gone or not. Until then the session is not given back: the learner would ask for it
// again.
func TestLeaderGivesNoSessionBackWhoseRequestsWait(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, lost: map[zab.LinkID]lostLink{}, txns: []zab.Txn{{}}} // the core is not asked
	l.refused = true
	l.syncs, m.role = syncs.New(l.needs()), l
	m.links.open[4] = &link{Link: &peers.Link{ID: 4, Peer: 2}, exchange: &lease.Exchange{}}
	m.Tracker.Lead(func(yield func(proto.SessionID, int32)) { yield(7, 1000); yield(8, 1000) }, 0)
	l.take(&write{link: 3, session: 7, op: proto.OpSync})
	require.Equal(t, proto.OK, m.Tracker.Check(7, 4, false, 0), "its client is elsewhere now")
	require.Equal(t, proto.OK, m.Tracker.Check(8, 4, false, 0))
	l.take(&write{link: 4, session: 7, op: proto.OpSetData})
	m.forget(4)
	back := &link{Link: &peers.Link{ID: 5, Peer: 2}}
	require.False(t, l.gives(7, back, 0))
	require.True(t, l.gives(8, back, 0))
}

// A leader that closes a link hears of its end twice: from the core, and when the connection has ended. The sessions
// of the learner are given back to it all the same.
func TestLeaderGivesSessionsBackAfterItHasClosedALink(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, lost: map[zab.LinkID]lostLink{}}
	l.syncs, m.role = syncs.New(l.needs()), l
	m.links.open[4] = &link{Link: &peers.Link{ID: 4, Peer: 2}, exchange: &lease.Exchange{}}
	m.Tracker.Lead(func(yield func(proto.SessionID, int32)) { yield(7, 1000) }, 0)
	require.Equal(t, proto.OK, m.Tracker.Check(7, 4, false, 0))
	m.forget(4)
	m.forget(4)
	require.True(t, l.gives(7, &link{Link: &peers.Link{ID: 5, Peer: 2}}, 0))
}

// What a connection costs that is no learner's does not depend on the number of sessions: none belongs to its link.
func TestLeaderRemembersLinksOfLearnersOnly(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m, lost: map[zab.LinkID]lostLink{}}
	l.syncs, m.role = syncs.New(l.needs()), l
	m.links.accept(4)
	m.forget(4)
	m.links.accept(5)
	require.NotNil(t, m.links.from(&peers.Link{ID: 5, Peer: 2}), "it has introduced itself")
	m.forget(5)
	require.Empty(t, l.lost)
}

// A server without clients keeps nothing when its leader is lost: it would go on to take each tick, and hold on to its
// former role, until the next leader is lost.
func TestNothingIsKeptForNoClients(t *testing.T) {
	f, leader := learnerOf(t)
	h := f.h
	h.role, h.noting, h.Config.ConnectionKeep = f, leader.ID, time.Second
	require.Zero(t, h.keep())
}
