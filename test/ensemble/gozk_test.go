package ensemble

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// silent drops what go-zookeeper logs.
type silent struct{}

func (silent) Printf(string, ...any) {}

// TestGoZookeeperFailsOver kills and stops leaders, and a follower, of an ensemble that go-zookeeper uses: it goes to
// another server by itself and loses neither its session nor its ephemeral nor its watch.
func TestGoZookeeperFailsOver(t *testing.T) {
	c := plain(t, cluster.Warren, 3)
	addrs := cluster.Addrs(c.nodes)
	conn, _ := must.Do2(zk.Connect(addrs, 20*time.Second, zk.WithLogger(silent{})))(t)
	defer conn.Close()
	world := zk.WorldACL(zk.PermAll)
	for _, path := range []string{"/app", "/signal"} {
		must.Do(conn.Create(path, nil, 0, world))(t)
	}
	must.Do(conn.Create("/app/me", nil, zk.FlagEphemeral, world))(t)
	session := conn.SessionID()
	for round := range 4 {
		_, _, signalled, err := conn.GetW("/signal")
		require.NoError(t, err)
		node := c.certainLeader()
		if round == 3 {
			node = c.nodes[node.ID()%len(c.nodes)]
		}
		if round%2 == 0 {
			node.Kill()
		} else {
			node.Stop()
		}
		began := time.Now()
		data := fmt.Appendf(nil, "%d", round)
		persistently(t, func() error { _, err := conn.Set("/app", data, -1); return err })
		c.logf("server %d ended; go-zookeeper writes again after %v", node.ID(),
			time.Since(began).Round(time.Millisecond))
		var got []byte
		var stat *zk.Stat
		persistently(t, func() (err error) { got, _, err = conn.Get("/app"); return })
		require.Equal(t, data, got)
		persistently(t, func() (err error) { _, stat, err = conn.Exists("/app/me"); return })
		require.Equal(t, session, stat.EphemeralOwner)
		require.Equal(t, session, conn.SessionID())

		other := wire.Open(t, c.certainLeader().Addr(), wire.Options{})
		other.MustSetData(t, "/signal", nil, -1)
		require.NoError(t, other.CloseSession())
		other.Close()
		select {
		case e := <-signalled:
			require.NoError(t, e.Err)
			require.Equal(t, zk.EventNodeDataChanged, e.Type)
		case <-time.After(20 * time.Second):
			t.Fatal("the watch was lost")
		}
		node.Launch()
		c.whole()
	}
}

// persistently repeats a call of go-zookeeper until a server answers it.
func persistently(t *testing.T, call func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := call()
		if err == nil {
			return
		}
		require.True(t, errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer), "%v", err)
		require.True(t, time.Now().Before(deadline), "%v", err)
		time.Sleep(10 * time.Millisecond)
	}
}
