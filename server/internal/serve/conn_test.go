package serve

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/test/wire"
)

func TestRequestsWaitForRoom(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := NewConn(s, nc)
	c.Session.Store(&sessions.Session{ID: 1})
	c.mu.out.buf = make([]byte, OutputPause)
	auth := (&proto.AuthPacket{Scheme: proto.Text("ip")}).AppendTo(nil)
	for _, op := range []proto.OpCode{proto.OpCreate, proto.OpPing, proto.OpAuth, proto.OpSasl} {
		done, err := c.Request(1, op, auth)
		c.Unlock()
		require.NoError(t, err)
		require.False(t, done, "%v", op)
	}
	require.Nil(t, c.Work)
	// Bodies that wait behind a write are bounded too.
	c.mu.out.buf = nil
	c.mu.queue.Push(flow.Queued{Kind: flow.QueuedWrite}, nil)
	body := make([]byte, 1<<20)
	n := 0
	for ; n < flow.MaxQueued; n++ {
		done, err := c.Request(1, proto.OpExists, body)
		require.NoError(t, err)
		if !done {
			break
		}
	}
	c.Unlock()
	s.InProcess.Store(0)
	require.LessOrEqual(t, n, flow.MaxQueuedBytes>>20+1)
}

func TestNothingOfAConnectionIsAcceptedOnceItsSessionHasMoved(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := NewConn(s, nc)
	sess := s.Tracker.Restore(1, 1000, c.Received)
	c.Session.Store(sess)
	c.In.Acquire()
	b := binary.BigEndian.AppendUint32(nil, 8+16)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(proto.OpCreate))
	c.In.W = copy(c.In.Buf, append(b, make([]byte, 16)...))
	c.Abort() // what resume does to the connection that served the session so far
	c.Process()
	require.Zero(t, s.InProcess.Load())
	require.Zero(t, s.host.(*countingHost).taken)
}

func TestHandlingARequestNeverMakesASessionOlder(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := NewConn(s, nc)
	c.Received = s.Clock.Now() // then the process is suspended, and the clock postpones
	sess := s.Tracker.Restore(1, 1000, c.Received)
	c.Session.Store(sess)
	time.Sleep(time.Millisecond) // let the monotonic clock move
	postponed := s.Clock.Now()
	s.Tracker.Postpone(postponed, postponed)
	c.Packets = 1
	c.Account()
	require.GreaterOrEqual(t, sess.Heard(), postponed)
}
