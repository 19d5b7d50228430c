package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// returning is a client that comes back, and counts its answers.
type returning struct {
	client
	resumed, refused, unanswered int
}

func (c *returning) Resumed(s *sessions.Session, _ sessions.Conn, _ int32, _ bool) {
	if s == nil {
		c.refused++
		return
	}
	c.resumed++
}

func (c *returning) Unanswered() { c.unanswered++ }

// instantly is an applier that has applied everything.
type instantly struct{ applies }

func (instantly) Do(fn func()) { fn() }

// A client that comes back goes on when its new server has what it asked for before.
func TestReturnedClientsWaitForWhatTheyAskedFor(t *testing.T) {
	m := leased(t, 2, 1, 2, 3)
	m.applier, m.reach.delivered = instantly{}, 4
	f := &following{Env: m.Env, h: m}
	f.below = observers.New(f.needs())
	first, second, late := &returning{}, &returning{}, &returning{}
	upTo := func(z proto.Zxid) *peers.Revalidated {
		return &peers.Revalidated{Valid: true, Proposed: z, Question: 1}
	}
	f.renew(&flow.Resumption{Client: first, ID: 7, TimeoutMs: 1000}, upTo(4))
	require.Equal(t, 1, first.resumed, "it is there already")
	f.renew(&flow.Resumption{Client: second, ID: 8, TimeoutMs: 1000}, upTo(6))
	f.renew(&flow.Resumption{Client: late, ID: 9, TimeoutMs: 1000}, upTo(7))
	f.delivered(5)
	require.Zero(t, second.resumed)
	f.delivered(6)
	require.Equal(t, 1, second.resumed)
	require.Zero(t, late.resumed)
	gone := &returning{}
	f.renew(&flow.Resumption{Client: gone, ID: 10, TimeoutMs: 1000}, upTo(7))
	f.moved(10)
	f.end()
	require.True(t, gone.aborted, "another server has its session")
	gone.aborted = false
	f.renew(&flow.Resumption{Client: gone, ID: 10, TimeoutMs: 1000}, upTo(7))
	f.moved(10)
	f.delivered(7)
	require.True(t, gone.aborted, "another server has its session")
	require.Zero(t, gone.resumed)
	require.Equal(t, 1, late.unanswered, "the leader is lost: it asks again")
}

// A client that gives up a connection and comes back is not answered by what the leader says to the first question:
// what it has asked for in between may be on its way.
func TestReturnedClientsWaitForTheirOwnAnswer(t *testing.T) {
	for _, warren := range []bool{true, false} {
		m := leased(t, 2, 1, 2, 3)
		m.applier, m.reach.delivered = instantly{}, 9
		leader := &link{Link: &peers.Link{ID: 9, Peer: 1, Dialled: true}, warren: warren}
		c := &returning{}
		f := &following{Env: m.Env, h: m, link: leader, renewed: map[proto.SessionID]*flow.Resumption{}}
		f.below = observers.New(f.needs())
		require.EqualValues(t, 1, f.question())
		r := &flow.Resumption{Client: c, ID: 7, TimeoutMs: 1000, Question: f.question()}
		answer := func(question int64) {
			a := peers.Revalidated{Session: 7, Valid: true, Proposed: 8, Question: question}
			p := a.Packet()
			if !warren {
				p = a.JavaPacket(proto.Zxid(question))
			}
			f.renewed[7] = r
			f.Packet(leader, p)
		}
		answer(1)
		require.Zero(t, c.resumed)
		require.Contains(t, f.renewed, proto.SessionID(7))
		answer(2)
		require.Equal(t, 1, c.resumed)
		require.NotContains(t, f.renewed, proto.SessionID(7))
		if m.noting = leader.ID; warren { // by an earlier version
			answer(0)
			require.Equal(t, 2, c.resumed)
			require.False(t, r.Whole, "it may be the answer to another question")
		}
	}
}

// learnerOf is a learner of a Warren leader that has delivered everything up to 4.
func learnerOf(t *testing.T) (*following, *link) {
	m := leased(t, 2, 1, 2, 3)
	m.applier, m.reach.delivered = instantly{}, 4
	leader := &link{Link: &peers.Link{ID: 9, Peer: 1, Dialled: true}, warren: true}
	f := &following{Env: m.Env, h: m, link: leader, renewed: map[proto.SessionID]*flow.Resumption{}}
	f.below = observers.New(f.needs())
	return f, leader
}

// A client that comes back again, here or at an observer, has left its former connection. That one does not go on, or
// it would end at once, and the leader would be told that the client was last heard of when it came back first.
func TestNewestConnectionOfAClientCounts(t *testing.T) {
	f, leader := learnerOf(t)
	waits, asks := &returning{}, &returning{}
	f.renewed[7] = &flow.Resumption{Client: waits, ID: 7, TimeoutMs: 1000, Question: 1}
	confirmed := peers.Revalidated{Session: 7, Valid: true, Proposed: 6, Question: 1}
	f.Packet(leader, confirmed.Packet())
	f.renewed[7] = &flow.Resumption{Client: asks, ID: 7, TimeoutMs: 1000, Question: 2}
	f.claim(7)
	require.True(t, asks.aborted)
	f.delivered(6)
	require.True(t, waits.aborted)
	require.Zero(t, waits.resumed+asks.resumed)
	require.Zero(t, f.Tracker.Count(), "nothing that could be released")
	f.end()
	require.Zero(t, waits.unanswered+asks.unanswered)
}

// A session that the leader has confirmed may end before its client goes on: it is told so, whenever the confirmation
// arrives, and the session is not there any more.
func TestSessionsThatHaveEndedDoNotComeBack(t *testing.T) {
	f, leader := learnerOf(t)
	first, second := &returning{}, &returning{}
	f.renewed[7] = &flow.Resumption{Client: first, ID: 7, TimeoutMs: 1000, Question: 1}
	f.renewed[8] = &flow.Resumption{Client: second, ID: 8, TimeoutMs: 1000, Question: 2}
	confirmed := peers.Revalidated{Session: 7, Valid: true, Proposed: 6, Question: 1}
	f.Packet(leader, confirmed.Packet())
	var txns []zab.Txn
	for i, id := range []proto.SessionID{7, 8} {
		h := proto.TxnHeader{ClientID: id, Zxid: proto.Zxid(7 + i), Type: proto.OpCloseSession}
		txns = append(txns, zab.Txn{Zxid: h.Zxid, Payload: h.AppendTo(nil)})
	}
	f.deliver(txns, &flow.ApplyBatch{})
	f.delivered(8)
	confirmed = peers.Revalidated{Session: 8, Valid: true, Proposed: 6, Question: 2}
	f.Packet(leader, confirmed.Packet())
	for _, c := range []*returning{first, second} {
		require.Equal(t, 1, c.refused)
		require.Zero(t, c.resumed)
	}
	require.Zero(t, f.Tracker.Count())
}

// A client that waits at the leader does not go on when it has a newer connection, or when the end of its session has
// begun: that end may come to nothing.
func TestLeaderResumesNoOutdatedClient(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	m.applier = instantly{}
	l := &leading{Env: m.Env, h: m}
	m.Tracker.Lead(func(yield func(proto.SessionID, int32)) { yield(7, 1000) }, 0)
	first, second, third := &returning{}, &returning{}, &returning{}
	wait := func(c *returning, zxid proto.Zxid) {
		_, _, valid := m.Tracker.Revalidate(7, 1000, 0, 0)
		require.True(t, valid)
		l.moves.Push(move{id: 7, zxid: zxid, client: &flow.Resumption{Client: c, ID: 7, TimeoutMs: 1000}})
	}
	wait(first, 5)
	l.outdateMoves(7)
	wait(second, 6)
	l.delivered(6)
	require.True(t, first.aborted)
	require.Zero(t, first.resumed)
	require.Equal(t, 1, second.resumed)
	wait(third, 7)
	m.Tracker.SetClosing(7)
	l.delivered(7)
	require.True(t, third.aborted)
	require.Zero(t, third.resumed+third.refused)
}

// The client of a session that another server asks for may still be at the one that had it: that server was late to
// ask for a connection that the client has given up. So the connection ends where it was. A server in Java cannot be
// told: its session does not count as silent when the other one releases it.
func TestSessionsHaveOneConnection(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	l := &leading{Env: m.Env, h: m}
	ours, java := &link{Link: &peers.Link{ID: 4, Peer: 2}, warren: true}, &link{Link: &peers.Link{ID: 5, Peer: 3}}
	m.links.open[4], m.links.open[5] = ours, java
	m.Tracker.Lead(func(yield func(proto.SessionID, int32)) { yield(7, 1000); yield(8, 1000); yield(9, 1000) }, 0)
	goes := func(id proto.SessionID, to zab.LinkID) {
		from, _, valid := m.Tracker.Revalidate(id, 1000, to, 0)
		require.True(t, valid)
		l.moved(id, from, to)
	}
	c := &client{}
	m.Tracker.Resume(7, 1000, c, 0)
	goes(7, 4)
	require.True(t, c.aborted)
	goes(8, 4)
	require.Zero(t, ours.Stats().PacketsOut)
	goes(8, 5)
	require.EqualValues(t, 1, ours.Stats().PacketsOut)
	goes(9, 5)
	goes(9, 4)
	require.Zero(t, java.Stats().PacketsOut)
	m.Tracker.Released(7, 4, 0)
	m.Tracker.Released(8, 5, 0)
	m.Tracker.Released(9, 4, 0)
	var silent []proto.SessionID
	for _, s := range m.Tracker.TakeSilent(true) {
		silent = append(silent, s.ID)
	}
	require.ElementsMatch(t, []proto.SessionID{7, 8}, silent)

	f, leader := learnerOf(t)
	observer := &link{Link: &peers.Link{ID: 6, Peer: 4}, warren: true}
	f.h.links.open[6] = observer
	needs := f.needs()
	needs.Answer = func(zab.LinkID, uint64) {} // the core is not asked
	f.below = observers.New(needs)
	mine := &client{}
	f.Tracker.Adopt(7, 1000, mine, 0)
	f.below.Packet(observer.Link, true, peers.AskRevalidate(8, 1000, 1))
	f.below.Revalidated(&peers.Revalidated{Session: 8, Valid: true})
	require.EqualValues(t, 6, f.below.Owner(8))
	sent := observer.Stats().PacketsOut
	for id := proto.SessionID(7); id <= 8; id++ {
		f.Packet(leader, &peers.Packet{Type: peers.PacketMoved, Zxid: -1, Data: proto.AppendInt64(nil, int64(id))})
	}
	require.True(t, mine.aborted)
	require.Equal(t, sent+1, observer.Stats().PacketsOut)
}
