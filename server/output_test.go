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
