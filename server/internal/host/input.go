package host

import (
	"sync/atomic"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/peers"
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
