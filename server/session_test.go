package server

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestRejectedClientCannotKeepItsConnection(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	nc := dialRaw(t, s)
	hello(t, nc, wire.Options{Session: 0x1234, TimeoutMs: 10_000})
	// The client stays connected, and sends nothing: the server has to end the connection by itself.
	eventually(t, func() bool { return s.front.Conns.Len() == 0 }, "the connection of a rejected client is gone")
}

func TestSessionThatExpiresBeforeItIsCreatedIsDropped(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	client := dialRaw(t, s)
	var c *serve.Conn
	eventually(t, func() bool {
		s.front.Conns.Each(func(one *serve.Conn) { c = one })
		return c != nil
	}, "it is accepted")
	sess := s.Tracker.Create(1000, c, s.Clock.Now())
	sess.SetClosing() // by the clock, before the host has seen the request
	b := s.RequestPool.Get()
	b.Add(flow.Request{Client: c, Session: sess, Op: proto.OpCreateSession}, make([]byte, 4))
	s.InProcess.Add(1)
	require.True(t, s.member.Submit(b))
	eventually(t, func() bool { return s.InProcess.Load() == 0 }, "the request is accounted for")
	_ = client.SetReadDeadline(time.Now().Add(hangGuard))
	require.ErrorIs(t, must.Err(client.Read(make([]byte, 1))), io.EOF, "the connection is closed")
	require.Nil(t, c.Session.Load())
	// The server is alive, and the end of the session removes it.
	s.closeSession(sess)
	eventually(t, func() bool { return s.Tracker.Count() == 0 }, "the session is forgotten")
	require.NoError(t, dialWire(t, s, wire.Options{}).Ping())
}

// A sync is answered after the requests that the session has sent on an earlier connection, also on a standalone
// server.
func TestSyncIsBehindEarlierConnections(t *testing.T) {
	s, c := serveOne(t, memConfig())
	for i := range 200 {
		path := fmt.Sprintf("/n%d", i)
		c.Send(wire.Create(path, nil, wire.OpenACL, 0)) // the test does not wait for the answer
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

// ahead is a machine whose wall clock is wrong.
type ahead struct {
	sched.Runtime
	by time.Duration
}

// Now implements sched.Runtime.
func (a ahead) Now() time.Time { return a.Runtime.Now().Add(a.by) }

// A server whose clock was set back gives no session an id that it has given out before. A server that has lost
// meta.db gives no id below those of the sessions in the tree.
func TestIDsRiseWhenTheClockIsSetBack(t *testing.T) {
	fs, store := vfs.NewMem(), meta.NewMem(1)
	last := proto.SessionID(0)
	life := func(store *meta.Mem, by time.Duration, then func(t *testing.T, s *Server)) {
		s := started(t, memConfig(), Options{FS: fs, Meta: store, Runtime: ahead{sched.OS(), by}})
		defer s.Stop()
		then(t, s)
		c := dialWire(t, s, wire.Options{})
		require.Greater(t, c.Session(), last)
		require.Equal(t, proto.SessionID(1), c.Session()>>56)
		last = c.Session()
	}
	none := func(*testing.T, *Server) {}
	life(store, 2*time.Hour, none)
	life(store.Again(), time.Hour, none)
	life(meta.NewMem(1), 0, none) // the session of the life before is in the tree

	// While meta.db takes no base, no session is created. It is tried again.
	store = meta.NewMem(1)
	store.FailNext(vfs.ErrNoSpace, false)
	life(store, 0, func(t *testing.T, s *Server) {
		eventually(t, func() bool {
			c, err := wire.Dial(s.Addr().String(), wire.Options{TimeoutMs: 10_000})
			if err == nil {
				c.Close()
			}
			return err == nil
		}, "a session is created when there is room again")
	})
	require.Positive(t, store.SessionBase())
}
