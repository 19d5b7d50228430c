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

// observers is what a follower does for the observers that learn from it, beside the stream that the core sends: what they ask for goes
// to the leader, and its answers go back. Owned by the node goroutine. Source: quorum-protocol 12.2; adr 0010.
//
// Invariants: an answer has its place between the INFORMs where it was between the commits of the leader (zab.Core.Answer). Nothing of
// an observer in Java overtakes its sync: it takes the txns of its requests, and SYNC, for those of the oldest that it has forwarded. And
// a session has one owner among this server and its observers, of which the leader sees only one link.
type observers struct {
	f       *following
	owners  map[proto.SessionID]zab.LinkID          // of sessions that an observer has
	renewed map[proto.SessionID]*flow.FIFO[renewal] // who has asked for a session, oldest first
	held    map[zab.LinkID]*heldBack                // by observer in Java
	answers map[uint64]waitingAnswer                // of the leader, by the tokens that the core has
	token   uint64                                  // of the last
}

// renewal is a REVALIDATE of an observer that the leader has not answered.
type renewal struct {
	link *peers.Link
	zxid proto.Zxid // of the packet: a server in Java wants it back
	at   int64      // ns on the server's clock
}

// waitingAnswer is what an observer is told when it has heard of the txns before it.
type waitingAnswer struct {
	link   zab.LinkID
	packet *peers.Packet
}

// heldBack is what waits behind the syncs of an observer.
type heldBack struct {
	syncs int // that are not answered
	queue flow.FIFO[peers.Packet]
	bytes int
}

func newObservers(f *following) *observers {
	return &observers{f: f, owners: map[proto.SessionID]zab.LinkID{},
		renewed: map[proto.SessionID]*flow.FIFO[renewal]{}, held: map[zab.LinkID]*heldBack{},
		answers: map[uint64]waitingAnswer{}}
}

// serves reports whether the learner on a link is up to date, so that it may ask for something.
func (o *observers) serves(l *peers.Link) bool {
	return !l.Dialled && o.f.link != nil && o.f.m.lease.exchanges[l.ID] != nil
}

// Packet takes a packet of an observer.
func (o *observers) Packet(l *peers.Link, p *peers.Packet) {
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
		q := o.renewed[id]
		if q == nil {
			q = &flow.FIFO[renewal]{}
			o.renewed[id] = q
		}
		q.Push(renewal{link: l, zxid: p.Zxid, at: m.Clock.Now()})
		o.forward(p)
	case proto.PacketRequest:
		if _, err := p.Identities(); err != nil { // the leader would close the link of this server
			m.Log.Warn("closing link", zap.Int64("server", int64(l.Peer)), zap.Error(err))
			m.peers.Close(l.ID)
			return
		}
		o.request(l, p)
	}
}

// request forwards a request, or keeps it behind the syncs before it.
func (o *observers) request(l *peers.Link, p *peers.Packet) {
	sync := proto.OpCode(binary.BigEndian.Uint32(p.Data[12:])) == proto.OpSync
	if h := o.held[l.ID]; h != nil && (h.queue.Len() > 0 || !sync) {
		h.queue.Push(*p)
		if h.bytes += len(p.Data) + len(p.Authinfo); h.bytes > o.f.m.masterQueue() {
			o.f.m.Log.Warn("closing link: too much waits behind a sync", zap.Int64("server", int64(l.Peer)), zap.Int("bytes", h.bytes))
			o.f.m.peers.Close(l.ID)
		}
		return
	}
	if sync {
		o.f.syncs.Push(syncer{session: proto.SessionID(binary.BigEndian.Uint64(p.Data)), link: l})
		if !o.f.m.warren[l.ID] {
			h := o.held[l.ID]
			if h == nil {
				h = &heldBack{}
				o.held[l.ID] = h
			}
			h.syncs++
		}
	}
	o.forward(o.owned(l, p))
}

// owned is a request as the leader is to see it: that of a session which has moved from this observer to another, or to this server, is
// marked, if the leader understands that.
func (o *observers) owned(l *peers.Link, p *peers.Packet) *peers.Packet {
	id, op := proto.SessionID(binary.BigEndian.Uint64(p.Data)), proto.OpCode(binary.BigEndian.Uint32(p.Data[12:]))
	owner, known := o.owners[id]
	switch {
	case op == proto.OpCreateSession, !known && !o.f.m.Tracker.Serves(id):
		o.owners[id] = l.ID
	case op == proto.OpCloseSession:
	case owner != l.ID && o.f.m.warren[o.f.link.ID]:
		return &peers.Packet{Type: p.Type, Zxid: peers.MovedZxid, Data: p.Data, Authinfo: p.Authinfo}
	}
	return p
}

// came notes that a session is this server's own now.
func (o *observers) came(id proto.SessionID) { delete(o.owners, id) }

// ended notes the end of a session.
func (o *observers) ended(id proto.SessionID) { delete(o.owners, id) }

// forward sends what an observer has sent to the leader.
func (o *observers) forward(p *peers.Packet) {
	o.f.link.SendPacket(p)
	o.f.m.touch(o.f.link)
}

// behind lets the leader's answer go to an observer behind what the leader has committed by now.
func (o *observers) behind(l *peers.Link, p *peers.Packet) {
	if o.f.m.links[l.ID] != l {
		return // it is gone
	}
	o.token++
	o.answers[o.token] = waitingAnswer{l.ID, p}
	o.f.m.core.Answer(l.ID, o.token)
}

// answer sends an observer what it has asked for: now is the turn of the answer with this token.
func (o *observers) answer(l *peers.Link, token uint64) {
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

// revalidated takes the leader's answer for a session that no client of this server has asked for.
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
		return // it is gone
	}
	if valid {
		o.owners[id] = r.link.ID
		if c := o.f.m.Tracker.Leave(id); c != nil {
			c.Abort()
		}
	}
	answer := &peers.Packet{Type: proto.PacketRevalidate, Zxid: r.zxid, Data: append([]byte(nil), p.Data...)}
	if o.f.m.warren[r.link.ID] {
		answer.Zxid = p.Zxid
	}
	o.behind(r.link, answer)
}

// giveUp forgets what the leader has not answered since limit: the observers have given it up too.
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

// gone forgets what waits for an observer that is gone.
func (o *observers) gone(id zab.LinkID) {
	delete(o.held, id)
	maps.DeleteFunc(o.answers, func(_ uint64, a waitingAnswer) bool { return a.link == id })
	maps.DeleteFunc(o.owners, func(_ proto.SessionID, owner zab.LinkID) bool { return owner == id })
}

// masterQueue is how much may wait for an observer, in bytes.
func (s *Host) masterQueue() int {
	return max(int(s.Config.Quorum.ObserverMasterSizeLimit), masterQueueMin)
}

// masterQueueMin is the least that observerMaster.sizeLimit can be set to: a snapshot has to be under way.
const masterQueueMin = 1 << 20
