package host

import (
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A session that moves to another server leaves a txn in the history, which changes nothing: an error with the xid
// flow.MoveXid. The client is answered when it is committed. So a server that has lost the leader, and has kept the
// connection of a client that left it meanwhile, reads in the history that the session was elsewhere. See keep.go.

// move is a session on its way to another server.
type move struct {
	id     proto.SessionID
	zxid   proto.Zxid       // of its txn
	client *flow.Resumption // of a client of this server; nil for one of a learner
	link   *peers.Link      // to the learner
	asked  proto.Zxid       // the zxid of its question
}

// move notes that a session has moved, and answers when that is committed. A session that stays where it was has not
// moved, and neither has any at a standalone server. REQUIRES: the Tracker has given the session to where it goes.
func (l *leading) move(to move, from zab.LinkID) {
	m := l.m
	if m.peers == nil || from == l.destination(&to) {
		to.zxid = l.next - 1
		l.arrived(&to)
		return
	}
	l.payloads.reserve(64, l.next-1, proto.Zxid(m.Finished.Load()))
	chunk := l.payloads.chunk
	l.lockState()
	header := proto.TxnHeader{ClientID: to.id, Cxid: flow.MoveXid, Zxid: l.next, Time: l.wallMs}
	start := len(chunk)
	e := l.push(prepare.AppendErrorTxn(chunk, header, proto.ErrSessionMoved), start)
	e.item.Op = proto.OpError
	to.zxid = e.zxid
	l.moves.Push(to)
}

// destination is the owner of a session that has moved.
func (l *leading) destination(to *move) zab.LinkID {
	if to.link == nil {
		return 0
	}
	return to.link.ID
}

// movesUpTo answers for the sessions whose move is committed.
func (l *leading) movesUpTo(z proto.Zxid) {
	for l.moves.Len() > 0 && l.moves.Front().zxid <= z {
		to := *l.moves.Front()
		l.moves.Pop()
		l.arrived(&to)
	}
}

// movesEnd gives up the moves that are not committed.
func (l *leading) movesEnd() {
	for ; l.moves.Len() > 0; l.moves.Pop() {
		if r := l.moves.Front().client; r != nil {
			r.Client.Unanswered()
		}
	}
}

// arrived answers for a session that goes on at its new server, unless it has moved on meanwhile.
func (l *leading) arrived(to *move) {
	here := l.m.Tracker.Owner(to.id) == l.destination(to)
	switch r := to.client; {
	case r == nil:
		if here || !l.m.warren[to.link.ID] { // otherwise the client has left that learner, which gives it up in time
			l.revalidated(to, true)
		}
	case !here:
		r.Client.Abort()
	default:
		s, old := l.m.Tracker.Resume(to.id, r.TimeoutMs, r.Client, r.Received)
		r.Client.Resumed(s, old, r.TimeoutMs)
	}
}

// revalidated answers the question of a learner about a session. A learner in Java expects its own zxid back.
func (l *leading) revalidated(to *move, valid bool) {
	if l.m.links[to.link.ID] != to.link {
		return // it has closed
	}
	proposed := to.asked
	if l.m.warren[to.link.ID] {
		proposed = to.zxid
	}
	data := proto.AppendBool(proto.AppendInt64(nil, int64(to.id)), valid)
	to.link.SendPacket(&peers.Packet{Type: proto.PacketRevalidate, Zxid: proposed, Data: data})
	l.m.touch(to.link)
}
