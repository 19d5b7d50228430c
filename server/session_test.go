package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/test/wire"
)

func TestRejectedClientCannotKeepItsConnection(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{Session: 0x1234, TimeoutMs: 10_000})
	// The client stays, and sends nothing: the server has to end it by itself.
	eventually(t, func() bool { return s.front.conns.len() == 0 }, "the connection of a rejected client is gone")
}

func TestSessionThatExpiresBeforeItIsCreatedIsDropped(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	_, nc := tcpPair(t)
	c := newConn(s.front, nc)
	sess := s.tracker.Create(1000, c, c.received)
	sess.SetClosing() // by the clock, before the node has seen the request
	b := s.requestPool.Get()
	b.Add(flow.Request{Client: c, Session: sess, Op: proto.OpCreateSession}, make([]byte, 4))
	s.inProcess.Add(1)
	require.True(t, s.member.submit(b))
	eventually(t, func() bool { return s.inProcess.Load() == 0 }, "the request is accounted for")
	eventually(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.mu.out.dead }, "the connection is closed")
	require.Nil(t, c.session.Load())
	// The server is alive, and the end of the session removes it.
	s.closeSession(sess)
	eventually(t, func() bool { return s.tracker.Count() == 0 }, "the session is forgotten")
	require.NoError(t, dialWire(t, s, wire.Options{}).Ping())
}

func TestNothingOfAConnectionIsAcceptedOnceItsSessionHasMoved(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	_, nc := tcpPair(t)
	c := newConn(s.front, nc)
	sess := s.tracker.Create(1000, c, c.received)
	c.session.Store(sess)
	c.in.acquire()
	b := frame(nil, 1, wire.Create("/late", nil, wire.OpenACL, proto.ModePersistent))
	c.in.w = copy(c.in.buf, b)
	c.Abort() // what resume does to the connection that served the session so far
	c.process()
	require.Zero(t, s.inProcess.Load())
	require.NoError(t, dialWire(t, s, wire.Options{}).Sync("/"))
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	require.Zero(t, s.store.state.Lookup([]byte("/late")))
}

func TestHandlingARequestNeverMakesASessionOlder(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	_, nc := tcpPair(t)
	c := newConn(s.front, nc)
	c.received = s.clock.now() // then the process is suspended, and the clock postpones
	sess := s.tracker.Create(1000, c, c.received)
	c.session.Store(sess)
	time.Sleep(time.Millisecond) // let the monotonic clock move
	postponed := s.clock.now()
	s.tracker.Postpone(postponed, postponed)
	c.packets = 1
	c.account()
	require.GreaterOrEqual(t, sess.Heard(), postponed)
}

// A sync is answered behind what the session has sent on an earlier connection, also alone.
func TestSyncIsBehindEarlierConnections(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{})
	for i := range 200 {
		path := fmt.Sprintf("/n%d", i)
		c.Send(wire.Create(path, nil, wire.OpenACL, 0)) // nobody waits for the answer
		next := dialWire(t, s, c.Resume())
		_, before := next.Exists(path, false)
		require.NoError(t, next.Sync("/"))
		_, after := next.Exists(path, false)
		if before == nil {
			require.NoError(t, after)
		}
		again, err := next.Create(path+"-", nil, proto.ModePersistentSequential)
		require.NoError(t, err, again)
		_, later := next.Exists(path, false)
		require.Equal(t, after == nil, later == nil, "%s appeared behind a sync", path)
		c.Close()
		c = next
	}
}
