package server

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

func TestNothingFollowsTheLastReply(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	client, nc := tcpPair(t)
	c := newConn(s, nc)
	s.store.watch(c, datatree.WatchPersistent, []byte("/"), 0)
	c.mu.Lock()
	c.mu.out.buf = appendHeaderReply(nil, 7, 1, proto.OK)
	c.mu.out.closing = true
	c.mu.Unlock()
	c.flush()
	// The client has not read yet; what it sends keeps input unread. An event now must not turn the
	// orderly end into a reset.
	_, err := client.Write(make([]byte, 100))
	require.NoError(t, err)
	_, err = dialWire(t, s, wire.Options{}).Create("/x", nil, proto.ModePersistent)
	require.NoError(t, err)
	c.mu.Lock()
	dead, pending := c.mu.out.dead, len(c.mu.out.buf)
	c.mu.Unlock()
	require.False(t, dead)
	require.Zero(t, pending)
	reply, err := wire.ReadFrame(client)
	require.NoError(t, err)
	require.Len(t, reply, proto.ReplyHeaderSize)
	s.store.unwatch(c)
}

func TestLongAnswerReachesAClientThatHasClosedItsSide(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	var paths []string
	for i := range 100_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	require.NoError(t, c.SetWatches(0, nil, paths, nil))
	nc := dialRaw(t, s)
	_, err := nc.Write([]byte("wchp"))
	require.NoError(t, err)
	require.NoError(t, nc.CloseWrite())
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	got, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.Equal(t, 2*len(paths)+1, bytes.Count(got, []byte("\n")))
}

// A client that was slow once, so that drain had to wait for it, is served on when the time it had then has passed.
func TestSlowOnceIsNotSlowForEver(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	writer := dialWire(t, s, wire.Options{})
	_, err := writer.Create("/big", make([]byte, 1_000_000), 0)
	require.NoError(t, err)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{TimeoutMs: 400})
	var requests []byte
	for i := range 20 {
		requests = frame(requests, int32(i+1), wire.GetData("/big", false))
	}
	_, err = nc.Write(requests)
	require.NoError(t, err)
	var c *conn
	s.conns.each(func(other *conn) {
		if other.remote.String() == nc.LocalAddr().String() {
			c = other
		}
	})
	eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.mu.out.writing
	}, "drain waits for the client")
	for range 20 {
		_, err := wire.ReadFrame(nc)
		require.NoError(t, err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 8 {
		<-tick.C
		_, err = nc.Write(frame(nil, -2, wire.Ping()))
		require.NoError(t, err)
		_, err := wire.ReadFrame(nc)
		require.NoError(t, err)
	}
}
