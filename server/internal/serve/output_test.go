package serve

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// countingHost counts what it is given, and answers nothing.
type countingHost struct {
	hosts
	taken int
}

func (h *countingHost) Add(b *flow.Batch) bool { h.taken += len(b.Requests); return true }
func (h *countingHost) Came()                  {}

// newFront returns a front without a server behind it.
func newFront() *Front {
	e := env.New(config.Default(), env.Options{})
	e.Store, e.Tracker = env.NewStore(datatree.NewState(datatree.Config{})), sessions.New(time.Second, 1, 0, 0)
	f := New(e, nil)
	f.Attach(&countingHost{}, nil)
	return f
}

func TestNothingFollowsTheLastReply(t *testing.T) {
	client, nc := wire.Pair(t)
	c := newConn(newFront(), nc)
	a := newApplier(c.srv)
	c.srv.Config.SkipACL = true
	c.srv.watchers.slots = append(c.srv.watchers.slots, c)
	c.mu.Lock()
	c.mu.out.buf = appendHeaderReply(nil, 7, 1, proto.OK)
	c.mu.out.closing = true
	c.mu.Unlock()
	c.flush()
	// The client has not read yet, and its requests stay unread in the server's input. An event now must not turn
	// the orderly end into a reset.
	must.Do(client.Write(make([]byte, 100)))(t)
	a.deliver(1, proto.EventNodeChildrenChanged, []byte("/"), 0)
	a.flush()
	c.mu.Lock()
	dead, pending := c.mu.out.dead, len(c.mu.out.buf)
	c.mu.Unlock()
	require.False(t, dead)
	require.Zero(t, pending)
	require.Len(t, must.ReadAll(t, client), 4+proto.ReplyHeaderSize)
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
	client, nc := wire.Pair(t)
	c := newConn(newFront(), nc)
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
	require.Eventually(t, patience.set.Load, time.Minute, time.Millisecond, "drain waits for the client")
	must.Do(io.CopyN(io.Discard, client, large))(t)
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.mu.out.writing
	}, time.Minute, time.Millisecond, "drain has ended")
	patience.pass()
	add([]byte("more"))
	more := make([]byte, 4)
	must.Do(io.ReadFull(client, more))(t)
	require.Equal(t, "more", string(more))
}

// Output is written in its order, whichever buffers it is in. A buffer that others have, too, is neither changed nor
// used for other output.
func TestOutputKeepsItsOrder(t *testing.T) {
	var o unsent
	shared := bytes.Repeat([]byte{'s'}, outputChunk+1)
	var want, got []byte
	add := func(b []byte) { want = append(want, b...) }
	o.buf = append(o.buf, "reply"...)
	add([]byte("reply"))
	for i := range 20 {
		o.addEvent(shared, true)
		add(shared)
		small := bytes.Repeat([]byte{byte('0' + i)}, outputChunk/2)
		for range 5 {
			o.addEvent(small, false)
			add(small)
			o.startBuffer()
			o.buf = append(append(o.buf, small...), small...)
			add(small)
			add(small)
		}
		require.Equal(t, len(want)-len(got), o.waiting())
		for o.waiting() > outputChunk {
			b := o.next()
			require.Equal(t, len(b), o.taken)
			require.Equal(t, &b[0] != &shared[0], o.own, "others have it, too")
			got = append(got, b...)
			o.takeBack(b)
		}
	}
	for o.waiting() > 0 {
		b := o.next()
		got = append(got, b...)
		o.takeBack(b)
	}
	require.True(t, bytes.Equal(want, got))
}

// Large replies in a row go through buffers that are used again.
func BenchmarkLargeReplies(b *testing.B) {
	var o unsent
	data := make([]byte, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		for range 4 {
			o.startBuffer()
			o.buf = append(o.buf, data...)
		}
		for o.waiting() > 0 {
			o.takeBack(o.next())
		}
	}
}
