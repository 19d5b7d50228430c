package serve

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// drainingFront is a front without a server behind it.
type drainingFront struct {
	*Front
	t *testing.T
	p departures
}

func newDrainingFront(t *testing.T) *drainingFront {
	return &drainingFront{Front: newFront(), t: t}
}

// add adds a connection to those that are to end. told has what the client receives.
func (f *drainingFront) add() (c *Conn, told *bytes.Buffer) {
	far, nc := net.Pipe()
	f.t.Cleanup(func() { _ = far.Close() })
	told = new(bytes.Buffer)
	go func() { _, _ = io.Copy(told, far) }()
	c = newConn(f.Front, insideConn{nc, &net.TCPAddr{}})
	c.Session.Store(sessions.New(time.Second, 1, 0, 0).Restore(1, 30_000, 0))
	f.p.waiting = append(f.p.waiting, c)
	return c, told
}

// pass lets time pass in steps.
func (f *drainingFront) pass(d time.Duration) {
	for range d / retirePause {
		time.Sleep(retirePause)
		f.p.round(f.Clock.Now(), 10)
		synctest.Wait()
	}
}

// answered notes an answer and sends it.
func (f *drainingFront) answered(c *Conn) {
	c.mu.Lock()
	c.mu.out.buf = appendHeaderReply(c.mu.out.buf, 7, 1, proto.OK)
	c.mu.stats.Answered(proto.OpSetData, 7, 1, 0, f.Clock.Now())
	c.mu.Unlock()
	c.flush()
	synctest.Wait()
}

// owes lets a connection have taken a write.
func owes(c *Conn) { c.mu.queue.push(queued{kind: queuedWrite}, nil) }

// takes reports whether a write is taken from the client.
func takes(t *testing.T, c *Conn) bool {
	r := newReader(c)
	done, err := r.write(&request{proto.OpSetData, 1, make([]byte, 16)})
	r.unlock()
	require.NoError(t, err)
	require.True(t, done)
	taken := r.work != nil
	if taken {
		c.mu.queue.pop()
	}
	return taken
}

// A connection ends in a pause of its client after an answer, or when its client asks nothing. What the client asks
// after that has no effect.
func TestPartingConnectionsEndInPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDrainingFront(t)
		silent, _ := f.add()
		paced, _ := f.add()
		f.answered(paced)
		require.Equal(t, 1, f.p.round(f.Clock.Now(), 1), "no more than asked for")
		require.Len(t, f.p.waiting, 1)
		f.pass(leaveGrace + 100*time.Millisecond)
		require.True(t, silent.open())
		require.True(t, paced.open(), "its client may ask the next moment")
		f.answered(paced)
		require.True(t, takes(t, paced))
		f.pass(2 * retirePause)
		require.False(t, paced.open())
		require.False(t, takes(t, paced), "a write that will not be answered is not submitted")
		require.True(t, silent.open())
		f.pass(retireGrace)
		require.False(t, silent.open(), "a client must not keep its server from being drained")
		require.Empty(t, f.p.asked)
	})
}

// A client that never pauses is answered what it asks, until it loses its connection behind an answer.
func TestPartingConnectionsOfBusyClientsEndBehindAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDrainingFront(t)
		c, _ := f.add()
		for range (leaveGrace + retireGrace) / retirePause {
			f.answered(c)
			owes(c)
			f.pass(retirePause)
			require.True(t, c.open())
			c.mu.queue.pop()
		}
		owes(c)
		owes(c)
		f.pass(5 * retirePause)
		c.mu.queue.pop()
		f.answered(c)
		require.True(t, c.open(), "another request is owed")
		require.True(t, takes(t, c))
		c.mu.queue.pop()
		f.answered(c)
		require.False(t, c.open())
		require.False(t, takes(t, c))
	})
}

// A server that takes clients again keeps those that are still there, unless it has taken no request of them already.
func TestPartingIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDrainingFront(t)
		ignored, _ := f.add()
		owes(ignored)
		f.p.round(f.Clock.Now(), 1)
		f.pass(retireGrace)
		busy, _ := f.add()
		owes(busy)
		f.pass(leaveGrace + retireGrace + 5*retirePause)
		f.p.callOff()
		for _, c := range []*Conn{ignored, busy} {
			require.True(t, c.open())
			c.mu.queue.pop()
			f.answered(c)
		}
		require.False(t, ignored.open())
		require.True(t, busy.open())
	})
}

// Of a client with requests in flight at all times no more are taken, and those that were taken are answered, unless
// that takes very long.
func TestPartingConnectionsTakeNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDrainingFront(t)
		f.Store = env.NewStore(datatree.NewState(datatree.Config{}))
		busy, _ := f.add()
		stuck, _ := f.add()
		owes(busy)
		owes(stuck)
		f.pass(leaveGrace + 2*retireGrace - 5*retirePause)
		require.True(t, takes(t, busy))
		f.pass(10 * retirePause)
		require.False(t, takes(t, busy))
		r := newReader(busy)
		done, err := r.read(&request{proto.OpExists, 2, nil})
		r.unlock()
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, 1, busy.mu.queue.length(), "nor is a read")
		require.True(t, busy.open(), "it is owed an answer")
		busy.mu.queue.pop()
		f.answered(busy)
		require.False(t, busy.open())
		require.True(t, stuck.open())
		f.pass(retireGrace)
		require.False(t, stuck.open(), "a client must not keep its server from being drained")
	})
}

// A client is asked to leave when it was answered something: kazoo takes the frame for the reply to the request by
// which it authenticates, and does not connect again.
func TestClientsAreAskedToLeaveBehindTheirFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newDrainingFront(t)
		c, told := f.add()
		f.pass(100 * time.Millisecond)
		require.Zero(t, told.Len())
		f.answered(c)
		f.pass(leaveGrace)
		leave := appendHeaderReply(nil, proto.XidPing, proto.LeaveZxid, proto.OK)
		require.Equal(t, 1, bytes.Count(told.Bytes(), leave))
		require.Len(t, told.Bytes(), 2*len(leave), "behind the answer")
		require.True(t, c.open(), "the client has its time from then on")
		f.pass(2 * retireGrace)
		require.Equal(t, 1, bytes.Count(told.Bytes(), leave))
	})
}
