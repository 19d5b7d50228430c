package zk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventsWaitForTheirReceiver(t *testing.T) {
	lost := 0
	s := newEventStream(nil, func() { lost++ })
	s.emit(Event{Type: EventSession, State: StateConnecting})
	for range eventsMax {
		s.emit(Event{Type: EventNodeCreated})
	}
	require.Equal(t, 1, lost, "the receiver is complained about once")
	require.Len(t, s.ch, eventsMax-eventsSession)
	for range eventsSession {
		s.emit(Event{Type: EventSession, State: StateConnected})
	}
	require.Equal(t, StateConnecting, (<-s.ch).State, "events of the session had places left")
	s.emit(Event{Type: EventSession, State: StateConnected})
	s.emit(Event{Type: EventSession, State: StateExpired}) // takes the place of the oldest
	s.end()
	var last Event
	n := 0
	for last = range s.ch {
		n++
	}
	require.Equal(t, eventsMax, n)
	require.Equal(t, StateExpired, last.State)
}

// A receiver that is late by hundreds of events still gets all of them, in order, where go-zookeeper keeps six.
func TestNoEventIsDropped(t *testing.T) {
	c, events := connect(t, address)
	root := newRoot(t, c)
	const n = 500
	for i := range n {
		_, _, w, err := c.ExistsW(root)
		require.NoError(t, err)
		_, err = c.Set(root, nil, int32(i))
		require.NoError(t, err)
		receive(t, w)
	}
	for range n {
		require.Equal(t, Event{Type: EventNodeDataChanged, State: StateSyncConnected, Path: root}, receive(t, events))
	}
	c.Close()
	require.Equal(t, StateDisconnected, receive(t, events).State)
	_, open := <-events
	require.False(t, open)
}

// A callback may do what with go-zookeeper would hang: use the Conn, and close it.
func TestCallbackMayUseTheConn(t *testing.T) {
	ready := make(chan *Conn, 1)
	closed := make(chan error, 1)
	c, events, err := Connect([]string{address}, 0, WithLogger(quiet{}))
	require.Error(t, err, "no session timeout")
	require.Nil(t, c)
	require.Nil(t, events)
	c, events = connect(t, address, WithEventCallback(func(e Event) {
		if e.Type != EventNodeDataChanged {
			return
		}
		c := <-ready
		_, _, err := c.Get("/")
		c.Close()
		closed <- err
	}))
	root := newRoot(t, c)
	_, _, w, err := c.GetW(root)
	require.NoError(t, err)
	ready <- c
	_, err = c.Set(root, nil, -1)
	if err != nil { // the callback may be faster than the answer
		require.ErrorIs(t, err, ErrConnectionClosed)
	}
	require.Equal(t, EventNodeDataChanged, receive(t, w).Type)
	require.NoError(t, receive(t, closed))
	until(t, events, StateDisconnected)
	for range events { // ends
	}
}
