package host

import (
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
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Host drives the agreement of one server. The host goroutine waits for input and for nothing else. Work that can
// block is done by other goroutines: the journal (disk), the applier (state) and the goroutines of peers (network).
// Source: zab/doc.go, the duties of the host.
//
// With little to do, a switch to another goroutine costs more than the work itself. The goroutine that brings input
// then takes the turn (see Came), and writes to the links and applies txns in it.
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
	status zab.Status
	// epoch is that of the present service, or of the last one: a leader may begin the next epoch while it serves.
	epoch    int64
	again    bool // the core was given input while its output was handled
	stop     bool
	links    links
	noting   zab.LinkID // the link to a leader that notes moves of sessions; see moves.go
	reach    reach
	lease    *lease.Lease
	closing  int64              // after the end of the lease: when the next connections are closed
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
	// AbortOver closes at once every connection that has a session and may not be answered any more, and returns how
	// many. next is until when the others may be answered, ns on the server's clock.
	AbortOver() (ended int, next int64)
	// HoldAll lets the connections of the sessions that wanted accepts take no more requests, and returns them.
	// ShutAll does not end them.
	HoldAll(wanted func(*sessions.Session) bool) []flow.Held
}

// ticksMax is how many ticks the core is told of at once. A turn that takes longer than a tick must not slow
// down the clock of the core, or a busy leader would send its PINGs too late. But if the whole process was
// suspended, only this many ticks of that time count.
const ticksMax = 25

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

// steadyTicks is how many ticks a server in steady service takes at once at most: an idle one need not wake up for
// each.
const steadyTicks = 5

// tickEvery is how often the host goroutine looks for ticks that are due. Elections, and connections that wait for a
// leader, want every tick. In steady service a fortieth of tickTime is precise enough. REQUIRES: turn.
func (h *Host) tickEvery() time.Duration {
	if h.role == nil || h.ReadOnly.Load() || h.keeping.now != nil {
		return coreTick
	}
	return min(max(h.Config.TickTime/40, coreTick), steadyTicks*coreTick)
}

// call runs fn in the host goroutine, and returns when it has. It reports false, and fn has perhaps not run, if the
// host goroutine has ended. REQUIRES: this is not the host goroutine.
func (h *Host) call(fn func()) bool {
	called := sched.NewGate(h.Runtime)
	if h.Do(func() {
		fn()
		called.Open()
	}) {
		sched.WaitAny(h.Runtime, called, h.done)
	}
	return called.IsOpen()
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
	var period time.Duration
	cancel := func() {}
	defer func() { cancel() }()
	retime := func() {
		if every := h.tickEvery(); every != period {
			cancel()
			period = every
			cancel = sched.Every(h.Runtime, period, func() {
				h.ticked.Store(true)
				h.wake.Unpark()
			})
		}
	}
	pace := pacer{clock.Steady()}
	h.turn.Lock() // and no deferred Unlock: a simulator ends the goroutine while it waits
	for h.drain(); !h.stop; {
		retime()
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

// forget drops a link that has closed, and what arrived on it. It is called once more, when the connection has ended,
// for a link that the core has closed.
func (h *Host) forget(id zab.LinkID) {
	l, open := h.links.open[id]
	h.links.remove(id)
	if !open {
		return
	}
	h.surveyed = time.Time{}
	switch r := h.role.(type) {
	case *leading:
		r.gone(id, l)
	case *following:
		r.below.Gone(id)
	}
}
