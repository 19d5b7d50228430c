package client

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// tcpPair returns both ends of a connection over TCP.
func tcpPair(t *testing.T) (near, far net.Conn) {
	l := require.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	near = require.Do(net.Dial("tcp", l.Addr().String()))(t)
	far = require.Do(l.Accept())(t)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// A call that is alone is written by its caller; one that is not, or is large, is left to the writer, and so is
// everything on a connection that may block. The writer does not run here.
func TestWhoWrites(t *testing.T) {
	cfg := defaultConfig()
	start := func(nc net.Conn) (*conn, func(data int)) {
		cn := newConn(nc, newFrames(nc, 1<<20), "test", time.Now(), 10*time.Second, &cfg)
		return cn, func(data int) {
			t.Helper()
			room, err := cn.push(&call{request: request{op: proto.OpSetData, path: "/a", data: make([]byte, data)},
				done: make(chan struct{}, 1)})
			require.NoError(t, err)
			require.True(t, room == nil)
		}
	}
	// outcome returns what waits for the socket and whether the writer is awake.
	outcome := func(cn *conn) (waiting int, isAwake bool) {
		cn.mu.Lock()
		defer cn.mu.Unlock()
		return len(cn.out), len(cn.wake) > 0
	}

	near, far := tcpPair(t)
	cn, push := start(near)
	push(10)
	waiting, isAwake := outcome(cn)
	require.Zero(t, waiting)
	require.False(t, isAwake)
	frame := make([]byte, 4+8+4+2+4+10+4)
	require.Do(io.ReadFull(far, frame))(t)
	require.EqualValues(t, 1, cn.sent)

	push(10) // the first has no answer yet
	waiting, isAwake = outcome(cn)
	require.Len(t, frame, waiting)
	require.True(t, isAwake)
	require.True(t, cn.begin())
	require.False(t, cn.begin(), "only one writes")
	push(10) // while another goroutine writes
	require.False(t, cn.flush(), "one write for both")
	require.Do(io.ReadFull(far, make([]byte, 2*len(frame))))(t)
	require.EqualValues(t, 3, cn.sent)
	require.False(t, cn.begin())

	near, _ = tcpPair(t)
	cn, push = start(near)
	push(promptBytesMax)
	waiting, isAwake = outcome(cn)
	require.Greater(t, waiting, promptBytesMax)
	require.True(t, isAwake)

	near, far = net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	cn, push = start(near)
	push(10) // would never return if it wrote
	waiting, isAwake = outcome(cn)
	require.Len(t, frame, waiting)
	require.True(t, isAwake)
}

// A new connection begins with all watches of the client. However many they are, a call that comes before they are
// written does not wait for room: no call is on the connection whose answer would make any.
func TestCallsDoNotWaitForWatches(t *testing.T) {
	cfg := defaultConfig()
	near, _ := tcpPair(t)
	cn := newConn(near, newFrames(near, 1<<20), "test", time.Now(), 10*time.Second, &cfg)
	cn.queue(make([]byte, outputBytesMax+1))
	push := func() (room <-chan struct{}) {
		room, err := cn.push(&call{request: request{op: proto.OpSync, path: "/"}, done: make(chan struct{}, 1)})
		require.NoError(t, err)
		return room
	}
	require.True(t, push() == nil)
	require.True(t, push() != nil, "more calls wait until the first is answered")
}
