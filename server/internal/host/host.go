package host

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/kept"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/internal/security"
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
	setup
	clients  clients
	Security *security.Quorum // nil on a standalone server
	// configured is called with each configuration that was committed, in an ensemble that can be reconfigured.
	configured func(*config.Quorum) bool

	ID      proto.ServerID
	core    agreement
	member  *zab.Core    // core of a member of an ensemble; nil on a standalone server
	peers   *peers.Peers // nil on a standalone server
	journal *durable.Journal
	answers

	input
	done   *sched.Gate // open when the goroutine has ended
	Served *sched.Gate // open when the first service has begun

	// turn is held by the host goroutine while it does not wait. calm is true while there is so little to do that
	// any goroutine may take the turn. The holder of turn stores calm.
	turn sync.Mutex
	calm atomic.Bool

	published
	// Queued is the number of bytes that wait for the journal or the applier.
	Queued atomic.Int64
	// Finished is the zxid up to which all txns are applied and answered. The applier stores it.
	Finished atomic.Int64

	states arrivals // by SNAP
	sender sender

	// The fields from here on are owned by the host goroutine.
	ensembles
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
	keeping  keeping     // client connections that outlive a leader
	pending  kept.Bodies // bodies of requests that were forwarded and are not answered
	silence  silence     // what the next leader should know of sessions without clients
	legs     legs        // measured for Env.Stages
	surveyed time.Time   // when survey did something last

	notices notices
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
func (h *Host) End() { h.Do(func() { h.stop = true }) }

// Ended reports whether the host takes part in nothing any more, as soon as no turn is taken.
func (h *Host) Ended() bool {
	h.turn.Lock()
	defer h.turn.Unlock()
	return h.stop
}

// run is the host goroutine.
func (h *Host) run() {
	defer h.Handed.Open() // Stop waits for it
	defer h.done.Open()
	clock := h.Clock
	cancel := sched.Every(h.Runtime, coreTick, func() {
		h.ticked.Store(true)
		h.wake.Unpark()
	})
	defer cancel()
	pace := pacer{clock.Steady()}
	h.turn.Lock() // and no deferred Unlock: a simulator ends the goroutine while it waits
	for h.drain(); !h.stop; {
		h.turn.Unlock()
		h.wake.Park()
		ticked := h.ticked.Swap(false)
		if !ticked && !h.calm.Load() {
			runtime.Gosched() // other goroutines are ready and have input: let it share this turn
		}
		h.turn.Lock()
		ticked = ticked && !h.stop
		if ticked {
			now := clock.Steady()
			for range pace.due(now) {
				if h.member != nil {
					h.member.Tick()
				}
			}
			h.keeping.expire(h.Log)
			h.maybeReadOnly(now)
			h.survey(now)
		}
		h.takeTurn()
		if ticked && !h.stop {
			h.keepLease() // after the PINGs that have arrived
			if lead, ok := h.role.(*leading); ok {
				lead.tellSilent()
			}
		}
	}
	h.close("stopping")
	h.input.close()
	h.refuse()
	h.applier.Come(false)
	h.journal.Jobs.Close()
	h.turn.Unlock()
}

// takeTurn takes all input that has arrived. REQUIRES: turn.
func (h *Host) takeTurn() {
	if h.stop {
		return
	}
	events := h.takeEvents()
	for i := range events {
		h.handle(&events[i])
	}
	h.takeBatches()
	h.requests()
	h.drain()
	h.calm.Store(!h.stop && h.role != nil && h.role.calm())
}

// calmMax is how many requests may be in flight in calm. With more, the requests that arrive while the host
// goroutine wakes up share its turn, which saves more than the switch costs.
const calmMax = 8

// Came lets input that was added be handled. In calm the caller takes the turn itself, unless another goroutine has
// it. Otherwise the host goroutine takes one more turn. REQUIRES: the caller holds no lock that a turn may take.
func (h *Host) Came() {
	if h.calm.Load() && h.turn.TryLock() {
		h.takeTurn()
		stop := h.stop
		h.turn.Unlock()
		if !stop && h.input.empty() {
			return
		}
	}
	h.events.Signal()
}

// handle gives one event to the core and the role.
func (h *Host) handle(e *event) {
	switch {
	case e.call != nil:
		if lead, ok := h.role.(*leading); ok {
			lead.unlockState()
		}
		e.call()
	case e.seq != 0:
		if now := measured(h.Env); now != 0 {
			h.legs.persisted(e.seq, now, func(g *leg) { trace(h.Env, g) })
		}
		h.core.Persisted(e.seq)
	default:
		h.arrived(e.link, e.packets)
	}
}

var errReconfigured = errors.New(
	"the ensemble was reconfigured, but reconfigEnabled is false here: start it again with the new configuration")

// arrived handles packets of another server, in order.
func (h *Host) arrived(from *peers.Link, packets []peers.Packet) {
	l := h.links.from(from)
	if l == nil {
		return
	}
	l.arrived = h.Clock.Now()
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
			h.reach.told(batch[n-1].Zxid)
			countArrived(h.Env, &batch[n-1], n)
		case proto.PacketProposal:
			if !l.Dialled {
				break
			}
			h.reach.seen = max(h.reach.seen, batch[n-1].Zxid)
			countArrived(h.Env, &batch[n-1], n)
		case proto.PacketCommitAndActivate, proto.PacketInformAndActivate:
			if !l.Dialled {
				break
			}
			if !h.Config.ReconfigEnabled {
				h.Fatal("following a reconfiguration", errReconfigured)
				return
			}
			h.reach.told(p.Zxid)
		case proto.PacketAck:
			if lead, ok := h.role.(*leading); ok {
				lead.acknowledged(l.Peer, batch[n-1].Zxid)
			}
		case peers.PacketNotesMoves:
			if l.Dialled {
				h.noting = l.ID
			}
		case peers.PacketSilent:
			if l.Dialled {
				h.silence.told(l, p)
			} else {
				h.forRole(l, p)
			}
		case peers.PacketHandOver:
			if f, ok := h.role.(*following); ok && f.link == l {
				f.handed = f.holding
			}
		case proto.PacketRequest, proto.PacketRevalidate, proto.PacketPing, proto.PacketSync, peers.PacketHold,
			peers.PacketUnhold, peers.PacketMoved, peers.PacketReclaim:
			if p.Type == proto.PacketPing {
				h.pinged(l, p)
			}
			h.forRole(l, &batch[0])
		}
		if msg.Type == zab.FollowerInfo || msg.Type == zab.ObserverInfo || msg.Type == zab.LeaderInfo {
			l.warren = msg.Warren
		}
		if ok {
			h.member.Step(msg)
		} else {
			h.member.Heard(l.ID)
		}
	}
}

// forRole gives a packet that the host handles itself to the role, or keeps it until there is a role. A learner
// sends requests from UPTODATE on, but a leader of servers in Java serves only when its first txn is committed. A
// learner in Java that misses the answer to one request answers no client any more.
func (h *Host) forRole(l *link, packet *peers.Packet) {
	switch {
	case h.role != nil:
		h.role.Packet(l, packet)
	case h.opening.on || h.status.State == zab.Leading:
		h.opening.early = append(h.opening.early, early{l, packet})
	}
}

// requests gives the requests of clients to the role, as far as there is room.
func (h *Host) requests() {
	h.waiting = h.keeping.park(h.waiting)
	switch {
	case len(h.waiting) == 0:
	case h.role == nil && !h.opening.on:
		h.refuse()
	case h.role != nil:
		done := 0
		for done < len(h.waiting) && h.take(h.waiting[done]) {
			h.RequestPool.Put(h.waiting[done])
			done++
		}
		h.took(done)
	}
	if h.role != nil {
		h.role.flush()
	}
}

// take gives the requests of one batch to the role, and stores in the batch how many the role has taken. It returns
// false if some are left.
func (h *Host) take(b *flow.Batch) bool {
	for b.Taken < len(b.Requests) {
		r := &b.Requests[b.Taken]
		if r.Client != nil && (r.Client.Superseded() ||
			r.Client.Generation() != h.generation.Load()) {
			h.drop(b, r)
		} else if !h.role.request(b, r) {
			return false
		}
		b.Taken++
	}
	return true
}

// refuse drops the requests that wait: this server does not serve now.
func (h *Host) refuse() {
	for _, b := range h.waiting {
		for ; b.Taken < len(b.Requests); b.Taken++ {
			h.drop(b, &b.Requests[b.Taken])
		}
		h.RequestPool.Put(b)
	}
	h.took(len(h.waiting))
}

// drop ends the connection of a request that is not answered.
func (h *Host) drop(b *flow.Batch, r *flow.Request) {
	h.release(r)
	if r.Client != nil {
		h.answer(flow.Item{Client: r.Client, Session: r.Session, Received: b.Received, Xid: r.Xid, Op: r.Op,
			Drop: true})
	}
}

// forget drops a link that has closed, and what arrived on it.
func (h *Host) forget(id zab.LinkID) {
	h.links.remove(id)
	h.surveyed = time.Time{}
	switch r := h.role.(type) {
	case *leading:
		r.gone(id)
	case *following:
		r.below.Gone(id)
	}
}
