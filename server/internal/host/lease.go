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
	Length    time.Duration
	From      int64 // what arrived was sent then, ns on the server's clock; 0 if nothing is known
	Offered   int64 // when a leader that does not serve yet has sent NEWLEADER first, 0 before
	Exchanges map[zab.LinkID]*Exchange
	isOver    bool // the connections were closed
	endless   bool // a standalone server may always answer
	heard     []heardOf
}

// Exchange is the PINGs of one link and their answers, which come in their order.
type Exchange struct {
	Sent    flow.FIFO[int64] // when, of what has not arrived: PINGs of a leader, answers of a learner
	arrived uint64           // how many have
	Newest  int64            // when the newest of them was sent
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
func (x *Exchange) take(n uint64) {
	for x.arrived < n && x.Sent.Len() > 0 {
		x.Newest = *x.Sent.Front()
		x.Sent.Pop()
		x.arrived++
	}
}

// heardOf is since when a server was surely heard of.
type heardOf struct {
	id proto.ServerID
	at int64
}

// LeaseTime is how long a member may answer clients without a sign: a third of the time after which it gives up its leader, and two
// ticks at least, since there are two PINGs in each.
func (s *Host) LeaseTime() time.Duration {
	return max(2*s.Config.TickTime, time.Duration(max(s.Config.SyncLimit, 1))*s.Config.TickTime/3)
}

// ArrivedMark is the timeout of the entry in PING whose id is how many answers have arrived: no session has it, and an id of 0 is
// NoRoom.
const ArrivedMark = -1

// Ping is a PING to a learner. To one that is Warren it says, in the form of touched sessions, how many answers have arrived, and
// that there is no room.
func (m *Host) Ping(l *peers.Link, msg *zab.Message) *peers.Packet {
	p := &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid}
	isWarren := m.Warren[l.ID]
	if isWarren && m.refusesWrites() {
		p.Data = append(p.Data, NoRoom[:]...)
	}
	x := m.Lease.Exchanges[l.ID]
	if x == nil {
		return p // not up to date: it answers none
	}
	if x.Sent.Push(m.Clock.Now()); x.Sent.Len() > exchangeMax {
		m.peers.Close(l.ID)
	}
	if m.Status.State != zab.Following && m.MayAnswer() {
		x.told = x.arrived
	}
	if isWarren && x.told > 0 {
		p.Data = binary.BigEndian.AppendUint64(p.Data, x.told)
		p.Data = proto.AppendInt32(p.Data, ArrivedMark)
	}
	return p
}

// saysArrived is how many answers have arrived according to the data of a PING, 0 if it does not say.
func saysArrived(data []byte) uint64 {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if int32(binary.BigEndian.Uint32(data[8:])) == ArrivedMark {
			return binary.BigEndian.Uint64(data)
		}
	}
	return 0
}

// Pong is the answer to a PING, with the sessions that were heard of since the last one. Source: quorum-protocol 8.5.
func (m *Host) Pong(l *peers.Link, msg *zab.Message) *peers.Packet {
	x := m.Lease.Exchanges[l.ID]
	if x == nil {
		x = &Exchange{}
		m.Lease.Exchanges[l.ID] = x
	}
	x.Sent.Push(m.Clock.Now())
	data := m.Tracker.AppendTouched([]byte{})
	if m.Role != nil { // or what the observers have told is not among it
		m.eachServed(func(y *Exchange) {
			y.carried.Push(carriage{answer: x.arrived + uint64(x.Sent.Len()), arrived: y.arrived})
			if y.carried.Len() > exchangeMax {
				y.carried.Pop()
			}
		})
	}
	if m.Warren[l.ID] && m.Guard.Full() {
		data = append(data, NoRoom[:]...)
	}
	return &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid, Data: data}
}

// Pinged takes a PING, or the answer to one.
func (m *Host) Pinged(l *peers.Link, p *peers.Packet) {
	x := m.Lease.Exchanges[l.ID]
	switch {
	case x == nil: // nothing can have been answered
	case !l.Dialled:
		x.take(x.arrived + 1)
		if m.Status.State != zab.Following {
			m.renew(m.QuorumHeard())
		}
	case m.Warren[l.ID]:
		x.take(saysArrived(p.Data))
		m.renew(x.Newest)
		m.carriedUpTo(x.arrived)
	default:
		m.carriedUpTo(x.arrived + uint64(x.Sent.Len()))
		x.arrived += uint64(x.Sent.Len())
		x.Sent = flow.FIFO[int64]{}
		m.renew(m.Clock.Now())
	}
}

// carriedUpTo notes how many of this server's answers have arrived at the leader, with what they have told of observers.
func (m *Host) carriedUpTo(answer uint64) {
	m.eachServed(func(y *Exchange) {
		for y.carried.Len() > 0 && y.carried.Front().answer <= answer {
			y.told = y.carried.Front().arrived
			y.carried.Pop()
		}
	})
}

// eachServed calls fn for each learner of this server that is up to date.
func (m *Host) eachServed(fn func(*Exchange)) {
	for id, x := range m.Lease.Exchanges {
		if l := m.Links[id]; l != nil && !l.Dialled {
			fn(x)
		}
	}
}

// refusesWrites reports whether the leader, which this server is or follows, refuses writes for lack of room.
func (m *Host) refusesWrites() bool {
	switch r := m.Role.(type) {
	case *leading:
		return r.refuses
	case *Following:
		return r.refuses
	}
	return false
}

// QuorumHeard is since when a quorum has surely been with this leader, 0 if it is not known.
func (m *Host) QuorumHeard() int64 {
	all := append(m.Lease.heard[:0], heardOf{m.ID, m.Clock.Now()})
	for id, x := range m.Lease.Exchanges {
		if l := m.Links[id]; l != nil {
			all = append(all, heardOf{l.Peer, x.Newest})
		}
	}
	m.Lease.heard = all
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
	if !m.Lease.endless && from > m.Lease.From {
		m.Lease.From = from
		length := m.Lease.Length
		if m.Weak(weakness.LeaseOutlivesQuorum) {
			length *= 100
		}
		m.LeaseEnd.Store(from + int64(length))
		m.Lease.isOver = m.Lease.isOver && !m.MayAnswer()
	}
}

// BeginLease lets the lease run for the service that begins. A learner's clients come with the leave of a leader that may give it; a
// leader knows that its quorum was there when NEWLEADER left.
func (m *Host) BeginLease(state zab.State) {
	from := m.Clock.Now()
	if state == zab.Leading && m.Lease.Offered != 0 {
		from = m.Lease.Offered
	}
	m.renew(from)
}

// EndLease ends it with the service.
func (m *Host) EndLease() {
	if m.Lease.endless {
		return
	}
	m.Lease.From, m.Lease.isOver = 0, false
	m.LeaseEnd.Store(0)
}

// keepLease is called with every tick of the core: whoever may not be answered any more is sent away.
func (m *Host) keepLease() {
	if m.Role == nil || m.ReadOnly.Load() || m.Lease.endless {
		return
	}
	if m.Status.State == zab.Leading {
		m.renew(m.QuorumHeard())
	}
	if m.Lease.isOver || m.MayAnswer() {
		return
	}
	m.Lease.isOver = true
	m.Log.Warn("closing client connections: nothing shows that what is said of their sessions arrives", zap.Duration("for", m.Lease.Length))
	m.Clients.AbortAll()
}
