package client

import (
	"context"
	"iter"

	"github.com/seed94657493/warren/proto"
)

type watchKind uint8

const (
	watchData       watchKind = iota // getData, and exists on a znode that exists: one-shot
	watchExist                       // exists on an absent znode: one-shot
	watchChild                       // getChildren: one-shot
	watchPersistent                  // addWatch mode 0
	watchRecursive                   // addWatch mode 1
)

// watcherTypes are the types of the kinds in requests. A server has a path of a connection at most once for each type:
// exists and getData share one.
var watcherTypes = [...]proto.WatcherType{proto.WatcherData, proto.WatcherData, proto.WatcherChildren,
	proto.WatcherPersistent, proto.WatcherPersistentRecursive}

func (k watchKind) isOneShot() bool { return k <= watchChild }

// takes reports whether an event of type t at the watched path itself is for a watch of kind k. Source:
// client-protocol 9.4.
func (k watchKind) takes(t EventType) bool {
	switch k {
	case watchData, watchExist:
		return t != NodeChildrenChanged
	case watchChild:
		return t == NodeChildrenChanged || t == NodeDeleted
	case watchRecursive:
		return t != NodeChildrenChanged
	}
	return true
}

// Watch is one registration for events. Its events wait in a bounded queue until they are received from C, by
// Next or by All. When the queue is full, WatchOverflow replaces the events that follow until it is received.
//
// A one-shot watch delivers one event and ends. A persistent one goes on until its context ends, Close is called
// or the session is lost. Both survive reconnects. All methods may be called concurrently.
type Watch struct {
	set  *watchSet
	path string // as the server knows it

	// Guarded by set.mu.
	to       Receiver // eventQueue of a persistent watch, single of a one-shot one that needs it, or the caller's
	next     *Watch   // of the same path
	kind     watchKind
	isShared bool // to belongs to other watches too and stays open; never changes
	isActive bool // the server has it
	isOver   bool
}

// channel returns the watch's own channel. The channel of a one-shot watch is made at its first use: a client may
// have very many such watches, and receive from few of them. REQUIRES: set.mu, and that the events do not go to a
// Receiver of the caller.
func (w *Watch) channel() chan Event {
	switch q := w.to.(type) {
	case *eventQueue:
		return q.ch
	case single:
		return q
	}
	ch := make(single, 1)
	if w.isOver {
		close(ch)
	}
	w.to = ch
	return ch
}

// receive delivers an event. REQUIRES: set.mu.
func (w *Watch) receive(e Event) {
	if w.to == nil {
		w.channel()
	}
	w.to.Receive(e)
}

// single is the queue of a one-shot watch, which has one event.
type single chan Event

// Receive adds the event.
func (q single) Receive(e Event) { q <- e }

// Receiver takes the events of one-shot watches instead of their channels: for many watches in one place, or for
// a channel of the caller's own type. The last event of a watch whose session or client ends is WatchLost.
type Receiver interface {
	// Receive is called by the goroutine that reads from the server, under a lock of the client: it must neither
	// block nor call the client.
	Receive(e Event)
}

// eventQueue holds the waiting events of a watch. watchSet.mu guards sending and closing. Invariant: at most
// limit events, one WatchOverflow and one final event are in ch, so that sending never blocks.
type eventQueue struct {
	ch         chan Event
	stop       func() bool // detaches the watch from its context; nil if it has none
	err        error
	limit      int32
	overflowed bool // a WatchOverflow is in ch, or was the last to be received
}

func newEventQueue(limit int) *eventQueue {
	return &eventQueue{ch: make(chan Event, limit+2), limit: int32(limit)}
}

// Receive adds an event. If the queue is full it adds one WatchOverflow.
func (q *eventQueue) Receive(e Event) {
	if q.overflowed {
		if len(q.ch) > 0 {
			return // the receiver of the WatchOverflow will read the new state
		}
		q.overflowed = false
	}
	if len(q.ch) >= int(q.limit) {
		q.overflowed = true
		e = Event{Type: WatchOverflow, Path: e.Path, Zxid: e.Zxid}
	}
	q.ch <- e
}

// C returns the channel of events. It is closed after the last one. It is nil if the events go to a Receiver.
func (w *Watch) C() <-chan Event {
	if w.isShared {
		return nil
	}
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.channel()
}

// Path returns the watched path.
func (w *Watch) Path() string { return stripChroot(w.set.chroot, w.path) }

// Next waits for the next event. It returns false when the watch has ended or ctx ends.
func (w *Watch) Next(ctx context.Context) (Event, bool) {
	ch := w.C()
	select {
	case e, ok := <-ch:
		return e, ok
	default:
	}
	select {
	case e, ok := <-ch:
		return e, ok
	case <-ctx.Done():
		return Event{}, false
	}
}

// All ranges over the events until the watch has ended or ctx ends, and closes the watch when the loop is left.
func (w *Watch) All(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		defer w.Close()
		for {
			e, ok := w.Next(ctx)
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// Err returns why the watch has ended; nil if it has not, has fired, or was closed by its owner.
func (w *Watch) Err() error {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if q, ok := w.to.(*eventQueue); ok {
		return q.err
	}
	return nil
}

// Close ends the watch. If no other watch is left on the path, the client tells the server without waiting for an
// answer.
func (w *Watch) Close() { w.set.drop(w, true) }
