// Package observers is what a follower does for the observers that learn from it, besides the stream that the core
// sends: it forwards their requests to the leader, and the leader's answers back. Source: quorum-protocol 12.2; adr
// 0010.
//
// The package knows links by what it is handed, and the role and the agreement by Needs. It has no goroutine and no
// lock. A Master belongs to the host goroutine, and lives as long as the role of the follower.
package observers

import (
	"encoding/binary"
	"maps"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Needs is what a Master needs of its server.
type Needs struct {
	// Forward sends a packet to the leader.
	Forward func(*peers.Packet)
	// Send sends a packet to an observer.
	Send func(*peers.Link, *peers.Packet)
	// Question numbers the next question to the leader about a session.
	Question func() int64
	// Syncs says that the next sync that is forwarded is one of an observer. The leader's answer is given to
	// AnswerInOrder.
	Syncs func(proto.SessionID, *peers.Link)
	// Answer lets the core call for an answer, by its token, when the txns before it are sent. See zab.Core.Answer.
	Answer func(zab.LinkID, uint64)
	// IsOpen reports whether a link is open.
	IsOpen func(*peers.Link) bool
	// Close ends a link.
	Close    func(zab.LinkID)
	Sessions Sessions
	// Now is the server's clock, ns.
	Now func() int64
	Log *zap.Logger
	// LeaderIsWarren says that the leader is no server in Java.
	LeaderIsWarren bool
	// QueueMax is how many bytes of one observer may wait behind a sync.
	QueueMax int
}

// Sessions are the sessions that this server knows. See sessions.Tracker.
type Sessions interface {
	HeardBelow(touched []byte)
	Serves(proto.SessionID) bool
	Remove(proto.SessionID) sessions.Conn
}

// Master serves the observers that learn from a follower.
//
// Invariants:
//
//   - An answer is placed between the same INFORMs as it was between the COMMITs of the leader (zab.Core.Answer).
//   - Nothing from an observer in Java overtakes its sync. Such an observer assigns a commit of its own request, or
//     a SYNC, to the oldest request that it has forwarded.
//   - A session has one owner among this server and its observers. The leader sees only the link of this server for
//     all of them.
type Master struct {
	needs   Needs
	owners  map[proto.SessionID]zab.LinkID          // sessions that an observer owns
	renewed map[proto.SessionID]*flow.FIFO[renewal] // REVALIDATEs of observers by session, oldest first
	held    map[zab.LinkID]*heldBack                // by observer in Java
	answers map[uint64]waitingAnswer                // answers of the leader, by the tokens that the core has
	token   uint64                                  // of the last answer
}

// renewal is a REVALIDATE of an observer that the leader has not answered.
type renewal struct {
	link   *peers.Link
	warren bool
	// zxid of the packet, the number of the observer's question: a server in Java expects it back.
	zxid     proto.Zxid
	question int64 // its number among those that the leader is asked on this server's link
	at       int64 // ns on the server's clock
}

// waitingAnswer is an answer that an observer gets after the txns before it.
type waitingAnswer struct {
	link   zab.LinkID
	packet *peers.Packet
}

// heldBack are requests that wait behind the syncs of an observer in Java.
type heldBack struct {
	syncs int // not answered yet
	queue flow.FIFO[peers.Packet]
	bytes int
}

// New returns a Master without observers.
func New(needs Needs) *Master {
	return &Master{needs: needs, owners: map[proto.SessionID]zab.LinkID{},
		renewed: map[proto.SessionID]*flow.FIFO[renewal]{}, held: map[zab.LinkID]*heldBack{},
		answers: map[uint64]waitingAnswer{}}
}

// Packet handles a packet of an observer that is up to date. warren says that the observer is no server in Java.
func (o *Master) Packet(l *peers.Link, warren bool, p *peers.Packet) {
	switch p.Type {
	case proto.PacketPing:
		o.needs.Sessions.HeardBelow(p.Data)
	case proto.PacketRevalidate:
		r := proto.NewReader(p.Data)
		id := proto.SessionID(r.Int64())
		asked := renewal{link: l, warren: warren, zxid: p.Zxid, question: o.needs.Question(), at: o.needs.Now()}
		flow.QueueOf(o.renewed, id).Push(asked)
		o.needs.Forward(&peers.Packet{Type: p.Type, Zxid: proto.Zxid(asked.question), Data: p.Data})
	case proto.PacketRequest:
		if _, err := p.Identities(); err != nil { // the leader would close the link to this server
			o.needs.Log.Warn("closing the link to an observer: its request is malformed",
				zap.Int64("server", int64(l.Peer)), zap.Error(err))
			o.needs.Close(l.ID)
			return
		}
		o.request(l, warren, p)
	}
}

// request forwards a request, or holds it back behind the syncs before it.
func (o *Master) request(l *peers.Link, warren bool, p *peers.Packet) {
	sync := proto.OpCode(binary.BigEndian.Uint32(p.Data[12:])) == proto.OpSync
	if h := o.held[l.ID]; h != nil && (h.queue.Len() > 0 || !sync) {
		h.queue.Push(*p)
		if h.bytes += len(p.Data) + len(p.Authinfo); h.bytes > o.needs.QueueMax {
			o.needs.Log.Warn("closing the link to an observer: too many bytes wait behind a sync",
				zap.Int64("server", int64(l.Peer)), zap.Int("bytes", h.bytes))
			o.needs.Close(l.ID)
		}
		return
	}
	if sync {
		o.needs.Syncs(proto.SessionID(binary.BigEndian.Uint64(p.Data)), l)
		if !warren {
			h := o.held[l.ID]
			if h == nil {
				h = &heldBack{}
				o.held[l.ID] = h
			}
			h.syncs++
		}
	}
	o.needs.Forward(o.markMoved(l, p))
}

// markMoved returns a request as the leader should see it. If the session has moved from this observer to another,
// or to this server, the request is marked, provided that the leader understands the mark.
func (o *Master) markMoved(l *peers.Link, p *peers.Packet) *peers.Packet {
	id, op := proto.SessionID(binary.BigEndian.Uint64(p.Data)), proto.OpCode(binary.BigEndian.Uint32(p.Data[12:]))
	owner, known := o.owners[id]
	switch {
	case op == proto.OpCreateSession, !known && !o.needs.Sessions.Serves(id):
		o.owners[id] = l.ID
	case op == proto.OpCloseSession:
	case owner != l.ID && o.needs.LeaderIsWarren:
		return &peers.Packet{Type: p.Type, Zxid: peers.MovedZxid, Data: p.Data, Authinfo: p.Authinfo}
	}
	return p
}

// Owner returns the link of the observer that owns a session, 0 if none does.
func (o *Master) Owner(id proto.SessionID) zab.LinkID { return o.owners[id] }

// Disown notes that no observer owns a session any more: this server owns it, or it has ended.
func (o *Master) Disown(id proto.SessionID) { delete(o.owners, id) }

// Ended notes that a session has ended, which the leader need not say to those that have asked for it.
func (o *Master) Ended(id proto.SessionID) {
	o.Disown(id)
	q := o.renewed[id]
	if q == nil {
		return
	}
	delete(o.renewed, id)
	for ; q.Len() > 0; q.Pop() {
		if r := *q.Front(); o.needs.IsOpen(r.link) {
			o.reply(&r, &peers.Revalidated{Session: id})
		}
	}
}

// AnswerInOrder sends an answer of the leader to an observer, behind the txns that the leader has committed so far.
func (o *Master) AnswerInOrder(l *peers.Link, p *peers.Packet) {
	if !o.needs.IsOpen(l) {
		return // the link has closed
	}
	o.token++
	o.answers[o.token] = waitingAnswer{l.ID, p}
	o.needs.Answer(l.ID, o.token)
}

// Answer sends an observer the answer with this token: the txns before it were sent.
func (o *Master) Answer(l *peers.Link, token uint64) {
	a, ok := o.answers[token]
	if !ok {
		return
	}
	delete(o.answers, token)
	p := a.packet
	o.needs.Send(l, p)
	h := o.held[l.ID]
	if p.Type != proto.PacketSync || h == nil {
		return
	}
	if h.syncs--; h.syncs > 0 {
		return
	}
	delete(o.held, l.ID)
	for h.queue.Len() > 0 { // the next sync holds the rest back again
		next := *h.queue.Front()
		h.queue.Pop()
		o.request(l, false, &next)
	}
}

// Revalidated handles the leader's answer about a session that no client of this server has asked for.
func (o *Master) Revalidated(a *peers.Revalidated) {
	id := a.Session
	q := o.renewed[id]
	if q == nil {
		return
	}
	for a.Question > 0 && q.Len() > 0 && q.Front().question < a.Question {
		q.Pop() // the leader has not answered it
	}
	var r renewal
	if q.Len() > 0 && (a.Question == 0 || q.Front().question == a.Question) {
		r = *q.Front()
		q.Pop()
	}
	if q.Len() == 0 {
		delete(o.renewed, id)
	}
	if r.link == nil || !o.needs.IsOpen(r.link) {
		return // nobody waits for this answer
	}
	if a.Valid {
		o.owners[id] = r.link.ID
		if c := o.needs.Sessions.Remove(id); c != nil {
			c.Abort()
		}
	}
	o.reply(&r, a)
}

// reply answers the question of an observer with what the leader has said.
func (o *Master) reply(r *renewal, a *peers.Revalidated) {
	if !r.warren {
		o.AnswerInOrder(r.link, a.JavaPacket(r.zxid))
		return
	}
	answer := peers.Revalidated{Session: a.Session, Valid: a.Valid, Proposed: a.Proposed}
	if a.Question > 0 {
		answer.Question = max(int64(r.zxid), 0)
	}
	o.AnswerInOrder(r.link, answer.Packet())
}

// GiveUp forgets questions that the leader has not answered since limit: the observers have given them up too.
func (o *Master) GiveUp(limit int64) {
	for id, q := range o.renewed {
		for q.Len() > 0 && q.Front().at < limit {
			q.Pop()
		}
		if q.Len() == 0 {
			delete(o.renewed, id)
		}
	}
}

// Gone forgets what waits for an observer after its link has closed.
func (o *Master) Gone(id zab.LinkID) {
	delete(o.held, id)
	maps.DeleteFunc(o.answers, func(_ uint64, a waitingAnswer) bool { return a.link == id })
	maps.DeleteFunc(o.owners, func(_ proto.SessionID, owner zab.LinkID) bool { return owner == id })
}
