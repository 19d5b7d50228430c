package host

import (
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

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
		h.notices.hearsList(&msg, h.Active, h.Clock.Steady())
		h.member.Step(msg)
	})
}

// PeerUp implements peers.Handler.
func (h memberHandler) PeerUp(id proto.ServerID) { h.Do(func() { h.member.PeerUp(id) }) }

// AskedAnew implements peers.Handler.
func (h memberHandler) AskedAnew(id proto.ServerID, addresses []string) {
	h.Do(func() { h.notices.askedAnew(id, addresses, h.Clock.Steady()) })
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
