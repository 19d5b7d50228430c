package zk

import (
	"testing"
)

func TestEventsWaitForTheirReceiver(t *testing.T) {
	lost := 0
	s := newEventStream(nil, func() { lost++ })
	s.emit(Event{Type: EventSession, State: StateConnecting})
	for range eventsMax {
		s.emit(Event{Type: EventNodeCreated})
	}
	same(t, 1, lost, "the receiver is complained about once")
	same(t, eventsMax-eventsSession, len(s.ch))
	for range eventsSession {
		s.emit(Event{Type: EventSession, State: StateConnected})
	}
	same(t, StateConnecting, (<-s.ch).State, "events of the session had places left")
	s.emit(Event{Type: EventSession, State: StateConnected})
	s.emit(Event{Type: EventSession, State: StateExpired}) // takes the place of the oldest
	s.end()
	var last Event
	n := 0
	for last = range s.ch {
		n++
	}
	same(t, eventsMax, n)
	same(t, StateExpired, last.State)
}
