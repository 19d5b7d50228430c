package host

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A client that comes back goes on when this server has everything that it has asked for before, or will never have
// it. So what it reads then tells it what has become of a write that it got no answer to.
//
// A session that moves to another server leaves a txn in the history: a createSession with its timeout, which begins
// no session because there is one. Servers in Java take it as one of a session that has become global. What the client
// has asked for at the former server is before it, or is refused. A server that has lost the leader, and has kept the
// connection of a client that left it meanwhile, reads in the history that the session was elsewhere. See package
// kept.

// move is a client that has come back, on its way to another server, or to the same one.
type move struct {
	id        proto.SessionID
	timeoutMs int32
	zxid      proto.Zxid       // of its txn, or the newest one if it stays
	client    *flow.Resumption // of a client of this server; nil for one of a learner
	outdated  bool             // the client has a newer connection to this server
	link      *link            // to the learner
	asked     proto.Zxid       // the zxid of its question, which is the number of it
}

// move lets a client go on when all that it has asked for before is committed. With note the history tells of it, but
// not at a standalone server. REQUIRES: the Tracker has given the session to where it goes.
func (l *leading) move(to move, note bool) {
	if note && l.h.peers != nil {
		timeout := proto.AppendInt32(nil, to.timeoutMs)
		l.propose(&write{session: to.id, xid: flow.MoveXid, op: proto.OpCreateSession, body: timeout}, proto.OK)
	}
	to.zxid = l.last
	if l.moves.Push(to); to.zxid <= l.done {
		l.delivered(l.done)
	}
}

// resume implements role: the session goes on here, if it exists, as soon as it is noted that it has moved.
func (l *leading) resume(r *flow.Resumption) {
	if l.handing != nil || l.Tracker.Ends(r.ID) {
		r.Client.Abort() // no session moves now; an end that has begun is not final before it is committed
		return
	}
	l.outdateMoves(r.ID)
	from, note, valid := l.Tracker.Revalidate(r.ID, r.TimeoutMs, 0, r.Received)
	if !valid {
		r.Client.Resumed(nil, nil, 0, false)
		return
	}
	l.outdate(r.ID)
	l.moved(r.ID, from, 0)
	l.move(move{id: r.ID, timeoutMs: r.TimeoutMs, client: r}, note)
}

// outdate refuses the requests of a session that wait behind a sync: its client has a newer connection. REQUIRES: the
// session has gone there. If it stays where it is, what has not arrived yet of its requests is not refused, and must
// not be executed without these.
func (l *leading) outdate(id proto.SessionID) {
	l.syncs.Behind(id, func(w *write) { w.moved = true })
}

// outdateMoves notes that a client that may still wait here has a newer connection to this server.
func (l *leading) outdateMoves(id proto.SessionID) {
	for to := range l.moves.All() {
		to.outdated = to.outdated || to.id == id && to.client != nil
	}
}

// destination is the owner of a session that has moved.
func (l *leading) destination(to *move) zab.LinkID {
	if to.link == nil {
		return 0
	}
	return to.link.ID
}

// delivered implements role: it answers for the clients that may go on.
func (l *leading) delivered(z proto.Zxid) {
	for l.done = z; l.moves.Len() > 0 && l.moves.Front().zxid <= z; {
		to := *l.moves.Front()
		l.moves.Pop()
		l.arrived(&to)
	}
}

// movesEnd gives up the clients that do not go on yet.
func (l *leading) movesEnd() {
	for ; l.moves.Len() > 0; l.moves.Pop() {
		switch to := l.moves.Front(); {
		case to.client == nil:
		case to.outdated:
			to.client.Client.Abort()
		default:
			to.client.Client.Unanswered()
		}
	}
}

// arrived answers for a session that goes on at its new server, unless it has moved on or its end has begun meanwhile.
// A Warren learner gives up clients that have left it, and learns from the history that a session has ended; one in
// Java is answered as by a leader in Java.
func (l *leading) arrived(to *move) {
	here, lives := l.Tracker.Owner(to.id) == l.destination(to), l.Tracker.Lives(to.id)
	switch r := to.client; {
	case r == nil:
		if here && lives || !to.link.warren {
			l.revalidated(to, lives)
		}
	case !here, to.outdated, l.Tracker.Ends(to.id):
		r.Client.Abort()
	default:
		s, old := l.Tracker.Resume(to.id, r.TimeoutMs, r.Client, r.Received)
		r.Whole = true
		l.h.goesOn(r, s, old)
	}
}

// revalidated answers the question of a learner about a session. A learner in Java expects its own zxid back.
func (l *leading) revalidated(to *move, valid bool) {
	if !l.h.links.has(to.link) {
		return // it has closed
	}
	a := peers.Revalidated{Session: to.id, Valid: valid, Proposed: to.zxid, Question: max(int64(to.asked), 0)}
	p := a.JavaPacket(to.asked)
	if to.link.warren {
		p = a.Packet()
	}
	l.h.links.send(to.link, p)
}
