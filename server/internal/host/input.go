package host

import (
	"io"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/zab"
)

// input is what arrives for the host goroutine. Any goroutine may put something in; the host goroutine takes it.
type input struct {
	batches *flow.Inbox[*flow.Batch] // from connections, the session clock and the reaper
	events  *flow.Inbox[event]       // from peers, the journal and the applier
	wake    sched.Parker             // of batches, events and ticked
	ticked  atomic.Bool              // time has passed since the host goroutine looked

	// Owned by the host goroutine.
	waiting []*flow.Batch // requests that the role has not taken yet
	// taken is what was taken last, kept for reuse.
	taken struct {
		events  []event
		batches []*flow.Batch
	}
}

// event is one input of the host goroutine that is not a request of a client.
type event struct {
	link    *peers.Link
	packets []peers.Packet // packets that arrived on link
	seq     zab.Seq        // if not 0: the writes up to this one are durable
	call    func()         // anything else: the host goroutine runs it
}

func newInput(r sched.Runtime) input {
	wake := r.Parker()
	return input{batches: flow.NewInbox[*flow.Batch](wake), events: flow.NewInbox[event](wake), wake: wake}
}

// Do runs fn in the host goroutine, soon. It reports false if the host goroutine has ended.
func (in *input) Do(fn func()) bool { return in.events.Put(event{call: fn}) }

// Submit hands over requests of clients. It reports false if the host has ended. Any goroutine may call it.
func (in *input) Submit(b *flow.Batch) bool { return in.batches.Put(b) }

// Add is Submit without waking the host goroutine: the caller calls Came afterwards.
func (in *input) Add(b *flow.Batch) bool { return in.batches.Add(b) }

// empty reports whether nothing has arrived that was not taken.
func (in *input) empty() bool { return in.events.Empty() && in.batches.Empty() }

// takeEvents returns the events that have arrived, valid until the next call.
func (in *input) takeEvents() []event {
	in.taken.events, _ = in.events.Take(in.taken.events)
	return in.taken.events
}

// takeBatches moves the requests that have arrived to those that wait.
func (in *input) takeBatches() {
	in.taken.batches, _ = in.batches.Take(in.taken.batches)
	in.waiting = append(in.waiting, in.taken.batches...)
}

// took forgets the first n batches that wait.
func (in *input) took(n int) {
	rest := copy(in.waiting, in.waiting[n:])
	clear(in.waiting[rest:])
	in.waiting = in.waiting[:rest]
}

// close lets nothing more arrive. The requests that have arrived wait.
func (in *input) close() {
	in.events.Close()
	in.batches.Close()
	in.takeBatches()
}

// journalOwner is the host as the journal sees it. The journal goroutine calls the methods.
type journalOwner struct{ *Host }

var _ durable.Owner = journalOwner{}

func (o journalOwner) Persisted(seq zab.Seq) {
	o.events.Add(event{seq: seq})
	o.Came()
}

func (o journalOwner) Written(bytes int64) { o.Queued.Add(-bytes) }

// Acknowledges is false for an observer, which acknowledges nothing, and for a standalone server, which has no leader.
func (o journalOwner) Acknowledges() bool {
	return o.Config.Distributed() && o.View.Load().State != zab.Observing
}

func (o journalOwner) ArrivedState(link zab.LinkID) *durable.Loading { return o.states.on(link) }

func (o journalOwner) Installed(link zab.LinkID, state *datatree.State) {
	o.Swap(state)
	o.states.installed(link)
}

func (o journalOwner) Swap(state *datatree.State) { o.applier.Swap(state) }

func (o journalOwner) JournalEnds() { o.applier.Close() }

// memberHandler is the host as package peers sees it: everything becomes an event of the host goroutine. The
// goroutines of peers call the methods.
type memberHandler struct{ *Host }

var _ peers.Handler = memberHandler{}

func (h memberHandler) Election(msg zab.Message) {
	h.Do(func() {
		h.notices.hearsList(&msg, h.Active, h.Clock.Steady())
		h.member.Step(msg)
	})
}

func (h memberHandler) PeerUp(id proto.ServerID) { h.Do(func() { h.member.PeerUp(id) }) }

func (h memberHandler) AskedAnew(id proto.ServerID, addresses []string) {
	h.Do(func() { h.notices.askedAnew(id, addresses, h.Clock.Steady()) })
}

func (h memberHandler) Accept(port zab.Port) zab.LinkID {
	var number zab.LinkID
	if !h.call(func() {
		if number = h.member.Accept(port); number != 0 {
			h.links.accept(number)
		}
	}) {
		return 0
	}
	return number
}

func (h memberHandler) Connected(l *peers.Link) {
	h.Do(func() {
		h.links.add(l)
		h.member.LinkUp(l.ID)
	})
}

// memberQueueMax is how many bytes may wait for the disk and the state before no more is read from the leader.
const memberQueueMax = 128 << 20

// Packets makes a learner whose disk or state lags behind stop reading, which its leader notices.
func (h memberHandler) Packets(l *peers.Link, batch []peers.Packet) {
	for l.Dialled && h.Queued.Load() > memberQueueMax {
		if h.Host.done.WaitFor(time.Millisecond) {
			return
		}
	}
	h.events.Add(event{link: l, packets: append([]peers.Packet(nil), batch...)})
	h.Came()
}

func (h memberHandler) Closed(id zab.LinkID) {
	h.Do(func() {
		h.forget(id)
		h.member.LinkDown(id)
	})
}

// Snapshot loads the snapshot that a leader sends into a separate state.
func (h memberHandler) Snapshot(l *peers.Link, zxid proto.Zxid, r io.Reader) error {
	began := h.Clock.Steady()
	h.Log.Info("receiving a snapshot", zap.Stringer("zxid", zxid), zap.Int64("server", int64(l.Peer)))
	loader := datatree.NewLoader(datatree.Config{SkipACL: h.Config.SkipACL})
	heard := func() { h.Do(func() { h.member.Heard(l.ID) }) }
	in := &heardReader{r: r, signs: signs{now: h.Clock.Steady, heard: heard}}
	if err := snapshot.ReadStream(in, loader); err != nil {
		h.Log.Warn("cannot load the leader's snapshot", zap.Stringer("zxid", zxid), zap.Error(err))
		return err
	}
	state, err := loader.Done(zxid)
	if err != nil {
		return err
	}
	h.Log.Info("received a snapshot", zap.Stringer("zxid", zxid), zap.Int("znodes", state.NumNodes()),
		zap.Duration("took", h.Clock.Steady().Sub(began)))
	h.states.put(l.ID, &durable.Loading{State: state, Began: began})
	return nil
}
