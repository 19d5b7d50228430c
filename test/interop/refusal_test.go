package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// dial opens a session that ends with the test.
func dial(t *testing.T, node *cluster.Node, o wire.Options) *wire.Conn {
	t.Helper()
	return wire.Open(t, node.Addr(), o)
}

// TestHazards sends what kills or confuses ZooKeeper, which is why no comparison may hold it.
// Warren refuses it, goes on, and starts again. Source: server-semantics 15, client-protocol 18.
func TestHazards(t *testing.T) {
	node := cluster.Start(t,
		cluster.Options{Settings: map[string]string{"extendedTypesEnabled": "true", "enforceQuota": "true"}})

	t.Run("operations that are not for clients", func(t *testing.T) {
		for _, op := range []proto.OpCode{
			0, -1, proto.OpCheck, proto.OpDeleteContainer, proto.OpCreateSession, 10, 99,
		} {
			conn := dial(t, node, wire.Options{})
			reply := must.Do(conn.Do(wire.Request{Op: op, Body: wire.Check("/", -1).Body}))(t, "%v", op)
			require.Equal(t, proto.ErrUnimplemented, reply.Header.Err, "%v", op)
			require.Equal(t, proto.Zxid(-1), reply.Header.Zxid, "%v", op)
			require.NoError(t, conn.WaitClosed(), "%v", op)
		}
	})
	t.Run("bad arguments", func(t *testing.T) {
		conn := dial(t, node, wire.Options{})
		_, _, err := conn.CreateTTL("/ttl", nil, proto.ModePersistent, -1)
		require.ErrorIs(t, err, proto.ErrBadArguments)
		null := wire.Request{Op: proto.OpCreate, Body: (&proto.CreateRequest{Acl: wire.OpenACL}).AppendTo(nil)}
		reply := conn.MustDo(t, null)
		require.Equal(t, proto.ErrBadArguments, reply.Header.Err)
		slots := must.Do(conn.Multi(null, wire.Create("/never", nil, wire.OpenACL, 0)))(t)
		require.Equal(t, proto.ErrBadArguments, slots[0].Err)
		require.Equal(t, proto.ErrRuntimeInconsistency, slots[1].Err)
	})
	t.Run("a wrong password does not touch the session", func(t *testing.T) {
		conn := dial(t, node, wire.Options{})
		o := conn.Resume()
		o.Password = []byte("wrong password!!")
		_, err := wire.Dial(node.Addr(), o)
		require.ErrorIs(t, err, wire.ErrRejected)
		require.NoError(t, conn.Ping())
	})
	t.Run("quota nodes with junk", func(t *testing.T) {
		conn := dial(t, node, wire.Options{})
		conn.MustCreate(t, "/q", nil, proto.ModePersistent)
		conn.MustCreate(t, "/zookeeper/quota/q", nil, proto.ModePersistent)
		for path, data := range map[string]string{
			"/zookeeper/quota/zookeeper_limits":   "count=1,bytes=1",
			"/zookeeper/quota/q/zookeeper_limits": "junk=;==,,x",
			"/zookeeper/quota/q/zookeeper_stats":  "count=0,bytes=0",
		} {
			// Refused or ignored: what counts is that the server goes on.
			_, err := conn.Create(path, []byte(data), proto.ModePersistent)
			if err != nil {
				require.ErrorIs(t, err, proto.ErrBadArguments)
			}
		}
		if _, err := conn.SetData("/zookeeper/quota/q/zookeeper_stats", []byte("junk"), -1); err != nil {
			require.ErrorIs(t, err, proto.ErrBadArguments)
		}
		conn.MustCreate(t, "/q/a", []byte("x"), proto.ModePersistent)
	})
	node.Kill()
	node.Start()
	conn := dial(t, node, wire.Options{})
	conn.MustExists(t, "/q/a", false)
	_, err := conn.Exists("/never", false)
	require.ErrorIs(t, err, proto.ErrNoNode)
}
