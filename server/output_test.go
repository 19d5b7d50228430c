package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

func TestNothingFollowsTheLastReply(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	client, nc := tcpPair(t)
	c := serve.NewConn(s.front, nc)
	s.front.Watchers.Watch(c, watch.Persistent, []byte("/"))
	c.Mu.Lock()
	c.Mu.Out.Buf = serve.AppendHeaderReply(nil, 7, 1, proto.OK)
	c.Mu.Out.Closing = true
	c.Mu.Unlock()
	c.Flush()
	// The client has not read yet, and its requests stay unread in the server's input. An event now must not turn
	// the orderly end into a reset.
	_, err := client.Write(make([]byte, 100))
	require.NoError(t, err)
	_, err = dialWire(t, s, wire.Options{}).Create("/x", nil, proto.ModePersistent)
	require.NoError(t, err)
	c.Mu.Lock()
	dead, pending := c.Mu.Out.Dead, len(c.Mu.Out.Buf)
	c.Mu.Unlock()
	require.False(t, dead)
	require.Zero(t, pending)
	reply, err := wire.ReadFrame(client)
	require.NoError(t, err)
	require.Len(t, reply, proto.ReplyHeaderSize)
	c.Unwatch()
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
	_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
	got, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.Equal(t, 2*len(paths)+1, bytes.Count(got, []byte("\n")))
}

// patientConn does not set deadlines, but keeps the last one: the test decides when it expires.
type patientConn struct {
	*net.TCPConn
	set atomic.Bool // there is a deadline
}

func (p *patientConn) SetWriteDeadline(at time.Time) error {
	p.set.Store(!at.IsZero())
	return nil
}

// pass lets the deadline expire.
func (p *patientConn) pass() {
	if p.set.Load() {
		_ = p.TCPConn.SetWriteDeadline(time.Now().Add(-time.Second))
	}
}

// A client that was slow once, so that drain had to wait for it, is still served after the deadline of that time.
func TestSlowOnceIsNotSlowForEver(t *testing.T) {
	client, nc := tcpPair(t)
	c := serve.NewConn(serveMem(t, memConfig(), nil).front, nc)
	patience := &patientConn{TCPConn: nc.(*net.TCPConn)}
	c.NC = patience
	const large = 20 << 20
	add := func(b []byte) {
		c.Mu.Lock()
		c.Mu.Out.Buf = append(c.Mu.Out.Buf, b...)
		c.Mu.Unlock()
		c.Flush()
	}
	add(make([]byte, large))
	eventually(t, patience.set.Load, "drain waits for the client")
	_, err := io.CopyN(io.Discard, client, large)
	require.NoError(t, err)
	eventually(t, func() bool {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		return !c.Mu.Out.Writing
	}, "drain has ended")
	patience.pass()
	add([]byte("more"))
	more := make([]byte, 4)
	_, err = io.ReadFull(client, more)
	require.NoError(t, err)
	require.Equal(t, "more", string(more))
}

// Output is written in its order, whichever buffers it is in, and shared buffers are not changed.
func TestOutputKeepsItsOrder(t *testing.T) {
	var o serve.Output
	shared := bytes.Repeat([]byte{'s'}, serve.SharedEvent)
	var want []byte
	add := func(b []byte) { want = append(want, b...) }
	o.Buf = append(o.Buf, "reply"...)
	add([]byte("reply"))
	for i := range 5 {
		o.AddEvent(shared, true)
		add(shared)
		small := bytes.Repeat([]byte{byte('0' + i)}, serve.OutputChunk/2)
		for range 3 {
			o.AddEvent(small, false)
			add(small)
		}
	}
	require.Equal(t, len(want), o.Waiting())
	var got []byte
	for o.Waiting() > 0 {
		b := o.Next()
		require.Equal(t, len(b), o.Taken)
		if &b[0] == &shared[0] {
			require.False(t, o.Own, "others have it, too")
		}
		got = append(got, b...)
	}
	require.True(t, bytes.Equal(want, got))
}

// A client that takes no events is closed when too much waits for all clients together. A client that takes all its
// events is not.
func TestEventsThatNobodyTakes(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	w := dialWire(t, s, wire.Options{})
	path := "/" + string(bytes.Repeat([]byte{'n'}, 500_000))
	_, err := w.Create(path, nil, proto.ModePersistent)
	require.NoError(t, err)
	deaf := dialRaw(t, s)
	require.NoError(t, deaf.SetReadBuffer(16<<10))
	hello(t, deaf, wire.Options{TimeoutMs: 40_000})
	_, err = deaf.Write(frame(nil, 1, wire.AddWatch(path, proto.AddWatchPersistent)))
	require.NoError(t, err)
	require.NoError(t, w.AddWatch(path, proto.AddWatchPersistent))
	s.front.Undelivered.Add(serve.UndeliveredMax) // others
	defer s.front.Undelivered.Add(-serve.UndeliveredMax)
	before := s.front.Conns.Len()
	eventually(t, func() bool {
		_, err := w.SetData(path, nil, -1)
		require.NoError(t, err)
		return s.front.Conns.Len() < before
	}, "the deaf one is closed")
	require.NoError(t, w.Ping())
	eventually(t, func() bool { return s.front.Undelivered.Load() == serve.UndeliveredMax },
		"nothing of it is counted any more")
}
