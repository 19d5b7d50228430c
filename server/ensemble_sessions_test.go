package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// resume continues a session at a server, as soon as the server has applied everything that the client has seen.
func resume(t *testing.T, e *embed.Ensemble, id int, o wire.Options) (c *wire.Conn) {
	t.Helper()
	until(t, "the session to go on", func() bool {
		var err error
		c, err = wire.Dial(e.Addr(id), o)
		require.NotErrorIs(t, err, wire.ErrRejected)
		return err == nil
	})
	t.Cleanup(c.Close)
	return c
}

// A client continues at another server while its old connection is open. The old connection gets an error and is
// closed.
func TestSessionMovesWhileItsConnectionLives(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	for _, from := range e.IDs() {
		for _, to := range e.IDs() {
			old := connect(t, e, from, wire.Options{})
			must.Do(old.Create("/mine", nil, proto.ModeEphemeral))(t)
			c := resume(t, e, to, old.Resume())
			require.Equal(t, old.Session(), c.Session())
			if from == to {
				<-old.Done()
			} else {
				require.Error(t, must.Err(old.SetData("/mine", []byte("late"), -1)), "from %d to %d", from, to)
				<-old.Done()
			}
			// A request of the old connection arrives here too, as an error txn, with an xid that this connection
			// will use again.
			require.NoError(t, c.Sync("/"))
			data, st := c.MustGetData(t, "/mine", false)
			require.Empty(t, data, "what the old connection sends has no effect")
			require.Equal(t, c.Session(), st.EphemeralOwner)
			require.NoError(t, c.CloseSession())
			again := connect(t, e, from, wire.Options{})
			require.NoError(t, again.Sync("/"))
			require.ErrorIs(t, must.Err(again.Exists("/mine", false)), proto.ErrNoNode)
		}
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// A client that moves to a server that lags behind goes on when that server has what the client has asked for
// elsewhere. It gets only the answers to its own requests there, whatever it has sent elsewhere with the same xids.
func TestSessionMovesToAServerThatLags(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3})
	leader, lags, _ := roles(t, e)
	held, hold := make(chan struct{}, 1), make(chan struct{})
	e.Disk(lags).Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			select {
			case held <- struct{}{}:
			default:
			}
			<-hold
		}
		return nil
	})
	old := connect(t, e, leader, wire.Options{})
	old.MustCreate(t, "/elsewhere", nil, proto.ModePersistent)
	<-held
	moved := old.Resume()
	moved.LastZxid = 0 // as if the replies had been lost
	released := make(chan struct{})
	go func() {
		until(t, "the move to be with the leader", func() bool {
			return e.Server(leader).Status().Zxid.Counter() >= old.LastZxid().Counter()+1
		})
		close(released)
		close(hold)
	}()
	c := resume(t, e, lags, moved)
	select {
	case <-released:
	default:
		require.Fail(t, "the client goes on at a server without what it has asked for")
	}
	require.NoError(t, must.Err(c.Exists("/elsewhere", false)), "no sync is needed")
	require.Equal(t, "/here", c.MustCreate(t, "/here", nil, proto.ModePersistent))
	require.NoError(t, e.WaitEqual(within(t)))
}

// The leader decides that a client has been silent, at whichever server, and the ephemerals are deleted on all
// servers.
func TestSilentSessionExpiresEverywhere(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, Observers: 1, TickTime: 50 * time.Millisecond,
		Configure: func(_ int, c *config.Config) { c.SyncLimit = 100 }}) // the clients are silent, the servers are not
	others := map[int]*wire.Conn{}
	for _, id := range e.IDs() {
		others[id] = connect(t, e, id, wire.Options{})
	}
	for _, id := range e.IDs() {
		gone := make(chan string, 1000)
		watcher := connect(t, e, id%len(e.IDs())+1, wire.Options{Observe: func(p wire.Packet) {
			if p.Event != nil && p.Event.Type == proto.EventNodeDeleted {
				gone <- p.Event.Path
			}
		}})
		require.NoError(t, watcher.AddWatch("/", proto.AddWatchPersistentRecursive))
		var c *wire.Conn
		var mine string
		for begun := false; !begun; { // on a busy machine the session may expire before it has its znode
			c = connect(t, e, id, wire.Options{TimeoutMs: 100})
			mine = fmt.Sprintf("/of-%d", c.Session())
			_, err := c.Create(mine, nil, proto.ModeEphemeral)
			begun = err == nil
		}
		for path := ""; path != mine; {
			path = <-gone
		}
		<-c.Done()
		for _, other := range others {
			require.NoError(t, other.Sync("/"))
			require.ErrorIs(t, must.Err(other.Exists(mine, false)), proto.ErrNoNode)
		}
		require.NoError(t, wire.Rejects(e.Addr(id), c.Resume()), "the session has expired")
	}
}

// A session lives as long as any server hears of its client.
func TestSessionIsKeptAliveByFollowers(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	for tries := 1; !keptAlive(t, e); tries++ { // this machine was too busy to ping in time
		require.Less(t, tries, 50)
	}
}

// keptAlive pings a session at every server for two timeouts, and then finds its ephemerals. It returns false if it
// pinged too seldom.
func keptAlive(t *testing.T, e *embed.Ensemble) (inTime bool) {
	var clients []*wire.Conn
	begun := time.Now()
	for _, id := range e.IDs() {
		clients = append(clients, connect(t, e, id, wire.Options{TimeoutMs: 1000}))
	}
	var errs []error
	for _, c := range clients {
		_, err := c.Create(fmt.Sprintf("/of-%d", c.Session()), nil, proto.ModeEphemeral)
		errs = append(errs, err)
	}
	longest := time.Since(begun)
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for range 8 { // two timeouts
		begun = time.Now()
		<-ticker.C
		for _, c := range clients {
			errs = append(errs, c.Ping())
		}
		longest = max(longest, time.Since(begun))
	}
	begun = time.Now()
	for _, c := range clients {
		_, err := c.Exists(fmt.Sprintf("/of-%d", c.Session()), false)
		errs = append(errs, err)
	}
	if max(longest, time.Since(begun)) > 600*time.Millisecond {
		return false
	}
	require.NoError(t, errors.Join(errs...))
	return true
}

func TestUnknownSessionIsRejectedEverywhere(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	id := proto.SessionID(0x5123456789abcdef)
	password := proto.SessionPassword(id)
	live := connect(t, e, 1, wire.Options{})
	for _, server := range e.IDs() {
		require.NoError(t, wire.Rejects(e.Addr(server), wire.Options{Session: id, Password: password[:]}),
			"no such session")
		require.NoError(t, wire.Rejects(e.Addr(server), wire.Options{Session: live.Session()}), "a wrong password")
		o := live.Resume()
		o.LastZxid = 1 << 40
		_, err := wire.Dial(e.Addr(server), o)
		require.Error(t, err, "the client has seen what this server has not")
		require.NotErrorIs(t, err, wire.ErrRejected, "the session may live elsewhere")
		require.NoError(t, live.Ping(), "nobody was harmed")
	}
}
