//go:build interop

package ensemble

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestLocalSessionsOfMixedEnsembles keeps sessions on the server that took them, of either kind, under leaders of
// either kind: they write, no other server knows them, and with their first ephemeral they are known to all and go on
// at a server of the other kind.
func TestLocalSessionsOfMixedEnsembles(t *testing.T) {
	for _, upgrades := range []bool{true, false} {
		for _, kinds := range mixes {
			t.Run(fmt.Sprint("upgrading ", upgrades, kinds), func(t *testing.T) {
				c, seed := newConfigured(t, func(_ int, o *cluster.Options) {
					o.Settings["localSessionsEnabled"], o.Settings["localSessionsUpgradingEnabled"] = "true",
						fmt.Sprint(upgrades)
				}, kinds...)
				for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
					leader := c.ledBy(kind)
					for _, home := range c.nodes {
						c.localSession(leader, home, upgrades)
					}
				}
				if upgrades {
					c.underLoad(seed, func() { c.changeLeaders(2) })
				}
				c.same()
			})
		}
	}
}

// resumed continues a session at a server, as soon as that has all that the session has seen: until then it closes
// the connection.
func (c *chaos) resumed(node *cluster.Node, from *wire.Conn) (conn *wire.Conn, err error) {
	c.t.Helper()
	o := from.Resume()
	o.Reply = 20 * time.Second
	cluster.Eventually(c.t, func() bool {
		conn, err = wire.Dial(node.Addr(), o)
		return err == nil || errors.Is(err, wire.ErrRejected)
	}, 30*time.Second, "server %d (%s) does not answer", node.ID(), node.Kind())
	return conn, err
}

// localSession is the life of a session that begins at one server.
func (c *chaos) localSession(leader, home *cluster.Node, upgrades bool) {
	t, root := c.t, fmt.Sprintf("/%d-under-%d", home.ID(), leader.ID())
	t.Helper()
	what := fmt.Sprintf("session at server %d (%s), led by %d (%s)", home.ID(), home.Kind(),
		leader.ID(), leader.Kind())
	conn := must.Do(wire.Dial(home.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: 20 * time.Second}))(t, what)
	must.Do(conn.Create(root, nil, proto.ModePersistent))(t, what)
	first := must.Do(conn.Exists(root, false))(t, what)
	must.Do(conn.SetData(root, []byte("x"), 0))(t, what)
	second := must.Do(conn.Exists(root, false))(t, what)
	require.Equal(t, first.Czxid+1, second.Mzxid, "%s: no txn but its own", what)
	for _, other := range c.nodes {
		if other != home {
			_, err := c.resumed(other, conn)
			require.ErrorIs(t, err, wire.ErrRejected, "%s, resumed at server %d (%s) before it is known there", what,
				other.ID(), other.Kind())
		}
	}

	mine := root + "/mine"
	_, err := conn.Create(mine, nil, proto.ModeEphemeral)
	if !upgrades {
		require.ErrorIs(t, err, proto.ErrEphemeralOnLocalSession, what)
		must.Do(conn.SetData(root, []byte("y"), 1))(t, "%s is none the worse", what)
		require.NoError(t, conn.CloseSession(), what)
		return
	}
	require.NoError(t, err, what)
	for _, other := range c.nodes {
		if other.Kind() == home.Kind() {
			continue
		}
		conn.Close()
		<-conn.Done()
		conn = must.Do(c.resumed(other, conn))(t, "%s, resumed at server %d (%s)", what, other.ID(), other.Kind())
		require.NoError(t, conn.Sync("/"), what)
		stat := must.Do(conn.Exists(mine, false))(t, what)
		require.Equal(t, conn.Session(), stat.EphemeralOwner, what)
	}
	require.NoError(t, conn.CloseSession(), what)
	for _, node := range c.nodes {
		conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: 20 * time.Second})
		require.NoError(t, conn.Sync("/"))
		_, err := conn.Exists(mine, false)
		require.ErrorIs(t, err, proto.ErrNoNode, "%s, as server %d (%s) has it", what, node.ID(), node.Kind())
		require.NoError(t, conn.CloseSession())
	}
}
