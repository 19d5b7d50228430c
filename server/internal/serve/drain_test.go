package serve

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// A connection that owes answers is ended after it has given them, or when its time is over. What its client asks
// after that has no effect.
func TestPartingConnectionsAnswerFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front := New(env.New(config.Default(), env.Options{}), nil)
		add := func() *Conn {
			far, nc := net.Pipe()
			t.Cleanup(func() { _ = far.Close() })
			go func() { _, _ = io.Copy(io.Discard, far) }()
			c := NewConn(front, insideConn{nc, &net.TCPAddr{}})
			c.Session.Store(sessions.New(time.Second, 1, 0, 0).Restore(1, 30_000, 0))
			return c
		}
		idle, busy, slow := add(), add(), add()
		for _, c := range []*Conn{busy, slow} {
			c.Mu.Queue.Push(flow.Queued{Kind: flow.QueuedWrite}, nil)
		}
		now := int64(1)
		p := parting{left: []*Conn{busy, idle, slow}}
		require.Equal(t, 1, p.round(now, 1), "no more than asked for")
		require.Equal(t, 2, p.round(now, 10))
		require.Empty(t, p.left)
		require.Len(t, p.asked, 3)
		require.True(t, idle.open(), "its client may leave by itself")
		require.Zero(t, p.round(now+int64(leaveGrace), 10))
		require.False(t, idle.open())
		done, err := idle.write(1, proto.OpSetData, make([]byte, 16))
		idle.Unlock()
		require.NoError(t, err)
		require.True(t, done)
		require.Nil(t, idle.Work, "a write that will not be answered is not submitted")
		require.Len(t, p.asked, 2)
		require.True(t, busy.open())
		busy.Mu.Queue.Pop()
		p.round(now+int64(leaveGrace+time.Second/2), 10)
		require.False(t, busy.open())
		require.True(t, slow.open())
		p.round(now+int64(leaveGrace+retireGrace), 10)
		require.False(t, slow.open(), "a client must not keep its server from being drained")
		require.Empty(t, p.asked)
	})
}
