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
	"github.com/seed94657493/warren/test/wire"
)

func TestNothingFollowsTheLastReply(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	client, nc := tcpPair(t)
	c := newConn(s.front, nc)
	s.store.watch(c, watch.Persistent, []byte("/"), 0)
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
	c.unwatch()
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

// patientConn passes no deadline on, but keeps the last one: the time it allows passes when the test says so.
type patientConn struct {
	*net.TCPConn
	set atomic.Bool // there is a deadline
}

func (p *patientConn) SetWriteDeadline(at time.Time) error {
	p.set.Store(!at.IsZero())
	return nil
}

// pass lets the time pass.
func (p *patientConn) pass() {
	if p.set.Load() {
		_ = p.TCPConn.SetWriteDeadline(time.Now().Add(-time.Second))
	}
}

// A client that was slow once, so that drain had to wait for it, is served on when the time it had then has passed.
func TestSlowOnceIsNotSlowForEver(t *testing.T) {
	client, nc := tcpPair(t)
	c := newConn(serveMem(t, memConfig(), nil).front, nc)
	patience := &patientConn{TCPConn: nc.(*net.TCPConn)}
	c.nc = patience
	const large = 20 << 20
	add := func(b []byte) {
		c.mu.Lock()
		c.mu.out.buf = append(c.mu.out.buf, b...)
		c.mu.Unlock()
		c.flush()
	}
	add(make([]byte, large))
	eventually(t, patience.set.Load, "drain waits for the client")
	_, err := io.CopyN(io.Discard, client, large)
	require.NoError(t, err)
	eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.mu.out.writing
	}, "drain has ended")
	patience.pass()
	add([]byte("more"))
	more := make([]byte, 4)
	_, err = io.ReadFull(client, more)
	require.NoError(t, err)
	require.Equal(t, "more", string(more))
}

// What waits for a client is written in its order, whatever it is kept in, and what others share is not changed.
func TestOutputKeepsItsOrder(t *testing.T) {
	var o output
	shared := bytes.Repeat([]byte{'s'}, sharedEvent)
	var want []byte
	add := func(b []byte) { want = append(want, b...) }
	o.buf = append(o.buf, "reply"...)
	add([]byte("reply"))
	for i := range 5 {
		o.addEvent(shared, true)
		add(shared)
		small := bytes.Repeat([]byte{byte('0' + i)}, outputChunk/2)
		for range 3 {
			o.addEvent(small, false)
			add(small)
		}
	}
	require.Equal(t, len(want), o.waiting())
	var got []byte
	for o.waiting() > 0 {
		b := o.next()
		require.Equal(t, len(b), o.taken)
		if &b[0] == &shared[0] {
			require.False(t, o.own, "others have it, too")
		}
		got = append(got, b...)
	}
	require.True(t, bytes.Equal(want, got))
}

// A client that takes no events is closed when all together take too little, and one that takes all of them is not.
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
	s.front.undelivered.Add(undeliveredMax) // others
	defer s.front.undelivered.Add(-undeliveredMax)
	before := s.front.conns.len()
	eventually(t, func() bool {
		_, err := w.SetData(path, nil, -1)
		require.NoError(t, err)
		return s.front.conns.len() < before
	}, "the deaf one is closed")
	require.NoError(t, w.Ping())
	eventually(t, func() bool { return s.front.undelivered.Load() == undeliveredMax }, "nothing of it is counted any more")
}
