package host

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Host is the host of an agreement: of a zab.Core in an ensemble, of alone on a standalone server. Its goroutine, the node goroutine,
// owns the core, the role and the links to the other servers, and waits for nothing but its inputs: what can block is done by
// the journal (disk), the applier (state) and the goroutines of peers (network). Source: zab/doc.go, the duties of the host.
//
// With little to do, every switch to another goroutine costs more than the work. A goroutine that brings input may then take the
// turn itself (see came), and write to the links and apply in it: for this time it is the node goroutine.
type Host struct {
	*env.Env
	Disk     *durable.Disk
	clients  clients
	dial     func(ctx context.Context, network, address string) (net.Conn, error) // Options.DialPeer
	listen   func(network, address string) (net.Listener, error)                  // Options.ListenPeer
	Security *security.Quorum                                                     // nil on a standalone server
	// configured is called with each configuration that was committed, in an ensemble that can be reconfigured.
	configured func(*config.Quorum) bool

	ID      proto.ServerID
	core    agreement
	peers   *peers.Peers // nil on a standalone server
	journal *durable.Journal
	applier applies

	batches *flow.Inbox[*flow.Batch] // from connections, the session clock and the reaper
	events  *flow.Inbox[event]       // from peers, the journal and the applier
	wake    sched.Parker             // of batches, events and ticked
	ticked  atomic.Bool              // time has passed since the node goroutine looked
	done    *sched.Gate              // open when the goroutine has ended
	Served  *sched.Gate              // open when the first service has begun

	// turn is held by the node goroutine, whoever that is, while it is not waiting. calm is whether there is so little to do that
	// anybody may be; stored by the holder of turn.
	turn sync.Mutex
	calm atomic.Bool

	// View is what others may know of the role. Stored by the node goroutine only.
	View atomic.Pointer[RoleView]
	// others is what this member knows of its learners. Stored by the node goroutine only.
	others atomic.Pointer[ensembleView]
	// joined is true in a member of an ensemble from the moment on at which other servers hear of it.
	joined atomic.Bool
	// generation is the number of the present time of service: it changes with every role. Connections remember the one
	// they were accepted in. Stored by the node goroutine only.
	generation atomic.Int64
	// Queued is the bytes that wait for the journal or the applier.
	Queued atomic.Int64
	// Finished is up to which txn all are applied and answered. The applier stores it.
	Finished atomic.Int64

	// received holds states that arrived by SNAP, by link, until they are installed or the link is gone.
	received struct {
		sync.Mutex
		byLink map[zab.LinkID]*durable.Loading
		// wanted are those that the journal is to install, whatever becomes of the link.
		wanted map[zab.LinkID]*durable.Loading
	}

	// Owned by the node goroutine.
	taken struct { // by the last turn, for reuse
		events  []event
		batches []*flow.Batch
	}
	Active    *zab.Ensemble // the committed configuration
	next      *zab.Ensemble // the pending one, nil if there is none
	status    zab.Status
	links     map[zab.LinkID]*peers.Link
	lease     lease
	orphans   []zab.LinkID        // links that are gone, and whose received states the core may have asked for
	warren    map[zab.LinkID]bool // whether the server on a link is Warren
	touched   []*peers.Link       // have output that is not flushed
	waiting   []*flow.Batch       // requests that were not looked at yet
	role      role                // what is done with requests; nil while the server does not serve
	opening   bool                // the applier is catching up; role follows
	since     time.Time           // when the present role began
	lookedAt  time.Time           // when the search for a leader began
	published time.Time           // when others was stored
	yielded   time.Time           // when this server last handed over for lack of room
	lost      time.Time           // when the last service ended; zero before the first
	early     []event             // what came for the role while it was opening
	resumes   []*flow.Resumption  // the same
	// All txns up to committed were said to be committed, and up to delivered were handed to the applier.
	committed, delivered proto.Zxid
	seen                 proto.Zxid // the newest zxid that the leader has told of, committed or not
	stop                 bool
	lastServed           time.Time // when the last service began; zero before the first
	afterOpening         func()    // called when the next service has begun
	again                bool      // the core was given input while its output was handled

	told          differences
	introductions introductions
}

// clients is the connections of clients, as the member needs them. Any goroutine may call the methods.
type clients interface {
	// ShutAll ends every connection that has a session when everything added so far is sent, and returns how many there are.
	ShutAll() int
	// PortNumbers returns the ports to which clients connect.
	PortNumbers() (plain, secure int)
	// AbortAll closes every connection that has a session at once.
	AbortAll()
}

// applies is what applies committed txns, in the order in which they are put, and answers.
type applies interface {
	// Put queues a batch for the next come. The node goroutine calls it.
	Put(b *flow.ApplyBatch)
	// Come sees to what was put: in calm the caller applies it, else the goroutine that is at it, or that of the applier.
	Come(calm bool)
	// Do runs fn when everything before it is applied.
	Do(fn func())
	// Swap replaces the served state, in its place between batches. No client is served then.
	Swap(state *datatree.State)
	// Close ends the applier when everything before is applied.
	Close()
	// Run is the goroutine of the applier.
	Run()
}

// RoleView is how things stand with a member, for everybody.
type RoleView struct {
	State   zab.State
	phase   zab.Phase
	Leader  proto.ServerID // -1 if there is none
	master  proto.ServerID // whom this server learns from: the leader, or of an observer perhaps a follower; -1 if from nobody
	Epoch   int64
	Serving bool
	since   time.Time    // the beginning of the role
	outside *zab.Outside // not nil while this server has to stay outside of the ensemble
}

// event is one input of the node goroutine that is no client's request.
type event struct {
	link    *peers.Link
	packets []peers.Packet // that came on link
	seq     zab.Seq        // if not 0: writes up to this one are durable
	call    func()         // anything else, to be run there
}

const (
	// coreTick is what the core is told is one tick.
	coreTick = 10 * time.Millisecond
	// ticksMax is how many ticks the core is told of at once. A turn that takes longer than a tick slows down no clock that way, or else a
	// busy leader would send its PINGs too late. But of the time in which the whole process stood still only so much counts.
	ticksMax = 25
)

// pacer counts ticks.
type pacer struct{ last time.Time }

// due is how many ticks have passed, up to ticksMax, since it was asked last.
func (p *pacer) due(now time.Time) int {
	n := int(now.Sub(p.last) / coreTick)
	if n > ticksMax {
		p.last = now
		return ticksMax
	}
	p.last = p.last.Add(time.Duration(n) * coreTick)
	return n
}

// memberQueueMax is how many bytes may wait for the disk and the state before nothing more is read from the leader.
const memberQueueMax = 128 << 20

// handOver asks for the hand-over of what this server leads, and for its end.
func (m *Host) handOver() {
	m.Do(func() {
		m.core.HandOver(true)
	})
}

// Do runs fn in the node goroutine, soon. It reports false if that has ended.
func (m *Host) Do(fn func()) bool { return m.events.Put(event{call: fn}) }

// Submit takes requests, and reports false if none are taken any more. Any goroutine may call it.
func (m *Host) Submit(b *flow.Batch) bool { return m.batches.Put(b) }

// Add is submit without waking the node goroutine: the caller calls came.
func (m *Host) Add(b *flow.Batch) bool { return m.batches.Add(b) }

// End makes the goroutine finish; it is no hand-over.
func (m *Host) End() { m.Do(func() { m.stop = true }) }

// run is the node goroutine.
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
	m.turn.Lock()
	defer m.turn.Unlock()
	for m.drain(); !m.stop; {
		m.turn.Unlock()
		m.wake.Park()
		ticked := m.ticked.Swap(false)
		if !ticked && !m.calm.Load() {
			runtime.Gosched() // other goroutines that have input are ready already, and share the turn
		}
		m.turn.Lock()
		ticked = ticked && !m.stop
		if ticked {
			now := clock.Steady()
			for range pace.due(now) {
				m.core.Tick()
			}
			m.maybeReadOnly(now)
			m.publish(now)
		}
		m.takeTurn()
		if ticked && !m.stop {
			m.keepLease() // behind the PINGs that have come
		}
	}
	m.close("stopping")
	m.events.Close()
	m.batches.Close()
	batches, _ := m.batches.Take(nil)
	m.waiting = append(m.waiting, batches...)
	m.refuse()
	m.applier.Come(false)
	m.journal.Jobs.Close()
}

// takeTurn takes all input that has come. REQUIRES: turn.
func (m *Host) takeTurn() {
	if m.stop {
		return
	}
	t := &m.taken
	t.events, _ = m.events.Take(t.events)
	for i := range t.events {
		m.handle(&t.events[i])
	}
	t.batches, _ = m.batches.Take(t.batches)
	m.waiting = append(m.waiting, t.batches...)
	m.requests()
	m.drain()
	m.calm.Store(!m.stop && m.role != nil && m.role.calm())
}

// Came sees to input that was added: in calm the caller takes the turn, else whoever is at it, or the goroutine of the member, takes
// one more. REQUIRES: the caller holds no lock that a turn may take.
func (m *Host) Came() {
	if m.calm.Load() && m.turn.TryLock() {
		m.takeTurn()
		stop := m.stop
		m.turn.Unlock()
		if !stop && m.events.Empty() && m.batches.Empty() {
			return
		}
	}
	m.events.Signal()
}

// calmMax is how many requests may be in flight in calm. With more, those that come while the node goroutine wakes up share their
// turn, which is worth more.
const calmMax = 8

// handle gives one event to the core and the role.
func (m *Host) handle(e *event) {
	switch {
	case e.call != nil:
		if lead, ok := m.role.(*leading); ok {
			lead.letGo()
		}
		e.call()
	case e.seq != 0:
		m.core.Persisted(e.seq)
	default:
		m.arrived(e.link, e.packets)
	}
}

// arrived takes packets of a peer, in order.
func (m *Host) arrived(l *peers.Link, packets []peers.Packet) {
	if _, open := m.links[l.ID]; !open && !m.Weak(weakness.FormerLink) {
		return // it was closed meanwhile
	}
	m.links[l.ID] = l
	for len(packets) > 0 {
		var msg zab.Message
		n, ok := peers.MessageOf(l, packets, &msg)
		batch, p := packets, &packets[0]
		packets = packets[n:]
		switch p.Type {
		case proto.PacketCommit, proto.PacketInform:
			if !l.Dialled {
				break // a learner decides nothing
			}
			m.committed = max(m.committed, batch[n-1].Zxid)
			m.seen = max(m.seen, batch[n-1].Zxid)
			m.arrival(&batch[n-1], n)
		case proto.PacketProposal:
			if !l.Dialled {
				break
			}
			m.seen = max(m.seen, batch[n-1].Zxid)
			m.arrival(&batch[n-1], n)
		case proto.PacketCommitAndActivate, proto.PacketInformAndActivate:
			if !l.Dialled {
				break
			}
			if !m.Config.ReconfigEnabled {
				m.Fatal("following a reconfiguration", errReconfigured)
				return
			}
			m.committed = max(m.committed, p.Zxid)
			m.seen = max(m.seen, p.Zxid)
		case proto.PacketAck:
			if lead, ok := m.role.(*leading); ok {
				lead.acknowledged(l.Peer, batch[n-1].Zxid)
			}
		case proto.PacketRequest, proto.PacketRevalidate, proto.PacketPing, proto.PacketSync:
			if p.Type == proto.PacketPing {
				m.pinged(l, p)
			}
			m.forRole(l, batch[:1])
		}
		if msg.Type == zab.FollowerInfo || msg.Type == zab.ObserverInfo || msg.Type == zab.LeaderInfo {
			m.warren[l.ID] = msg.Warren
			m.introduced(l, msg.From, m.Clock.Steady())
		}
		if ok {
			m.core.Step(msg)
		} else {
			m.core.Heard(l.ID)
		}
	}
}

// forRole gives a packet that is the host's affair to the role, or keeps it until there is one. A learner serves from UPTODATE on, a
// leader of servers in Java only when its first txn is committed; and a learner in Java that misses the answer to one request answers
// no client any more.
func (m *Host) forRole(l *peers.Link, packet []peers.Packet) {
	switch {
	case m.role != nil:
		m.role.Packet(l, &packet[0])
	case m.opening || m.status.State == zab.Leading:
		m.early = append(m.early, event{link: l, packets: packet})
	}
}

// requests gives what clients want to the role, as far as there is room.
func (m *Host) requests() {
	switch {
	case len(m.waiting) == 0:
	case m.role == nil && !m.opening:
		m.refuse()
	case m.role != nil:
		done := 0
		for done < len(m.waiting) && m.take(m.waiting[done]) {
			m.RequestPool.Put(m.waiting[done])
			done++
		}
		rest := copy(m.waiting, m.waiting[done:])
		clear(m.waiting[rest:])
		m.waiting = m.waiting[:rest]
	}
	if m.role != nil {
		m.role.flush()
	}
}

// take gives the requests of one batch to the role, and remembers how far it came.
func (m *Host) take(b *flow.Batch) bool {
	for b.Taken < len(b.Requests) {
		r := &b.Requests[b.Taken]
		if r.Client != nil && r.Client.Generation() != m.generation.Load() && !m.Weak(weakness.GenerationUnchecked) {
			m.drop(b, r)
		} else if !m.role.request(b, r) {
			return false
		}
		b.Taken++
	}
	return true
}

// refuse drops what waits: this server serves nobody now.
func (m *Host) refuse() {
	for _, b := range m.waiting {
		for ; b.Taken < len(b.Requests); b.Taken++ {
			m.drop(b, &b.Requests[b.Taken])
		}
		m.RequestPool.Put(b)
	}
	clear(m.waiting)
	m.waiting = m.waiting[:0]
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

// answer hands items that are no txn to the applier, in their place.
func (m *Host) answer(items ...flow.Item) {
	b := m.ApplyPool.Get()
	b.Items = append(b.Items, items...)
	m.applier.Put(b)
}

// Changed notes a change of the status.
func (m *Host) Changed(st zab.Status) {
	old := m.status
	m.status = st
	same := old.State == st.State && old.Phase == st.Phase && old.Leader == st.Leader && old.Master == st.Master && old.Epoch == st.Epoch && old.Serving == st.Serving
	if st.Fatal != nil && old.Fatal == nil {
		m.Fatal("agreement", st.Fatal)
	}
	if st.Deserted != old.Deserted {
		m.Metrics.Quorum.Disloyal.Inc()
	}
	if st.Stopped && !old.Stopped {
		m.handedOver()
	}
	if same && old.Outside == st.Outside {
		return
	}
	now := m.Clock.Steady()
	if old.State != st.State {
		m.early = nil
		if st.State == zab.Looking { // the next leader may never commit what the last one has told of
			m.committed, m.seen = m.delivered, m.delivered
		}
		m.electionEnds(old.State, st.State, now)
		m.since = now
		m.lease.offered = 0
	}
	m.View.Store(&RoleView{State: st.State, phase: st.Phase, Leader: st.Leader, master: st.Master, Epoch: st.Epoch, Serving: st.Serving, since: m.since,
		outside: st.Outside})
	m.warnOutside(now)
	if st.Outside != nil && m.ReadOnly.Load() {
		m.close("this server stays outside the ensemble")
	}
	if same {
		return
	}
	if m.peers != nil {
		m.logRole(old, st)
	}
	if st.Leader >= 0 && m.ReadOnly.Load() {
		m.close("a leader was found")
	}
	switch {
	case st.Serving && !old.Serving:
		m.open()
	case old.Serving && !st.Serving:
		m.close(st.Reason)
	}
}

// logRole tells the log how things stand now.
func (m *Host) logRole(old, st zab.Status) {
	fields := []zap.Field{zap.Stringer("state", st.State), zap.Stringer("phase", st.Phase), zap.Int64("leader", int64(st.Leader)),
		zap.Int64("epoch", st.Epoch), zap.Bool("serving", st.Serving)}
	if st.Master != st.Leader {
		fields = append(fields, zap.Int64("master", int64(st.Master)))
	}
	if st.Reason != old.Reason && st.State == zab.Looking {
		fields = append(fields, zap.String("reason", st.Reason))
	}
	m.Log.Info("role", fields...)
}

// electionEnds keeps the figures of elections.
func (m *Host) electionEnds(from, to zab.State, now time.Time) {
	q := m.Metrics.Quorum
	if from == zab.Looking {
		took := now.Sub(m.lookedAt)
		if to != zab.Observing { // who does not vote has no election
			q.ElectionTime.Observe(took.Milliseconds())
		}
		m.Log.Info("election", zap.Stringer("state", to), zap.Duration("took", took))
	}
	if to == zab.Looking {
		q.Looking.Inc()
		m.lookedAt = now
	}
}

// serviceBegins keeps the figures of how long it took to get here.
func (m *Host) serviceBegins(state zab.State, now time.Time) {
	q := m.Metrics.Quorum
	switch state {
	case zab.Following:
		q.FollowerSyncTime.Observe(now.Sub(m.since).Milliseconds())
	case zab.Observing:
		q.ObserverSyncTime.Observe(now.Sub(m.since).Milliseconds())
	}
	if m.lost.IsZero() {
		return
	}
	q.UnavailableTime.Observe(now.Sub(m.lost).Milliseconds())
	if state == zab.Leading {
		q.LeaderUnavailableTime.Observe(now.Sub(m.lost).Milliseconds())
	}
}

// open begins service: as soon as the state holds all that was agreed on before, clients are accepted. Until then what
// they ask waits.
func (m *Host) open() {
	generation := m.generation.Add(1)
	m.opening = true
	state, config := m.status.State, m.Membership()
	if m.Weak(weakness.ServesBeforeApplied) {
		m.opened(state)
		return
	}
	m.applier.Do(func() {
		if m.peers != nil {
			m.setConfig(config)
		}
		m.Do(func() {
			if m.generation.Load() == generation && m.opening {
				m.opened(state)
			}
		})
	})
}

// opened is called when the state is up to date.
func (m *Host) opened(state zab.State) {
	m.opening = false
	m.serviceBegins(state, m.Clock.Steady())
	m.beginLease(state)
	serves := true
	if state == zab.Leading {
		m.role = newLeading(m)
		serves = m.Config.LeaderServes || m.peers == nil
	} else {
		m.role = newFollowing(m)
	}
	m.Accepting.Store(serves)
	m.Disk.Snapshotter.Allow()
	m.delivered = max(m.delivered, m.Store.LastZxid())
	early, resumes := m.early, m.resumes
	m.early, m.resumes = nil, nil
	for _, e := range early {
		if m.links[e.link.ID] == e.link {
			m.role.Packet(e.link, &e.packets[0])
		}
	}
	for _, r := range resumes {
		m.resumeNow(r)
	}
	m.requests()
	if m.lastServed.IsZero() {
		m.Served.Open()
	}
	m.lastServed = m.Clock.Steady()
	if fn := m.afterOpening; fn != nil {
		m.afterOpening = nil
		fn()
	}
}

// Resume answers a client that comes back with its session, by conn.resumed or by the end of its connection. Any goroutine may
// call it.
func (m *Host) Resume(r *flow.Resumption) {
	if !m.Do(func() { m.resumeNow(r) }) {
		r.Client.Abort()
	}
}

func (m *Host) resumeNow(r *flow.Resumption) {
	switch {
	case r.Client.Generation() != m.generation.Load():
		r.Client.Abort()
	case m.role != nil:
		m.role.resume(r)
	case m.opening:
		m.resumes = append(m.resumes, r)
	default:
		r.Client.Abort()
	}
}

// close ends service: nothing is answered any more, every client has to find another server. Sessions live on.
func (m *Host) close(reason string) {
	m.generation.Add(1)
	m.lost = m.Clock.Steady()
	m.Accepting.Store(false)
	m.endLease()
	m.ReadOnly.Store(false)
	m.opening = false
	if m.role != nil {
		m.role.end()
		m.role = nil
	}
	for _, r := range m.resumes {
		r.Client.Abort()
	}
	m.early, m.resumes = nil, nil
	m.refuse()
	// What was committed is still applied, and answered. Then the connections end.
	m.applier.Do(func() {
		n := m.clients.ShutAll()
		if n > 0 {
			m.Log.Info("closed client connections", zap.Int("sessions", n), zap.String("reason", reason))
		}
	})
}
