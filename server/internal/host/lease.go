package host

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// lease is until when a member may answer clients: as long as it knows that what it says about their sessions arrives. A member that is cut
// off would else keep clients believing in sessions that the leader, or the next one, has given up. Owned by the node goroutine.
//
// Let D be its length, T a session's timeout.
//
//   - A learner answers at x only if its leader has received an answer to PING that was made at x-D or later. That answer told of every session
//     heard of before. A leader that is Warren says with its PINGs how many answers have arrived; one in Java is taken at its PINGs.
//   - A leader answers at x only if a quorum has answered PINGs that were sent at x-D or later. The next leader, which needs one of that
//     quorum, begins after that, and gives every session its whole timeout.
//   - A leader that must not answer clients does not answer REVALIDATE either, nor say what has arrived.
//   - An observer that learns from a follower hears from that one how many of its answers have arrived at the leader: by way of answers of the
//     follower of which the leader says the same.
//
// So a client that sends something every T/3 is answered for the last time before e-2T/3+D if its session is expired at e by the leader of
// then, and before e-T+2D if by a later one. When the lease ends its connections are closed: who counts possession by them is in time if T is
// longer than 2D. Source: quorum-protocol 8.5, where a learner answers its clients for up to syncLimit ticks.
type lease struct {
	length    time.Duration
	from      int64 // what arrived was sent then, ns on the server's clock; 0 if nothing is known
	offered   int64 // when a leader that does not serve yet has sent NEWLEADER first, 0 before
	exchanges map[zab.LinkID]*exchange
	isOver    bool // the connections were closed
	endless   bool // a standalone server may always answer
	heard     []heardOf
}

// exchange is the PINGs of one link and their answers, which come in their order.
type exchange struct {
	sent    flow.FIFO[int64] // when, of what has not arrived: PINGs of a leader, answers of a learner
	arrived uint64           // how many have
	newest  int64            // when the newest of them was sent
	told    uint64           // by a leader, or observer master: how many answers have arrived at the leader
	carried flow.FIFO[carriage]
}

// carriage is what an observer master has told its leader of an observer: all that had arrived of it went with one answer.
type carriage struct {
	answer  uint64 // its number among the answers of the master
	arrived uint64 // how many answers of the observer it covers
}

// exchangeMax bounds what a link may leave unanswered.
const exchangeMax = 4096

// take notes that n in all have arrived.
func (x *exchange) take(n uint64) {
	for x.arrived < n && x.sent.Len() > 0 {
		x.newest = *x.sent.Front()
		x.sent.Pop()
		x.arrived++
	}
}

// heardOf is since when a server was surely heard of.
type heardOf struct {
	id proto.ServerID
	at int64
}

// leaseTime is how long a member may answer clients without a sign: a third of the time after which it gives up its leader, and two
// ticks at least, since there are two PINGs in each.
func (s *Host) leaseTime() time.Duration {
	return max(2*s.Config.TickTime, time.Duration(max(s.Config.SyncLimit, 1))*s.Config.TickTime/3)
}

// arrivedMark is the timeout of the entry in PING whose id is how many answers have arrived: no session has it, and an id of 0 is
// NoRoom.
const arrivedMark = -1

// Ping is a PING to a learner. To one that is Warren it says, in the form of touched sessions, how many answers have arrived, and
// that there is no room.
func (m *Host) Ping(l *peers.Link, msg *zab.Message) *peers.Packet {
	p := &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid}
	isWarren := m.warren[l.ID]
	if isWarren && m.refusesWrites() {
		p.Data = append(p.Data, noRoom[:]...)
	}
	x := m.lease.exchanges[l.ID]
	if x == nil {
		return p // not up to date: it answers none
	}
	if x.sent.Push(m.Clock.Now()); x.sent.Len() > exchangeMax {
		m.peers.Close(l.ID)
	}
	if m.status.State != zab.Following && m.MayAnswer() {
		x.told = x.arrived
	}
	if isWarren && x.told > 0 {
		p.Data = binary.BigEndian.AppendUint64(p.Data, x.told)
		p.Data = proto.AppendInt32(p.Data, arrivedMark)
	}
	return p
}

// saysArrived is how many answers have arrived according to the data of a PING, 0 if it does not say.
func saysArrived(data []byte) uint64 {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if int32(binary.BigEndian.Uint32(data[8:])) == arrivedMark {
			return binary.BigEndian.Uint64(data)
		}
	}
	return 0
}

// pong is the answer to a PING, with the sessions that were heard of since the last one. Source: quorum-protocol 8.5.
func (m *Host) pong(l *peers.Link, msg *zab.Message) *peers.Packet {
	x := m.lease.exchanges[l.ID]
	if x == nil {
		x = &exchange{}
		m.lease.exchanges[l.ID] = x
	}
	x.sent.Push(m.Clock.Now())
	data := m.Tracker.AppendTouched([]byte{})
	if m.role != nil { // or what the observers have told is not among it
		m.eachServed(func(y *exchange) {
			y.carried.Push(carriage{answer: x.arrived + uint64(x.sent.Len()), arrived: y.arrived})
			if y.carried.Len() > exchangeMax {
				y.carried.Pop()
			}
		})
	}
	if m.warren[l.ID] && m.Guard.Full() {
		data = append(data, noRoom[:]...)
	}
	return &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid, Data: data}
}

// pinged takes a PING, or the answer to one.
func (m *Host) pinged(l *peers.Link, p *peers.Packet) {
	x := m.lease.exchanges[l.ID]
	switch {
	case x == nil: // nothing can have been answered
	case !l.Dialled:
		x.take(x.arrived + 1)
		if m.status.State != zab.Following {
			m.renew(m.quorumHeard())
		}
	case m.warren[l.ID]:
		x.take(saysArrived(p.Data))
		m.renew(x.newest)
		m.carriedUpTo(x.arrived)
	default:
		m.carriedUpTo(x.arrived + uint64(x.sent.Len()))
		x.arrived += uint64(x.sent.Len())
		x.sent = flow.FIFO[int64]{}
		m.renew(m.Clock.Now())
	}
}

// carriedUpTo notes how many of this server's answers have arrived at the leader, with what they have told of observers.
func (m *Host) carriedUpTo(answer uint64) {
	m.eachServed(func(y *exchange) {
		for y.carried.Len() > 0 && y.carried.Front().answer <= answer {
			y.told = y.carried.Front().arrived
			y.carried.Pop()
		}
	})
}

// eachServed calls fn for each learner of this server that is up to date.
func (m *Host) eachServed(fn func(*exchange)) {
	for id, x := range m.lease.exchanges {
		if l := m.links[id]; l != nil && !l.Dialled {
			fn(x)
		}
	}
}

// refusesWrites reports whether the leader, which this server is or follows, refuses writes for lack of room.
func (m *Host) refusesWrites() bool {
	switch r := m.role.(type) {
	case *leading:
		return r.refuses
	case *following:
		return r.refuses
	}
	return false
}

// quorumHeard is since when a quorum has surely been with this leader, 0 if it is not known.
func (m *Host) quorumHeard() int64 {
	all := append(m.lease.heard[:0], heardOf{m.ID, m.Clock.Now()})
	for id, x := range m.lease.exchanges {
		if l := m.links[id]; l != nil {
			all = append(all, heardOf{l.Peer, x.newest})
		}
	}
	m.lease.heard = all
	slices.SortFunc(all, func(a, b heardOf) int { return cmp.Compare(b.at, a.at) })
	ids := make([]proto.ServerID, 0, len(all))
	for _, h := range all {
		if ids = append(ids, h.id); m.decides(ids...) {
			return h.at
		}
	}
	return 0
}

// renew lets the lease run from the time at which something was sent that has arrived.
func (m *Host) renew(from int64) {
	if !m.lease.endless && from > m.lease.from {
		m.lease.from = from
		length := m.lease.length
		if m.Weak(weakness.LeaseOutlivesQuorum) {
			length *= 100
		}
		m.LeaseEnd.Store(from + int64(length))
		m.lease.isOver = m.lease.isOver && !m.MayAnswer()
	}
}

// beginLease lets the lease run for the service that begins. A learner's clients come with the leave of a leader that may give it; a
// leader knows that its quorum was there when NEWLEADER left.
func (m *Host) beginLease(state zab.State) {
	from := m.Clock.Now()
	if state == zab.Leading && m.lease.offered != 0 {
		from = m.lease.offered
	}
	m.renew(from)
}

// endLease ends it with the service.
func (m *Host) endLease() {
	if m.lease.endless {
		return
	}
	m.lease.from, m.lease.isOver = 0, false
	m.LeaseEnd.Store(0)
}

// keepLease is called with every tick of the core: whoever may not be answered any more is sent away.
func (m *Host) keepLease() {
	if m.role == nil || m.ReadOnly.Load() || m.lease.endless {
		return
	}
	if m.status.State == zab.Leading {
		m.renew(m.quorumHeard())
	}
	if m.lease.isOver || m.MayAnswer() {
		return
	}
	m.lease.isOver = true
	m.Log.Warn("closing client connections: nothing shows that what is said of their sessions arrives", zap.Duration("for", m.lease.length))
	m.clients.AbortAll()
}
