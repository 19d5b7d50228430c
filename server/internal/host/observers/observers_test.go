package observers

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// follower is the server of a Master: it notes what it is asked for.
type follower struct {
	master  *Master
	now     int64
	toward  []string // what was sent to the leader
	down    []string // what was sent to observers
	syncs   []zab.LinkID
	tokens  []uint64 // answers that the core is to call for
	closed  map[zab.LinkID]bool
	serves  map[proto.SessionID]bool
	touched []byte
	// questions is how many the leader was asked
	questions int64
}

func (f *follower) HeardBelow(data []byte)                  { f.touched = append(f.touched, data...) }
func (f *follower) Serves(id proto.SessionID) bool          { return f.serves[id] }
func (f *follower) Remove(id proto.SessionID) sessions.Conn { delete(f.serves, id); return nil }

func follows(leaderIsWarren bool) *follower {
	f := &follower{closed: map[zab.LinkID]bool{}, serves: map[proto.SessionID]bool{}}
	f.master = New(Needs{
		Forward: func(p *peers.Packet) { f.toward = append(f.toward, text(p)) },
		Send: func(l *peers.Link, p *peers.Packet) {
			f.down = append(f.down, fmt.Sprintf("%d: %s", l.ID, text(p)))
		},
		Question: func() int64 { f.questions++; return f.questions },
		Syncs:    func(_ proto.SessionID, l *peers.Link) { f.syncs = append(f.syncs, l.ID) },
		Answer:   func(_ zab.LinkID, token uint64) { f.tokens = append(f.tokens, token) },
		IsOpen:   func(l *peers.Link) bool { return !f.closed[l.ID] },
		Close:    func(id zab.LinkID) { f.closed[id] = true },
		Sessions: f, Now: func() int64 { return f.now }, Log: zap.NewNop(),
		LeaderIsWarren: leaderIsWarren, QueueMax: 100,
	})
	return f
}

// text describes a packet: of a request the session and its xid, of others the type.
func text(p *peers.Packet) string {
	moved := ""
	if p.Zxid == peers.MovedZxid {
		moved = " moved"
	}
	switch p.Type {
	case proto.PacketRequest:
		session, xid := binary.BigEndian.Uint64(p.Data), binary.BigEndian.Uint32(p.Data[8:])
		return fmt.Sprintf("request %d of %d%s", xid, session, moved)
	case proto.PacketRevalidate:
		return fmt.Sprintf("revalidate %d, zxid %d", binary.BigEndian.Uint64(p.Data), p.Zxid)
	}
	return fmt.Sprint(p.Type)
}

func request(session, xid int, op proto.OpCode) *peers.Packet {
	b := binary.BigEndian.AppendUint64(nil, uint64(session))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	return &peers.Packet{Type: proto.PacketRequest, Zxid: -1, Data: binary.BigEndian.AppendUint32(b, uint32(op))}
}

func (f *follower) sent() (toward, down []string) {
	toward, down, f.toward, f.down = f.toward, f.down, nil, nil
	return toward, down
}

var java, warren = &peers.Link{ID: 7, Peer: 4}, &peers.Link{ID: 8, Peer: 5}

// Nothing from an observer in Java overtakes its sync. A Warren observer does not wait.
func TestNothingOvertakesASync(t *testing.T) {
	f := follows(true)
	m := f.master
	for xid, op := range []proto.OpCode{proto.OpSetData, proto.OpSync, proto.OpSync, proto.OpSetData, proto.OpSync,
		proto.OpSetData} {
		m.Packet(java, false, request(1, xid, op))
		m.Packet(warren, true, request(2, xid, op))
	}
	toward, _ := f.sent()
	require.Equal(t, []string{"request 0 of 1", "request 0 of 2", "request 1 of 1", "request 1 of 2", "request 2 of 1",
		"request 2 of 2", "request 3 of 2", "request 4 of 2", "request 5 of 2"}, toward)
	require.Equal(t, []zab.LinkID{7, 8, 7, 8, 8}, f.syncs)

	sync := &peers.Packet{Type: proto.PacketSync}
	m.AnswerInOrder(java, sync)
	m.AnswerInOrder(java, sync)
	require.Equal(t, []uint64{1, 2}, f.tokens)
	m.Answer(java, 1)
	toward, down := f.sent()
	require.Empty(t, toward, "another sync is not answered")
	require.Len(t, down, 1)
	m.Answer(java, 2)
	toward, down = f.sent()
	require.Equal(t, []string{"request 3 of 1", "request 4 of 1"}, toward, "the next sync holds the rest back")
	require.Len(t, down, 1)
	m.Answer(java, 2)
	m.AnswerInOrder(java, sync)
	m.Answer(java, 3)
	toward, down = f.sent()
	require.Equal(t, []string{"request 5 of 1"}, toward)
	require.Len(t, down, 1, "each answer once")
}

// What waits behind a sync is bounded.
func TestTooMuchBehindASync(t *testing.T) {
	f := follows(true)
	f.master.Packet(java, false, request(1, 0, proto.OpSync))
	for xid := range 6 {
		f.master.Packet(java, false, request(1, xid, proto.OpSetData))
		require.False(t, f.closed[7])
	}
	f.master.Packet(java, false, request(1, 6, proto.OpSetData))
	require.True(t, f.closed[7])
	f.master.Gone(7)
	require.Empty(t, f.master.held)
}

// A request whose identities cannot be read ends the link of the observer, not that of this server.
func TestGarbledRequest(t *testing.T) {
	f := follows(true)
	p := request(1, 0, proto.OpSetData)
	p.Authinfo = []byte{0, 0, 0, 9}
	f.master.Packet(java, false, p)
	require.True(t, f.closed[7])
	require.Empty(t, f.toward)
}

// The leader cannot tell observers apart, and is told which requests are of a session that has moved between them.
func TestMovedSessions(t *testing.T) {
	for _, leaderIsWarren := range []bool{true, false} {
		f := follows(leaderIsWarren)
		mark := map[bool]string{true: " moved"}[leaderIsWarren]
		f.serves[3] = true
		f.master.Packet(java, false, request(1, 0, proto.OpSetData)) // it owns the session from now on
		f.master.Packet(warren, true, request(1, 1, proto.OpSetData))
		f.master.Packet(warren, true, request(1, 2, proto.OpCloseSession))
		f.master.Packet(warren, true, request(3, 3, proto.OpSetData)) // this server serves it
		f.master.Packet(warren, true, request(1, 4, proto.OpCreateSession))
		f.master.Packet(warren, true, request(1, 5, proto.OpSetData))
		f.master.Disown(1)
		f.master.Packet(java, false, request(1, 6, proto.OpSetData))
		f.master.Gone(7)
		f.master.Packet(warren, true, request(1, 7, proto.OpSetData))
		toward, _ := f.sent()
		require.Equal(t, []string{"request 0 of 1", "request 1 of 1" + mark, "request 2 of 1", "request 3 of 3" + mark,
			"request 4 of 1", "request 5 of 1", "request 6 of 1", "request 7 of 1"}, toward)
	}
}

// The leader's answers about a session go to the observers in the order in which they have asked. An observer in Java
// expects its own zxid.
func TestRevalidation(t *testing.T) {
	f := follows(true)
	ask := func(zxid proto.Zxid) *peers.Packet {
		return &peers.Packet{Type: proto.PacketRevalidate, Zxid: zxid, Data: proto.AppendInt64(nil, 1)}
	}
	leader := func(question int64, valid bool) *peers.Revalidated {
		return &peers.Revalidated{Session: 1, Valid: valid, Proposed: 90, Question: question}
	}
	f.serves[1] = true
	f.master.Packet(java, false, ask(21))
	f.now = 10
	f.master.Packet(warren, true, ask(22))
	f.master.Packet(warren, true, ask(23))
	toward, _ := f.sent()
	require.Equal(t, []string{"revalidate 1, zxid 1", "revalidate 1, zxid 2", "revalidate 1, zxid 3"}, toward)
	f.master.Revalidated(leader(1, false))
	require.True(t, f.serves[1], "it stays here")
	f.master.Revalidated(leader(1, true))
	require.True(t, f.serves[1], "that was answered")
	f.master.Revalidated(leader(0, true)) // by a leader that does not say to which question
	require.False(t, f.serves[1])
	f.master.Answer(java, 1)
	f.master.Answer(warren, 2)
	_, down := f.sent()
	require.Equal(t, []string{"7: revalidate 1, zxid 21", "8: revalidate 1, zxid 90"}, down)
	f.master.GiveUp(10)
	require.Len(t, f.master.renewed, 1)
	f.master.GiveUp(11)
	require.Empty(t, f.master.renewed)
	f.master.Revalidated(leader(3, true))
	require.Len(t, f.tokens, 2, "nobody has asked")

	f.master.Packet(java, false, ask(24))
	f.closed[7] = true
	f.master.Revalidated(leader(4, true))
	require.Len(t, f.tokens, 2, "the link has closed")

	f.closed[7] = false
	f.master.Packet(java, false, ask(25))
	f.master.Packet(warren, true, ask(26))
	f.master.Revalidated(leader(6, true))
	require.Len(t, f.tokens, 3, "the fifth is not answered")
	require.Empty(t, f.master.renewed)
}

// What waits for an observer ends with its link.
func TestGone(t *testing.T) {
	f := follows(true)
	f.master.AnswerInOrder(java, &peers.Packet{Type: proto.PacketSync})
	f.master.AnswerInOrder(warren, &peers.Packet{Type: proto.PacketSync})
	f.master.Gone(7)
	f.master.Answer(java, 1)
	f.master.Answer(warren, 2)
	_, down := f.sent()
	require.Len(t, down, 1)
}

func TestTouchedSessions(t *testing.T) {
	f := follows(true)
	f.master.Packet(java, false, &peers.Packet{Type: proto.PacketPing, Data: []byte{1, 2}})
	require.Equal(t, []byte{1, 2}, f.touched)
}
