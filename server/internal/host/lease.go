package host

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// lease says until when this server may answer clients: as long as it knows that the leader, or a quorum, hears
// what it reports about their sessions. Without a lease, a server that is cut off would answer clients of sessions
// that the leader, or the next leader, has expired. Owned by the host goroutine.
//
// Let D be the length of the lease, and T the timeout of a session.
//
//   - A learner answers at x only if its leader has received an answer to PING that was made at x-D or later. That
//     answer reported every session heard of before. A Warren leader says in its PINGs how many answers have
//     arrived. With a leader in Java, each PING counts as proof that all earlier answers have arrived.
//   - A leader answers at x only if a quorum has answered PINGs that were sent at x-D or later. The next leader
//     needs a server of that quorum, so it begins later, and gives every session its whole timeout.
//   - A leader that must not answer clients does not answer REVALIDATE either, and does not report new arrivals to
//     learners.
//   - An observer that learns from a follower hears from the follower how many of the observer's answers have
//     reached the leader: those that went along with answers of the follower that the leader has confirmed.
//   - A client that was silent for longer than T is not answered, but disconnected (package serve): the leader may
//     have expired its session, and this server may apply that much later.
//
// So consider a client that sends something every T/3. If its session is expired at e by the present leader, the
// client is answered for the last time before e-2T/3+D. If a later leader expires it, the last answer is before
// e-T+2D. When the lease ends, the connections are closed. A client that takes its connection as proof that it
// holds a lock is therefore in time if T is longer than 2D. Source: quorum-protocol 8.5, where a learner answers
// its clients for up to syncLimit ticks.
type lease struct {
	length time.Duration
	// from is when the newest message was sent that is known to have arrived, ns on the server's clock; 0 if
	// nothing is known.
	from int64
	// offered is when a leader that does not serve yet has sent its first NEWLEADER; 0 before.
	offered   int64
	exchanges map[zab.LinkID]*exchange
	isOver    bool // the connections were closed
	endless   bool // a standalone server may always answer
	heard     []heardOf
	looked    int64 // when leaveDeaf looked last, ns on the server's clock
}

// exchange holds the PINGs of one link and their answers. Answers arrive in the order of the PINGs.
type exchange struct {
	// sent is when each message left that has not arrived yet: PINGs of a leader, answers of a learner.
	sent    flow.FIFO[int64]
	arrived uint64 // how many have
	newest  int64  // when the newest of them was sent
	// told is how many answers have arrived at the leader, as reported by the leader or the observer master.
	told    uint64
	carried flow.FIFO[carriage]
}

// carriage notes that one answer of an observer master to its leader reported everything that an observer had sent
// so far.
type carriage struct {
	answer  uint64 // number of the answer, among the answers of the master
	arrived uint64 // how many have arrived
}

// exchangeMax bounds the PINGs or answers that are unconfirmed on a link.
const exchangeMax = 4096

// take notes that n in all have arrived.
func (x *exchange) take(n uint64) {
	for x.arrived < n && x.sent.Len() > 0 {
		x.newest = *x.sent.Front()
		x.sent.Pop()
		x.arrived++
	}
}

// heardOf says since when a server has surely heard of this one.
type heardOf struct {
	id proto.ServerID
	at int64
}

// leaseTime is the length of a lease: a third of the time after which a learner gives up its leader, and two ticks
// at least, since each tick has two PINGs.
func (m *Host) leaseTime() time.Duration {
	return max(2*m.Config.TickTime, time.Duration(max(m.Config.SyncLimit, 1))*m.Config.TickTime/3)
}

// arrivedMark marks an entry of PING that has a number of arrived answers in the place of the session id. It stands
// in the place of the timeout: no session has this timeout. An entry with the number 0 would be noRoom.
const arrivedMark = -1

// Ping returns a PING to a learner. To a Warren learner it also says, in the form of touched sessions, how many
// answers have arrived, and whether there is no room for writes.
func (m *Host) Ping(l *peers.Link, msg *zab.Message) *peers.Packet {
	p := &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid}
	isWarren := m.warren[l.ID]
	if isWarren && m.refusesWrites() {
		p.Data = append(p.Data, noRoom[:]...)
	}
	x := m.lease.exchanges[l.ID]
	if x == nil {
		return p // the learner is not up to date: it answers no PING
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

// saysArrived returns how many answers have arrived according to the data of a PING, 0 if it does not say.
func saysArrived(data []byte) uint64 {
	for ; len(data) >= sessions.TouchSize; data = data[sessions.TouchSize:] {
		if int32(binary.BigEndian.Uint32(data[8:])) == arrivedMark {
			return binary.BigEndian.Uint64(data)
		}
	}
	return 0
}

// pong is the answer to a PING. It reports the sessions that were heard of since the last one. Source:
// quorum-protocol 8.5.
func (m *Host) pong(l *peers.Link, msg *zab.Message) *peers.Packet {
	x := m.lease.exchanges[l.ID]
	if x == nil {
		x = &exchange{}
		m.lease.exchanges[l.ID] = x
	}
	x.sent.Push(m.Clock.Now())
	data := m.Tracker.AppendTouched([]byte{})
	if m.role != nil { // without a role, what observers have reported is not in data
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
	if m.warren[l.ID] {
		data = m.appendPriority(data)
	}
	return &peers.Packet{Type: proto.PacketPing, Zxid: msg.Zxid, Data: data}
}

// pinged handles a PING, or the answer to a PING.
func (m *Host) pinged(l *peers.Link, p *peers.Packet) {
	x := m.lease.exchanges[l.ID]
	switch {
	case x == nil: // this server has answered nothing on the link
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

// carriedUpTo notes how many of this server's answers have arrived at the leader, and with them the reports of
// observers.
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

// quorumHeard returns since when a quorum has surely followed this leader, 0 if it is not known.
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

// renew extends the lease: it runs from the time at which a message was sent that has arrived.
func (m *Host) renew(from int64) {
	if !m.lease.endless && from > m.lease.from {
		m.lease.from = from
		m.LeaseEnd.Store(from + int64(m.lease.length))
		m.lease.isOver = m.lease.isOver && !m.MayAnswer()
	}
}

// beginLease begins the lease of a new service. A learner begins to serve by permission of a leader with a lease. A
// leader knows that its quorum was there when NEWLEADER was sent.
func (m *Host) beginLease(state zab.State) {
	from := m.Clock.Now()
	if state == zab.Leading && m.lease.offered != 0 {
		from = m.lease.offered
	}
	m.renew(from)
}

// endLease ends the lease with the service.
func (m *Host) endLease() {
	if m.lease.endless {
		return
	}
	m.lease.from, m.lease.isOver = 0, false
	m.LeaseEnd.Store(0)
}

// keepLease is called with every tick of the core. When the lease has ended it closes the client connections.
func (m *Host) keepLease() {
	if m.role == nil || m.ReadOnly.Load() || m.lease.endless {
		return
	}
	if m.status.State == zab.Leading {
		m.renew(m.quorumHeard())
	}
	m.leaveDeaf()
	if m.MayAnswer() {
		return
	}
	m.leaveUnreachable()
	if m.lease.isOver {
		return
	}
	m.lease.isOver = true
	m.Log.Warn("closing client connections: no quorum has confirmed this server's reports about their sessions",
		zap.Duration("for", m.lease.length))
	m.clients.AbortAll()
}

// hearingInterval is how often a learner looks whether its leader hears it.
const hearingInterval = 100 * time.Millisecond

// leaveDeaf ends the link to a leader, or to an observer master, that is heard and does not hear: the writes of the
// ensemble would wait until the lease of the leader has ended. If all followers leave, they elect another leader. If
// one does, only that one waits, until it is heard.
//
// The election has to end before the lease of the leader does. The leader gives up then, and its vote arrives: a part
// of the others would elect it again, and those that do not would wait for a quorum. So nothing is done in the last
// quarter of the lease, and with a short lease the leader gives up first.
func (m *Host) leaveDeaf() {
	f, isLearner := m.role.(*following)
	now := m.Clock.Now()
	if !isLearner || f.link == nil || now-m.lease.looked < int64(hearingInterval) {
		return
	}
	m.lease.looked = now
	if f.link.Deaf() && m.LeaseEnd.Load()-now >= int64(m.lease.length/4) {
		m.Log.Warn("leaving the leader: it is heard, and what is sent to it does not arrive",
			zap.Int64("leader", int64(f.link.Peer)))
		f.link.Abort()
	}
}

// leaveUnreachable ends the link to a leader that cannot be reached, when the lease of this learner has ended. If the
// process of the leader stands still, its kernel goes on to acknowledge what arrives, and this server waits for the
// leader for syncLimit as ever.
func (m *Host) leaveUnreachable() {
	f, isLearner := m.role.(*following)
	if !isLearner || f.link == nil {
		return
	}
	if silent := f.link.Unacknowledged(); silent >= m.lease.length/2 && silent > 0 {
		m.Log.Warn("leaving the leader: what is sent to it does not arrive", zap.Int64("leader", int64(f.link.Peer)),
			zap.Duration("for", silent))
		f.link.Abort()
	}
}
