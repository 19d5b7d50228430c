package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
)

// returning is a client that comes back, and counts its answers.
type returning struct {
	client
	resumed, unanswered int
}

func (c *returning) Resumed(*sessions.Session, sessions.Conn, int32, bool) { c.resumed++ }
func (c *returning) Unanswered()                                           { c.unanswered++ }

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
	require.Equal(t, 1, gone.unanswered)
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
