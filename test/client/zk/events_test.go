package zk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client/zk"
)

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
	want := zk.Event{Type: zk.EventNodeDataChanged, State: zk.StateSyncConnected, Path: root}
	for range n {
		require.Equal(t, want, receive(t, events))
	}
	c.Close()
	require.Equal(t, zk.StateDisconnected, receive(t, events).State)
	_, open := <-events
	require.False(t, open)
}

// A callback may do what with go-zookeeper would hang: use the Conn, and close it.
func TestCallbackMayUseTheConn(t *testing.T) {
	ready := make(chan *zk.Conn, 1)
	closed := make(chan error, 1)
	c, events, err := zk.Connect([]string{address}, 0, zk.WithLogger(quiet{}))
	require.Error(t, err, "no session timeout")
	require.Nil(t, c)
	require.Nil(t, events)
	c, events = connect(t, address, zk.WithEventCallback(func(e zk.Event) {
		if e.Type != zk.EventNodeDataChanged {
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
		require.ErrorIs(t, err, zk.ErrConnectionClosed)
	}
	require.Equal(t, zk.EventNodeDataChanged, receive(t, w).Type)
	require.NoError(t, receive(t, closed))
	until(t, events, zk.StateDisconnected)
	for range events { // ends
	}
}
