package serve

import (
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/test/wire"
)

func TestApplierStopsAtATxnThatCannotBeApplied(t *testing.T) {
	s := newFront()
	a := newApplier(s)
	a.Apply(&flow.ApplyBatch{Items: []flow.Item{{Payload: []byte("no txn")}, {Payload: []byte("no txn")}}})
	require.ErrorIs(t, <-s.Failed, env.ErrDurability)
	require.True(t, a.failed)
	a.Apply(&flow.ApplyBatch{Items: []flow.Item{{Payload: []byte("no txn")}}})
	require.Empty(t, s.Failed, "nothing more is applied")
}

// When an event is not added because too much waits, nothing is sent or added any more from that moment on, and not
// only when the applier has ended its batch: an event or a reply that came later would hide that this event was lost.
func TestNothingFollowsALostEvent(t *testing.T) {
	front := newFront()
	front.Config.SkipACL = true
	c := newConn(front, sink{new(atomic.Int64)})
	front.watchers.slots = append(front.watchers.slots, c)
	a := newApplier(front)
	tell := func(path string) { a.forgetEvent(); a.deliver(1, proto.EventNodeDataChanged, []byte(path), 0) }
	tell("/first")
	require.NotZero(t, c.mu.out.waiting())
	require.True(t, c.mu.out.open())

	c.mu.out.put(make([]byte, outputPause+1), true)
	front.undelivered.total.Store(front.undelivered.most) // of others
	tell("/lost")
	require.Len(t, a.freed, 1, "it is closed when the batch has ended")
	require.False(t, c.mu.out.open(), "no reply is added")
	require.Zero(t, c.mu.out.waiting(), "a goroutine that waits for the socket finds nothing to send")
	front.undelivered.total.Store(0)
	tell("/later")
	require.Zero(t, c.mu.out.waiting())
}

// A client that takes no events is closed when too much waits for all clients together. A client that takes all its
// events is not.
func TestEventsThatNobodyTakes(t *testing.T) {
	s := newFront()
	s.Config.SkipACL = true
	a := newApplier(s)
	path := []byte("/" + strings.Repeat("n", 500_000))
	var conns [2]*Conn
	for i := range conns {
		client, nc := wire.Pair(t)
		conns[i] = newConn(s, nc)
		s.Store.Mu.RLock()
		require.True(t, s.watchers.watch(conns[i], watch.Persistent, path))
		s.Store.Mu.RUnlock()
		if i == 0 {
			go func() { _, _ = io.Copy(io.Discard, client) }()
		}
	}
	takes, takesNone := conns[0], conns[1]
	s.undelivered.total.Add(s.undelivered.most) // of others
	for takesNone.open() {
		a.Changed(datatree.Change{Type: proto.EventNodeDataChanged, Path: path})
		a.flush()
		require.Eventually(t, func() bool { return takes.View().Unsent == 0 }, time.Minute, time.Millisecond)
	}
	require.True(t, takes.open())
	require.EqualValues(t, s.undelivered.most, s.undelivered.total.Load(), "nothing of it is counted any more")
}

// In a small container, a client that takes no events is closed before they fill it, and watches have less room.
func TestMemoryBoundsWhatClientsCost(t *testing.T) {
	const memory = 300 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
	s := newFront()
	s.Config.SkipACL = true
	a := newApplier(s)
	_, nc := wire.Pair(t)
	c := newConn(s, nc)
	path := []byte("/" + strings.Repeat("n", 500_000))
	s.Store.Mu.RLock()
	require.True(t, s.watchers.watch(c, watch.Persistent, path))
	s.Store.Mu.RUnlock()
	for waited := 0; c.open(); a.flush() {
		waited = max(waited, c.View().Unsent)
		require.Less(t, waited, memory/8+1<<20)
		a.Changed(datatree.Change{Type: proto.EventNodeDataChanged, Path: path})
	}
	watched := 0
	for i := 0; watched < memory/4; i++ {
		_, nc := wire.Pair(t)
		c := newConn(s, nc)
		s.Store.Mu.RLock()
		took := s.watchers.watch(c, watch.Persistent, fmt.Appendf(nil, "%s-%d", path, i))
		s.Store.Mu.RUnlock()
		if !took {
			return
		}
		watched += len(path)
	}
	require.Fail(t, "watches take more than a quarter of the memory")
}

// sink is a connection without a socket that counts what is written to it: a process may not have 100,000 sockets
// everywhere.
type sink struct{ writes *atomic.Int64 }

func (s sink) Write(b []byte) (int, error)      { s.writes.Add(1); return len(b), nil }
func (sink) Read([]byte) (int, error)           { return 0, io.EOF }
func (sink) Close() error                       { return nil }
func (sink) LocalAddr() net.Addr                { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (sink) RemoteAddr() net.Addr               { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (sink) SetDeadline(time.Time) error        { return nil }
func (sink) SetReadDeadline(t time.Time) error  { return nil }
func (sink) SetWriteDeadline(t time.Time) error { return nil }

// BenchmarkFanOut fires the watches of 100,000 connections on one znode. It measures the time until the last event is
// handed to its connection.
func BenchmarkFanOut(b *testing.B) {
	s := newFront()
	s.Config.SkipACL = true
	a := newApplier(s)
	var events atomic.Int64
	conns := make([]*Conn, 100_000)
	for i := range conns {
		conns[i] = newConn(s, sink{&events})
	}
	for b.Loop() {
		b.StopTimer()
		for _, c := range conns {
			s.watchers.watch(c, watch.Data, []byte("/hot"))
		}
		events.Store(0)
		b.StartTimer()
		a.Changed(datatree.Change{Type: proto.EventNodeDataChanged, Path: []byte("/hot")})
		a.flush()
		for events.Load() < int64(len(conns)) {
			time.Sleep(100 * time.Microsecond)
		}
	}
}
