package kept

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// client is the connection of a session. It notes how its wait ended.
type client struct {
	flow.Client
	closed bool // by the client itself, meanwhile
	ended  string
}

func (c *client) Release(generation int64, goesOn bool) bool {
	c.ended = fmt.Sprintf("%v in %d", goesOn, generation)
	return goesOn && !c.closed
}

// server is the server of some kept connections: what it is asked for, in order.
type server struct {
	now    int64
	owed   map[proto.SessionID][]int32 // xids of requests that can be asked again
	stuck  map[proto.SessionID]bool    // sessions with one that cannot
	lost   []proto.SessionID
	taken  []int32 // xids
	unbind []proto.SessionID
	kept   *Connections
	client map[proto.SessionID]*client
}

// keeps returns a server that keeps the connections of sessions 1 to n. That of session i ends at 100*i.
func keeps(n proto.SessionID) *server {
	s := &server{owed: map[proto.SessionID][]int32{}, stuck: map[proto.SessionID]bool{},
		client: map[proto.SessionID]*client{}}
	var held []flow.Held
	for id := n; id > 0; id-- {
		s.client[id] = &client{}
		held = append(held, flow.Held{Client: s.client[id], Session: &sessions.Session{ID: id, After: 50}})
	}
	s.kept = New(4, held, func(s *sessions.Session) int64 { return 100 * int64(s.ID) }, Needs{
		CanAskAgain: func(id proto.SessionID) bool { return !s.stuck[id] },
		AskAgain: func(id proto.SessionID) (all []*flow.Batch) {
			for _, xid := range s.owed[id] {
				all = append(all, s.request(id, xid))
			}
			return all
		},
		Lose: func(id proto.SessionID) { s.lost = append(s.lost, id) },
		Take: func(all []*flow.Batch) {
			for _, b := range all {
				s.taken = append(s.taken, b.Requests[b.Taken].Xid)
			}
		},
		Unbind:     func(one *sessions.Session, _ sessions.Conn) { s.unbind = append(s.unbind, one.ID) },
		Generation: func() int64 { return 7 },
		Now:        func() int64 { return s.now },
	})
	return s
}

func (s *server) request(id proto.SessionID, xid int32) *flow.Batch {
	b := &flow.Batch{}
	b.Add(flow.Request{Client: s.client[id], Xid: xid}, nil)
	return b
}

// may returns which connections wait, each with whether it may go on.
func (s *server) may() (all []string) {
	s.kept.Each(func(h flow.Held, may bool) { all = append(all, fmt.Sprint(int64(h.Session.ID), may)) })
	return all
}

// A connection that goes on continues with what the former leader was given, and then with what has arrived since. One
// that does not gives up the former, and the latter is dropped by who takes it.
func TestGoesOnInOrder(t *testing.T) {
	s := keeps(2)
	s.owed[1] = []int32{11, 12}
	other := &flow.Batch{}
	other.Add(flow.Request{Client: &client{}, Xid: 99}, nil)
	rest := s.kept.Park([]*flow.Batch{s.request(1, 13), other, s.request(2, 21), s.request(1, 14)})
	require.Equal(t, []*flow.Batch{other}, rest)
	s.kept.GoOn(1, true)
	require.Equal(t, []int32{11, 12, 13, 14}, s.taken)
	require.Equal(t, "true in 7", s.client[1].ended)
	require.Empty(t, s.lost)
	s.kept.GoOn(2, false)
	require.Equal(t, []proto.SessionID{2}, s.lost)
	require.Equal(t, []int32{11, 12, 13, 14, 21}, s.taken)
	require.Equal(t, "false in 7", s.client[2].ended)
	require.Zero(t, s.kept.Len())

	s.kept.GoOn(1, false)
	require.Equal(t, "true in 7", s.client[1].ended, "its wait was over")
	require.Len(t, s.taken, 5)
	require.Len(t, s.kept.Park([]*flow.Batch{s.request(1, 15)}), 1, "its requests do not wait any more")
}

func TestMayGoOn(t *testing.T) {
	s := keeps(4)
	s.stuck[2] = true
	s.kept.Elsewhere(3, 51)
	s.kept.Elsewhere(4, 50) // the session itself had it
	s.kept.Elsewhere(9, 99)
	require.Equal(t, []string{"1 true", "2 false", "3 false", "4 true"}, s.may())
	require.True(t, s.kept.Outlive(5))
	require.True(t, s.kept.Outlive(4), "it is the leader that was lost")
	require.True(t, s.kept.Back(4))
	require.False(t, s.kept.Back(5))
	require.False(t, s.kept.Outlive(6))
	_, waits := s.kept.Of(3)
	require.True(t, waits)
	s.kept.Each(func(h flow.Held, may bool) { s.kept.GoOn(h.Session.ID, may) })
	require.Equal(t, []proto.SessionID{2, 3}, s.lost)
	_, waits = s.kept.Of(3)
	require.False(t, waits)
}

// No leader is asked for the session of a connection that was kept for too long.
func TestExpires(t *testing.T) {
	s := keeps(3)
	s.now = 100
	require.Zero(t, s.kept.Expire())
	s.now = 101
	require.Equal(t, 1, s.kept.Expire())
	require.Equal(t, []string{"2 true", "3 true"}, s.may())
	s.now = 200
	require.Zero(t, s.kept.Expire())
	s.now = 301
	require.Equal(t, 2, s.kept.Expire())
	require.Equal(t, []proto.SessionID{1, 2, 3}, s.lost)
	require.Zero(t, s.kept.Len())
	require.Zero(t, s.kept.Expire())
}

func TestDrop(t *testing.T) {
	s := keeps(3)
	s.kept.GoOn(2, true)
	s.kept.Drop()
	require.Equal(t, []proto.SessionID{1, 3}, s.lost)
	require.Equal(t, "true in 7", s.client[2].ended)
	require.Zero(t, s.kept.Len())
}

// A client may close its connection while it waits. Its session is free then for another one.
func TestClosedMeanwhile(t *testing.T) {
	s := keeps(2)
	s.client[1].closed, s.client[2].closed = true, true
	s.kept.GoOn(1, true)
	s.kept.GoOn(2, false)
	require.Equal(t, []proto.SessionID{1}, s.unbind, "the other one has not been bound again")
}
