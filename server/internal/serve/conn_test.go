package serve

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestRequestsWaitForRoom(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := newConn(s, nc)
	r := newReader(c)
	c.Session.Store(&sessions.Session{ID: 1})
	c.mu.out.buf = make([]byte, outputPause)
	auth := (&proto.AuthPacket{Scheme: proto.Text("ip")}).AppendTo(nil)
	for _, op := range []proto.OpCode{proto.OpCreate, proto.OpPing, proto.OpAuth, proto.OpSasl} {
		done, err := r.handle(&request{op, 1, auth})
		r.unlock()
		require.NoError(t, err)
		require.False(t, done, "%v", op)
	}
	require.Nil(t, r.work)
	// Bodies that wait behind a write are bounded too.
	c.mu.out.buf = nil
	c.mu.queue.push(queued{kind: queuedWrite}, nil)
	body := make([]byte, 1<<20)
	n := 0
	for ; n < maxQueued; n++ {
		done := must.Do(r.handle(&request{proto.OpExists, 1, body}))(t)
		if !done {
			break
		}
	}
	r.unlock()
	s.InProcess.Store(0)
	require.LessOrEqual(t, n, maxQueuedBytes>>20+1)
}

func TestNothingOfAConnectionIsAcceptedOnceItsSessionHasMoved(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := newConn(s, nc)
	r := newReader(c)
	sess := s.Tracker.Restore(1, 1000, r.received)
	c.Session.Store(sess)
	b := binary.BigEndian.AppendUint32(nil, 8+16)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(proto.OpCreate))
	r.in.w = copy(r.in.room(), append(b, make([]byte, 16)...))
	c.Abort() // what resume does to the connection that served the session so far
	r.process()
	require.Zero(t, s.InProcess.Load())
	require.Zero(t, s.host.(*countingHost).taken)
}

// A connection that has ended when its session begins, or goes on, does not serve it.
func TestSessionsOfConnectionsThatHaveEndedHaveNoClient(t *testing.T) {
	for name, begin := range map[string]func(s *Front, c *Conn) *sessions.Session{
		"new": func(s *Front, c *Conn) *sessions.Session {
			require.NoError(t, s.Tracker.Reserve(func(int64) error { return nil }))
			one := s.Tracker.Create(1000, c, 0)
			c.Abort()
			newReader(c).cleanup()
			a := &applier{srv: s}
			a.established(&flow.Item{Client: c, Session: one}, 1)
			return one
		},
		"resumed": func(s *Front, c *Conn) *sessions.Session {
			c.Abort()
			newReader(c).cleanup()
			s.Tracker.Restore(1, 1000, 0)
			one, _ := s.Tracker.Resume(1, 1000, c, 0)
			c.Resumed(one, nil, 1000, false)
			return one
		},
	} {
		s := newFront()
		_, nc := wire.Pair(t)
		one := begin(s, newConn(s, nc))
		require.NotNil(t, one, name)
		require.False(t, s.Tracker.Serves(one.ID), name)
	}
}

func TestHandlingARequestNeverMakesASessionOlder(t *testing.T) {
	s := newFront()
	_, nc := wire.Pair(t)
	c := newConn(s, nc)
	r := newReader(c)
	r.received = s.Clock.Now() // then the process is suspended, and the clock postpones
	sess := s.Tracker.Restore(1, 1000, r.received)
	c.Session.Store(sess)
	time.Sleep(time.Millisecond) // let the monotonic clock move
	postponed := s.Clock.Now()
	s.Tracker.Postpone(postponed, postponed)
	r.tally.packets = 1
	r.account()
	require.GreaterOrEqual(t, sess.Heard(), postponed)
}

// The probe of liveness waits for each lock that clients need.
func TestTakeLocksWaits(t *testing.T) {
	s := newFront()
	for name, lock := range map[string]sync.Locker{"tree": &s.Store.Mu, "watches": &s.watchers.mu,
		"connections": &s.Conns.mu} {
		lock.Lock()
		var freed atomic.Bool
		done := make(chan bool)
		go func() { s.ProbeLocks(); done <- freed.Load() }()
		time.Sleep(time.Millisecond) // a probe that does not wait has ended by then, or has not begun
		freed.Store(true)
		lock.Unlock()
		require.True(t, <-done, name)
	}
}

// A connection that asks for no session in its time is closed, and counted.
func TestConnectionsWithoutASession(t *testing.T) {
	s := newFront()
	silent, nc := wire.Pair(t)
	s.admit(nc, speaksPlain)
	require.Eventually(t, func() bool { // the time it has passes, as soon as it is counted
		_ = nc.SetReadDeadline(time.Now().Add(-time.Second))
		return s.Metrics.Sessionless.Total() == 1
	}, time.Minute, time.Millisecond)
	require.Error(t, must.Err(silent.Read(make([]byte, 1))), "closed by the server")
}

// A large write waits for room in the budget. If its connection then has to wait for its own client, or ends, the
// large writes of other clients go on.
func TestNobodyWaitsBehindALargeWriteThatIsNotTaken(t *testing.T) {
	for name, prevents := range map[string]func(c *Conn){
		"replies that the client does not take": func(c *Conn) { c.mu.out.buf = make([]byte, outputPause) },
		"reads that are left before it":         func(c *Conn) { c.mu.queue.left.Store(true) },
		"the connection parts":                  func(c *Conn) { c.mu.out.ignoring = true },
		"the connection ends":                   func(c *Conn) { c.mu.out.closing = true },
	} {
		s := newFront()
		_, nc := wire.Pair(t)
		c, other := newConn(s, nc), newConn(s, nc)
		r := newReader(c)
		c.Session.Store(s.Tracker.Restore(1, 1000, r.received))
		frame := binary.BigEndian.AppendUint32(nil, 30<<10)
		frame = binary.BigEndian.AppendUint32(frame, 1)
		frame = binary.BigEndian.AppendUint32(frame, uint32(proto.OpSetData))
		copy(r.in.room(), frame)
		r.in.w = 4 + 30<<10
		require.True(t, s.budget.Take(other, 1<<20))
		more, err := r.frames()
		r.unlock()
		require.NoError(t, err)
		require.True(t, more, "it waits for the budget")
		require.False(t, s.budget.Ready(c))
		s.budget.Release(1 << 20)
		require.True(t, r.waitForRoom())

		c.mu.Lock()
		prevents(c)
		c.mu.Unlock()
		more, err = r.frames()
		r.unlock()
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() {
			if more {
				r.waitForRoom()
			}
			close(ended)
		}()
		require.Eventually(t, func() bool { return s.budget.Take(other, 1) }, time.Minute, time.Millisecond, name)
		c.Abort()
		<-ended
	}
}

// Without an audit log no additional data is kept for a request.
func TestNoAuditLog(t *testing.T) {
	s := newFront()
	require.Nil(t, s.audit)
	require.Nil(t, audit.Subject(proto.OpGetData, []byte("x")))
	require.Zero(t, testing.AllocsPerRun(100, func() { require.False(t, s.throttled()) }))
}
