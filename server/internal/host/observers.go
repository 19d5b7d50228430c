package host

import (
	"encoding/binary"
	"maps"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// observers is what a follower does for the observers that learn from it, besides the stream that the core sends:
// it forwards their requests to the leader, and the leader's answers back. Owned by the host goroutine. Source:
// quorum-protocol 12.2; adr 0010.
//
// Invariants:
//
//   - An answer is placed between the same INFORMs as it was between the COMMITs of the leader (zab.Core.Answer).
//   - Nothing from an observer in Java overtakes its sync. Such an observer assigns a commit of its own request, or
//     a SYNC, to the oldest request that it has forwarded.
//   - A session has one owner among this server and its observers. The leader sees only the link of this server for
//     all of them.
type observers struct {
	f       *following
	owners  map[proto.SessionID]zab.LinkID          // sessions that an observer owns
	renewed map[proto.SessionID]*flow.FIFO[renewal] // REVALIDATEs of observers by session, oldest first
	held    map[zab.LinkID]*heldBack                // by observer in Java
	answers map[uint64]waitingAnswer                // answers of the leader, by the tokens that the core has
	token   uint64                                  // of the last answer
}

// renewal is a REVALIDATE of an observer that the leader has not answered.
type renewal struct {
	link *link
	// zxid of the packet: a server in Java expects it back.
	zxid proto.Zxid
	at   int64 // ns on the server's clock
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

func newObservers(f *following) *observers {
	return &observers{f: f, owners: map[proto.SessionID]zab.LinkID{},
		renewed: map[proto.SessionID]*flow.FIFO[renewal]{}, held: map[zab.LinkID]*heldBack{},
		answers: map[uint64]waitingAnswer{}}
}

// serves reports whether the learner on a link is up to date, so that it may send requests.
func (o *observers) serves(l *link) bool {
	return o.f.link != nil && l.learner()
}

// Packet handles a packet of an observer.
func (o *observers) Packet(l *link, p *peers.Packet) {
	m := o.f.m
	if !o.serves(l) {
		return
	}
	switch p.Type {
	case proto.PacketPing:
		m.Tracker.HeardBelow(p.Data)
	case proto.PacketRevalidate:
		r := proto.NewReader(p.Data)
		id := proto.SessionID(r.Int64())
		flow.QueueOf(o.renewed, id).Push(renewal{link: l, zxid: p.Zxid, at: m.Clock.Now()})
		o.forward(p)
	case proto.PacketRequest:
		if _, err := p.Identities(); err != nil { // the leader would close the link to this server
			m.Log.Warn("closing link", zap.Int64("server", int64(l.Peer)), zap.Error(err))
			m.peers.Close(l.ID)
			return
		}
		o.request(l, p)
	}
}

// request forwards a request, or holds it back behind the syncs before it.
func (o *observers) request(l *link, p *peers.Packet) {
	sync := proto.OpCode(binary.BigEndian.Uint32(p.Data[12:])) == proto.OpSync
	if h := o.held[l.ID]; h != nil && (h.queue.Len() > 0 || !sync) {
		h.queue.Push(*p)
		if h.bytes += len(p.Data) + len(p.Authinfo); h.bytes > o.f.m.masterQueue() {
			o.f.m.Log.Warn("closing link: too much waits behind a sync", zap.Int64("server", int64(l.Peer)),
				zap.Int("bytes", h.bytes))
			o.f.m.peers.Close(l.ID)
		}
		return
	}
	if sync {
		o.f.syncs.Push(syncer{session: proto.SessionID(binary.BigEndian.Uint64(p.Data)), link: l})
		if !l.warren {
			h := o.held[l.ID]
			if h == nil {
				h = &heldBack{}
				o.held[l.ID] = h
			}
			h.syncs++
		}
	}
	o.forward(o.markMoved(l, p))
}

// markMoved returns a request as the leader should see it. If the session has moved from this observer to another,
// or to this server, the request is marked, provided that the leader understands the mark.
func (o *observers) markMoved(l *link, p *peers.Packet) *peers.Packet {
	id, op := proto.SessionID(binary.BigEndian.Uint64(p.Data)), proto.OpCode(binary.BigEndian.Uint32(p.Data[12:]))
	owner, known := o.owners[id]
	switch {
	case op == proto.OpCreateSession, !known && !o.f.m.Tracker.Serves(id):
		o.owners[id] = l.ID
	case op == proto.OpCloseSession:
	case owner != l.ID && o.f.link.warren:
		return &peers.Packet{Type: p.Type, Zxid: peers.MovedZxid, Data: p.Data, Authinfo: p.Authinfo}
	}
	return p
}

// disown notes that no observer owns a session any more: it has ended, or this server owns it.
func (o *observers) disown(id proto.SessionID) { delete(o.owners, id) }

// forward sends a packet of an observer to the leader.
func (o *observers) forward(p *peers.Packet) {
	o.f.link.SendPacket(p)
	o.f.m.touch(o.f.link)
}

// answerInOrder sends an answer of the leader to an observer, behind the txns that the leader has committed so far.
func (o *observers) answerInOrder(l *link, p *peers.Packet) {
	if o.f.m.links[l.ID] != l {
		return // the link has closed
	}
	o.token++
	o.answers[o.token] = waitingAnswer{l.ID, p}
	o.f.m.member.Answer(l.ID, o.token)
}

// answer sends an observer the answer with this token: the txns before it were sent.
func (o *observers) answer(l *link, token uint64) {
	a, ok := o.answers[token]
	if !ok {
		return
	}
	delete(o.answers, token)
	p := a.packet
	l.SendPacket(p)
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
		o.request(l, &next)
	}
}

// revalidated handles the leader's answer about a session that no client of this server has asked for.
func (o *observers) revalidated(id proto.SessionID, valid bool, p *peers.Packet) {
	q := o.renewed[id]
	if q == nil {
		return
	}
	r := *q.Front()
	if q.Pop(); q.Len() == 0 {
		delete(o.renewed, id)
	}
	if o.f.m.links[r.link.ID] != r.link {
		return // the link has closed
	}
	if valid {
		o.owners[id] = r.link.ID
		if c := o.f.m.Tracker.Remove(id); c != nil {
			c.Abort()
		}
	}
	answer := &peers.Packet{Type: proto.PacketRevalidate, Zxid: r.zxid, Data: append([]byte(nil), p.Data...)}
	if r.link.warren {
		answer.Zxid = p.Zxid
	}
	o.answerInOrder(r.link, answer)
}

// giveUp forgets questions that the leader has not answered since limit: the observers have given them up too.
func (o *observers) giveUp(limit int64) {
	for id, q := range o.renewed {
		for q.Len() > 0 && q.Front().at < limit {
			q.Pop()
		}
		if q.Len() == 0 {
			delete(o.renewed, id)
		}
	}
}

// gone forgets what waits for an observer after its link has closed.
func (o *observers) gone(id zab.LinkID) {
	delete(o.held, id)
	maps.DeleteFunc(o.answers, func(_ uint64, a waitingAnswer) bool { return a.link == id })
	maps.DeleteFunc(o.owners, func(_ proto.SessionID, owner zab.LinkID) bool { return owner == id })
}

// masterQueue is how many bytes may wait for an observer.
func (m *Host) masterQueue() int {
	return max(int(m.Config.Quorum.ObserverMasterSizeLimit), masterQueueMin)
}

// masterQueueMin is the least effective value of observerMaster.sizeLimit, in bytes: a snapshot must fit in while
// it is sent.
const masterQueueMin = 1 << 20
