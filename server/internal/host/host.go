package host

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Host drives the agreement of one server: a zab.Core in an ensemble, type alone on a standalone server. The host
// goroutine owns the core, the role and the links to the other servers. It waits for input and for nothing else.
// Work that can block is done by other goroutines: the journal (disk), the applier (state) and the goroutines of
// peers (network). Source: zab/doc.go, the duties of the host.
//
// With little to do, a switch to another goroutine costs more than the work itself. The goroutine that brings input
// may then take the turn itself (see Came), and in that turn write to the links and apply txns. During that turn it
// is the host goroutine.
type Host struct {
	*env.Env
	Disk     *durable.Disk
	clients  clients
	network  Network          // Options.ResolvePeer, DialPeer and ListenPeer
	Security *security.Quorum // nil on a standalone server
	// configured is called with each configuration that was committed, in an ensemble that can be reconfigured.
	configured func(*config.Quorum) bool

	ID      proto.ServerID
	core    agreement
	member  *zab.Core    // core of a member of an ensemble; nil on a standalone server
	peers   *peers.Peers // nil on a standalone server
	journal *durable.Journal
	applier applies

	input
	done   *sched.Gate // open when the goroutine has ended
	Served *sched.Gate // open when the first service has begun

	// turn is held by the host goroutine while it does not wait. calm is true while there is so little to do that
	// any goroutine may take the turn. The holder of turn stores calm.
	turn sync.Mutex
	calm atomic.Bool

	// View is what other goroutines may know of the role. Only the host goroutine stores it.
	View atomic.Pointer[RoleView]
	// others is what this server knows of its learners. Only the host goroutine stores it.
	others atomic.Pointer[ensembleView]
	// joined is true on a member of an ensemble as soon as other servers can hear of it.
	joined atomic.Bool
	// generation is the number of the present time of service. It changes with every role. A connection remembers
	// the number under which it was accepted. Only the host goroutine stores it.
	generation atomic.Int64
	// Queued is the number of bytes that wait for the journal or the applier.
	Queued atomic.Int64
	// Finished is the zxid up to which all txns are applied and answered. The applier stores it.
	Finished atomic.Int64

	states arrivals // by SNAP

	// The fields from here on are owned by the host goroutine.
	Active   *zab.Ensemble // the committed configuration
	next     *zab.Ensemble // the pending one, nil if there is none
	status   zab.Status
	again    bool // the core was given input while its output was handled
	stop     bool
	links    links
	noting   zab.LinkID // the link to a leader that notes moves of sessions; see moves.go
	reach    reach
	lease    *lease.Lease
	policy   *succession.Policy // decides whether this server goes on to lead
	role     role               // what is done with requests; nil while the server does not serve
	opening  opening            // of the next role
	periods  periods
	keeping  *keeping    // client connections that outlive a leader; nil if there are none
	pending  kept.Bodies // bodies of requests that were forwarded and are not answered
	silence  silence     // what the next leader should know of sessions without clients
	legs     legs        // measured for Env.Stages
	surveyed time.Time   // when survey did something last

	reported   differences
	leaderless leaderless
	lists      lists
}

// clients are the client connections, as the host needs them. Any goroutine may call the methods.
type clients interface {
	// ShutAll ends every connection that has a session, as soon as the output added so far is sent. It returns how
	// many connections it ends.
	ShutAll() int
	// Draining reports whether an operator drains this server.
	Draining() (rate int, on bool)
	// Idle reports whether no client is connected with a session.
	Idle() bool
	// PortNumbers returns the ports to which clients connect.
	PortNumbers() (plain, secure int)
	// ServerHandshakes bounds the work of the handshakes that other servers begin.
	ServerHandshakes() *limits.Handshakes
	// AbortAll closes every connection that has a session at once.
	AbortAll()
	// HoldAll lets the connections of the sessions that wanted accepts take no more requests, and returns them.
	// ShutAll does not end them.
	HoldAll(wanted func(*sessions.Session) bool) []flow.Held
}

// applies is the applier: it applies committed txns in the order in which they are put, and answers the clients.
type applies interface {
	// Put queues a batch for the next Come. The host goroutine calls it.
	Put(b *flow.ApplyBatch)
	// Come lets the batches that were put be applied. In calm the caller applies them itself, unless another
	// goroutine is applying already. Otherwise the applier goroutine does.
	Come(calm bool)
	// Do runs fn when everything queued before it is applied.
	Do(fn func())
	// Swap replaces the served state, in its place between batches. No client is served at that time.
	Swap(state *datatree.State)
	// Close ends the applier when everything queued before is applied.
	Close()
	// Run is the applier goroutine.
	Run()
}

const (
	// coreTick is the length of one tick of the core.
	coreTick = 10 * time.Millisecond
	// ticksMax is how many ticks the core is told of at once. A turn that takes longer than a tick must not slow
	// down the clock of the core, or a busy leader would send its PINGs too late. But if the whole process was
	// suspended, only this many ticks of that time count.
	ticksMax = 25
)

// pacer counts ticks.
type pacer struct{ last time.Time }

// due returns how many ticks have passed since the last call, at most ticksMax.
func (p *pacer) due(now time.Time) int {
	n := int(now.Sub(p.last) / coreTick)
	if n > ticksMax {
		p.last = now
		return ticksMax
	}
	p.last = p.last.Add(time.Duration(n) * coreTick)
	return n
}

// End makes the host goroutine end, without a handover.
func (m *Host) End() { m.Do(func() { m.stop = true }) }

// Ended reports whether the host takes part in nothing any more, as soon as no turn is taken.
func (m *Host) Ended() bool {
	m.turn.Lock()
	defer m.turn.Unlock()
	return m.stop
}

// journalOwner is the host as the journal sees it. The journal goroutine calls the methods.
type journalOwner struct{ *Host }

var _ durable.Owner = journalOwner{}

// Persisted implements durable.Owner.
func (o journalOwner) Persisted(seq zab.Seq) {
	o.events.Add(event{seq: seq})
	o.Came()
}

// Written implements durable.Owner.
func (o journalOwner) Written(bytes int64) { o.Queued.Add(-bytes) }

// Acknowledges implements durable.Owner: an observer acknowledges nothing, and a standalone server has no leader to
// acknowledge to.
func (o journalOwner) Acknowledges() bool {
	return o.Config.Distributed() && o.View.Load().State != zab.Observing
}

// ArrivedState implements durable.Owner.
func (o journalOwner) ArrivedState(link zab.LinkID) *durable.Loading {
	return o.states.on(link)
}

// Installed implements durable.Owner.
func (o journalOwner) Installed(link zab.LinkID, state *datatree.State) {
	o.Swap(state)
	o.states.installed(link)
}

// Swap implements durable.Owner.
func (o journalOwner) Swap(state *datatree.State) { o.applier.Swap(state) }

// JournalEnds implements durable.Owner.
func (o journalOwner) JournalEnds() { o.applier.Close() }

// memberHandler is the host as package peers sees it: everything becomes an event of the host goroutine. The
// goroutines of peers call the methods.
type memberHandler struct{ *Host }

var _ peers.Handler = memberHandler{}

// Election implements peers.Handler.
func (h memberHandler) Election(msg zab.Message) {
	h.Do(func() {
		h.hearsList(&msg, h.Clock.Steady())
		h.member.Step(msg)
	})
}

// PeerUp implements peers.Handler.
func (h memberHandler) PeerUp(id proto.ServerID) { h.Do(func() { h.member.PeerUp(id) }) }

// AskedAnew implements peers.Handler.
func (h memberHandler) AskedAnew(id proto.ServerID, addresses []string) {
	h.Do(func() { h.askedAnew(id, addresses, h.Clock.Steady()) })
}

// Accept implements peers.Handler.
func (h memberHandler) Accept(port zab.Port) zab.LinkID {
	accepted := sched.NewGate(h.Runtime)
	var number zab.LinkID // set before accepted
	accept := func() {
		if number = h.member.Accept(port); number != 0 {
			h.links.accept(number)
		}
		accepted.Open()
	}
	if !h.Do(accept) {
		return 0
	}
	sched.WaitAny(h.Runtime, accepted, h.Host.done)
	if !accepted.IsOpen() {
		return 0
	}
	return number
}

// Connected implements peers.Handler.
func (h memberHandler) Connected(l *peers.Link) {
	h.Do(func() {
		h.links.add(l)
		h.member.LinkUp(l.ID)
	})
}

// memberQueueMax is how many bytes may wait for the disk and the state before no more is read from the leader.
const memberQueueMax = 128 << 20

// Packets implements peers.Handler. If the disk or the state of a learner lags behind, the learner stops reading,
// which its leader notices.
func (h memberHandler) Packets(l *peers.Link, batch []peers.Packet) {
	for l.Dialled && h.Queued.Load() > memberQueueMax {
		if h.Host.done.WaitFor(time.Millisecond) {
			return
		}
	}
	h.events.Add(event{link: l, packets: append([]peers.Packet(nil), batch...)})
	h.Came()
}

// Closed implements peers.Handler.
func (h memberHandler) Closed(id zab.LinkID) {
	h.Do(func() {
		h.forget(id)
		h.member.LinkDown(id)
	})
}

// run is the host goroutine.
func (m *Host) run() {
	defer m.handedOver()
	defer m.done.Open()
	clock := m.Clock
	cancel := sched.Every(m.Runtime, coreTick, func() {
		m.ticked.Store(true)
		m.wake.Unpark()
	})
	defer cancel()
	pace := pacer{clock.Steady()}
	m.turn.Lock() // and no deferred Unlock: a simulator ends the goroutine while it waits
	for m.drain(); !m.stop; {
		m.turn.Unlock()
		m.wake.Park()
		ticked := m.ticked.Swap(false)
		if !ticked && !m.calm.Load() {
			runtime.Gosched() // other goroutines are ready and have input: let it share this turn
		}
		m.turn.Lock()
		ticked = ticked && !m.stop
		if ticked {
			now := clock.Steady()
			for range pace.due(now) {
				if m.member != nil {
					m.member.Tick()
				}
			}
			m.expireKept()
			m.maybeReadOnly(now)
			m.survey(now)
		}
		m.takeTurn()
		if ticked && !m.stop {
			m.keepLease() // after the PINGs that have arrived
			m.tellSilent()
		}
	}
	m.close("stopping")
	m.input.close()
	m.refuse()
	m.applier.Come(false)
	m.journal.Jobs.Close()
	m.turn.Unlock()
}

// takeTurn takes all input that has arrived. REQUIRES: turn.
func (m *Host) takeTurn() {
	if m.stop {
		return
	}
	events := m.takeEvents()
	for i := range events {
		m.handle(&events[i])
	}
	m.takeBatches()
	m.requests()
	m.drain()
	m.calm.Store(!m.stop && m.role != nil && m.role.calm())
}

// calmMax is how many requests may be in flight in calm. With more, the requests that arrive while the host
// goroutine wakes up share its turn, which saves more than the switch costs.
const calmMax = 8

// Came lets input that was added be handled. In calm the caller takes the turn itself, unless another goroutine has
// it. Otherwise the host goroutine takes one more turn. REQUIRES: the caller holds no lock that a turn may take.
func (m *Host) Came() {
	if m.calm.Load() && m.turn.TryLock() {
		m.takeTurn()
		stop := m.stop
		m.turn.Unlock()
		if !stop && m.input.empty() {
			return
		}
	}
	m.events.Signal()
}

// handle gives one event to the core and the role.
func (m *Host) handle(e *event) {
	switch {
	case e.call != nil:
		if lead, ok := m.role.(*leading); ok {
			lead.unlockState()
		}
		e.call()
	case e.seq != 0:
		if now := m.measured(); now != 0 {
			m.legs.persisted(e.seq, now, m.logged)
		}
		m.core.Persisted(e.seq)
	default:
		m.arrived(e.link, e.packets)
	}
}

var errReconfigured = errors.New(
	"the ensemble was reconfigured, but reconfigEnabled is false here: start it again with the new configuration")

// arrived handles packets of another server, in order.
func (m *Host) arrived(from *peers.Link, packets []peers.Packet) {
	l := m.links.from(from)
	if l == nil {
		return
	}
	l.arrived = m.Clock.Now()
	for len(packets) > 0 {
		var msg zab.Message
		n, ok := peers.MessageOf(l.Link, packets, &msg)
		batch, p := packets, &packets[0]
		packets = packets[n:]
		switch p.Type {
		case proto.PacketCommit, proto.PacketInform:
			if !l.Dialled {
				break // a learner decides nothing
			}
			m.reach.told(batch[n-1].Zxid)
			m.arrival(&batch[n-1], n)
		case proto.PacketProposal:
			if !l.Dialled {
				break
			}
			m.reach.seen = max(m.reach.seen, batch[n-1].Zxid)
			m.arrival(&batch[n-1], n)
		case proto.PacketCommitAndActivate, proto.PacketInformAndActivate:
			if !l.Dialled {
				break
			}
			if !m.Config.ReconfigEnabled {
				m.Fatal("following a reconfiguration", errReconfigured)
				return
			}
			m.reach.told(p.Zxid)
		case proto.PacketAck:
			if lead, ok := m.role.(*leading); ok {
				lead.acknowledged(l.Peer, batch[n-1].Zxid)
			}
		case peers.PacketNotesMoves:
			if l.Dialled {
				m.noting = l.ID
			}
		case peers.PacketSilent:
			if l.Dialled {
				m.silence.told(l, p)
			} else {
				m.forRole(l, p)
			}
		case peers.PacketHandOver:
			if f, ok := m.role.(*following); ok && f.link == l {
				f.handed = f.holding
			}
		case proto.PacketRequest, proto.PacketRevalidate, proto.PacketPing, proto.PacketSync, peers.PacketHold,
			peers.PacketUnhold, peers.PacketMoved, peers.PacketReclaim:
			if p.Type == proto.PacketPing {
				m.pinged(l, p)
			}
			m.forRole(l, &batch[0])
		}
		if msg.Type == zab.FollowerInfo || msg.Type == zab.ObserverInfo || msg.Type == zab.LeaderInfo {
			l.warren = msg.Warren
		}
		if ok {
			m.member.Step(msg)
		} else {
			m.member.Heard(l.ID)
		}
	}
}

// forRole gives a packet that the host handles itself to the role, or keeps it until there is a role. A learner
// sends requests from UPTODATE on, but a leader of servers in Java serves only when its first txn is committed. A
// learner in Java that misses the answer to one request answers no client any more.
func (m *Host) forRole(l *link, packet *peers.Packet) {
	switch {
	case m.role != nil:
		m.role.Packet(l, packet)
	case m.opening.on || m.status.State == zab.Leading:
		m.opening.early = append(m.opening.early, early{l, packet})
	}
}

// requests gives the requests of clients to the role, as far as there is room.
func (m *Host) requests() {
	m.park()
	switch {
	case len(m.waiting) == 0:
	case m.role == nil && !m.opening.on:
		m.refuse()
	case m.role != nil:
		done := 0
		for done < len(m.waiting) && m.take(m.waiting[done]) {
			m.RequestPool.Put(m.waiting[done])
			done++
		}
		m.took(done)
	}
	if m.role != nil {
		m.role.flush()
	}
}

// take gives the requests of one batch to the role, and stores in the batch how many the role has taken. It returns
// false if some are left.
func (m *Host) take(b *flow.Batch) bool {
	for b.Taken < len(b.Requests) {
		r := &b.Requests[b.Taken]
		if r.Client != nil && (r.Client.Superseded() ||
			r.Client.Generation() != m.generation.Load()) {
			m.drop(b, r)
		} else if !m.role.request(b, r) {
			return false
		}
		b.Taken++
	}
	return true
}

// refuse drops the requests that wait: this server does not serve now.
func (m *Host) refuse() {
	for _, b := range m.waiting {
		for ; b.Taken < len(b.Requests); b.Taken++ {
			m.drop(b, &b.Requests[b.Taken])
		}
		m.RequestPool.Put(b)
	}
	m.took(len(m.waiting))
}

// drop ends the connection of a request that is not answered.
func (m *Host) drop(b *flow.Batch, r *flow.Request) {
	m.release(r)
	if r.Client != nil {
		m.answer(flow.Item{Client: r.Client, Session: r.Session, Received: b.Received, Xid: r.Xid, Op: r.Op,
			Drop: true})
	}
}

// release gives back what a request has reserved.
func (m *Host) release(r *flow.Request) {
	if r.Client != nil && r.Op != proto.OpCreateSession {
		m.Large.Release(int(r.Body.N) + proto.RequestHeaderSize)
	}
}

// answer hands items without a txn to the applier, in their place.
func (m *Host) answer(items ...flow.Item) {
	b := m.ApplyPool.Get()
	b.Items = append(b.Items, items...)
	m.applier.Put(b)
}

// drain does what the core asks for, until the core asks for nothing more.
func (m *Host) drain() {
	for {
		m.again = false
		out := m.core.Take()
		m.followConfigurations()
		if len(out.Send) > 0 {
			m.send(out.Send)
		}
		if len(out.Persist) > 0 {
			m.toJournal(out.Persist)
		}
		if out.Lineage != nil {
			m.journal.Note(out.Lineage)
		}
		m.states.drop(m.links.takeClosed()) // the core has said by now which of them it wants
		if len(out.Deliver) > 0 {
			m.deliver(out.Deliver)
		}
		if len(out.Synced) > 0 && m.role != nil {
			m.role.synced(out.Synced)
		}
		m.changed(out.Status)
		if lead, ok := m.role.(*leading); ok && out.Renew {
			lead.renew()
		}
		if m.role != nil {
			m.role.flush()
		}
		m.links.flush(m.calm.Load())
		m.applier.Come(m.calm.Load())
		m.links.flushed()
		for _, d := range out.Dial {
			m.peers.Dial(d.Link, d.Peer, d.Port)
		}
		m.throttled(out.Throttled)
		if len(out.Rivals) > 0 {
			m.turnedAway(out.Rivals, m.Clock.Steady())
		}
		for _, id := range out.Close {
			m.peers.Close(id)
			m.forget(id)
		}
		if m.again {
			continue
		}
		if m.surveyed.IsZero() {
			m.survey(m.Clock.Steady())
		}
		return
	}
}

// toJournal hands writes to the journal.
func (m *Host) toJournal(writes []zab.Persist) {
	for i := range writes {
		m.Queued.Add(durable.BytesOf(writes[i].Append))
		if writes[i].Truncate && writes[i].Last < m.reach.delivered || writes[i].Install != nil {
			m.dropKept() // the state is loaded anew
		}
		if writes[i].Truncate {
			m.reach.cut(writes[i].Last)
		}
		if in := writes[i].Install; in != nil {
			m.silence.forget() // what would refute it may be in the state
			m.reach.cut(in.Last)
			m.states.want(in.Link)
		}
	}
	if now := m.measured(); now != 0 {
		m.legs.asked(writes, now)
	}
	m.journal.Submit(writes)
}

// send puts messages on their links, or on the election channel.
func (m *Host) send(messages []zab.Message) {
	for i := range messages {
		msg := &messages[i]
		if msg.Link == 0 {
			m.peers.SendElection(msg)
			continue
		}
		l := m.links.open[msg.Link]
		if l == nil {
			continue // the link has closed; the core will be told
		}
		switch msg.Type {
		case zab.Replay:
			m.replay(l.Link, msg.After, msg.Zxid)
		case zab.Snap:
			m.Metrics.Quorum.Snaps.Inc()
			m.countSyncs()
			m.sendSnapshot(l.Link, msg.Zxid)
		case zab.Ping:
			if !l.Dialled {
				l.SendPacket(m.ping(l, msg))
			} else {
				l.SendPacket(m.pong(l, msg))
			}
		case zab.UpToDate: // the learner answers every PING after this
			if l.exchange == nil {
				l.exchange = &lease.Exchange{}
			}
			l.Send(msg)
			if l.warren && m.status.State == zab.Leading {
				l.SendPacket(&peers.Packet{Type: peers.PacketNotesMoves, Zxid: -1})
			}
			m.countSyncs()
			m.surveyed = time.Time{} // there is one more learner in sync
		case zab.NewLeader:
			m.lease.Offer()
			l.Send(msg)
		case zab.Diff, zab.Trunc:
			m.Metrics.Quorum.Diffs.Inc()
			m.countSyncs()
			l.Send(msg)
		case zab.SyncReply:
			switch r := m.role.(type) {
			case *leading:
				l.Send(msg)
				r.answeredSync(msg.Token)
			case *following:
				r.below.Answer(l.Link, msg.Token)
			}
		default:
			l.Send(msg)
		}
		m.links.touch(l)
	}
}

// deliver hands committed txns to the applier, each with the client that gets the answer.
func (m *Host) deliver(txns []zab.Txn) {
	m.silence.delivered(txns)
	b := m.ApplyPool.Get()
	b.Last = txns[len(txns)-1].Zxid
	if b.Agreed = m.measured(); b.Agreed != 0 {
		m.legs.deliver(b)
	}
	if m.role != nil {
		m.role.deliver(txns, b)
	} else if m.keeping != nil && m.keeping.former != nil {
		m.keeping.former.deliver(txns, b)
	} else {
		noRole{}.deliver(txns, b)
		// A txn that is delivered while the role opens may not be applied yet when the role begins: opened must not
		// rely on the state.
		m.reach.delivered = b.Last
	}
	last := b.Last
	m.Queued.Add(b.Bytes)
	m.applier.Put(b)
	if m.role != nil {
		m.role.delivered(last)
	}
}

// forget drops a link that has closed, and what arrived on it.
func (m *Host) forget(id zab.LinkID) {
	m.links.remove(id)
	m.surveyed = time.Time{}
	switch r := m.role.(type) {
	case *leading:
		r.gone(id)
	case *following:
		r.below.Gone(id)
	}
}
