package zk

import (
	"errors"
	"sync"

	"github.com/seed94657493/warren/client"
)

const (
	eventsMax     = 4096 // events that wait for the receiver of Connect's channel
	eventsSession = 256  // places among them that only events of the session may take
)

// watchChannel is the channel of one watch. It carries one event.
type watchChannel chan Event

// Receive implements client.Receiver.
func (ch watchChannel) Receive(e client.Event) {
	ch <- eventOf(e)
	close(ch)
}

// eventOf converts an event of a watch into one of this package.
func eventOf(e client.Event) Event {
	if e.Type != client.WatchLost {
		return Event{Type: EventType(e.Type), State: StateSyncConnected, Path: e.Path}
	}
	err := ErrClosing
	if !errors.Is(e.Err, client.ErrClosed) {
		err = failure(e.Err)
	}
	return Event{Type: EventNotWatching, State: StateDisconnected, Path: e.Path, Err: err}
}

// eventStream carries all events to the callback and the channel. With a callback there is a goroutine in
// between, so that the goroutine that talks to the server never waits for a callback.
type eventStream struct {
	ch       chan Event
	callback EventCallback
	calls    chan Event // events for the callback; nil without one
	overflow func()     // called when the first event is dropped

	mu      sync.Mutex // orders senders
	hasLost bool
}

func newEventStream(callback EventCallback, overflow func()) *eventStream {
	s := &eventStream{ch: make(chan Event, eventsMax), callback: callback, overflow: overflow}
	if callback != nil {
		s.calls = make(chan Event, eventsMax)
		go s.call()
	}
	return s
}

// call hands the events to the callback, until the stream ends.
func (s *eventStream) call() {
	for e := range s.calls {
		s.callback(e)
		s.put(s.ch, e)
	}
	close(s.ch)
}

func (s *eventStream) emit(e Event) {
	if s.calls != nil {
		s.put(s.calls, e)
	} else {
		s.put(s.ch, e)
	}
}

// put adds an event to a channel. A full channel has no place for events of watches, and drops its oldest event
// for one of the session.
func (s *eventStream) put(ch chan Event, e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type != EventSession && len(ch) >= eventsMax-eventsSession {
		s.lose()
		return
	}
	for {
		select {
		case ch <- e:
			return
		default:
		}
		select {
		case <-ch:
			s.lose()
		default:
		}
	}
}

func (s *eventStream) lose() {
	if !s.hasLost {
		s.hasLost = true
		s.overflow()
	}
}

// end closes the channel after the last event. No event may be emitted afterwards.
func (s *eventStream) end() {
	if s.calls != nil {
		close(s.calls)
	} else {
		close(s.ch)
	}
}
