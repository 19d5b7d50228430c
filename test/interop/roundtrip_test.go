//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// TestDataDirectory hands one data directory from server to server. Each writes every kind of
// record, ends, and the next must show exactly the same tree, the same sessions and the same
// sequence counters.
func TestDataDirectory(t *testing.T) {
	for _, compression := range []string{"", "gz", "snappy"} {
		for _, end := range []string{"stop", "kill"} {
			t.Run(fmt.Sprintf("compression=%s,%s", compression, end), func(t *testing.T) {
				hand(t, compression, end == "kill")
			})
		}
	}
}

// hand runs the hops of one directory.
func hand(t *testing.T, compression string, kill bool) {
	options := settings(true)
	options["snapCount"] = "60"
	if compression != "" {
		options["snapshot.compression.method"] = compression
	}
	other := cluster.Kind(*target)
	hops := []cluster.Kind{other, cluster.ZooKeeper, other, cluster.ZooKeeper, other}
	node := cluster.Start(t, cluster.Options{Kind: hops[0], Settings: options})
	keeper := must.Do(wire.Dial(node.Addr(), wire.Options{TimeoutMs: 120_000}))(t)
	keeper.MustCreate(t, "/keeper", nil, proto.ModeEphemeral)
	for hop := range hops {
		writeEverything(t, node, hop)
		before := dumpExact(t, node)
		end(node, kill)
		require.NotEmpty(t, snapshots(t, node.DataDir(), compression), "no snapshot was taken")
		if hop == len(hops)-1 {
			break
		}
		node = node.As(hops[hop+1])
		node.Start()
		after := dumpExact(t, node)
		require.Empty(t, lineDiff(before, after), "hop %d: %v (left) to %v (right)", hop, hops[hop], hops[hop+1])
		resume := keeper.Resume()
		keeper.Close()
		keeper = must.Do(wire.Dial(node.Addr(), resume))(t, "hop %d: resume at %v", hop, hops[hop+1])
	}
	keeper.Close()
}

func end(node *cluster.Node, kill bool) {
	if kill {
		node.Kill()
	} else {
		node.Stop()
	}
}

// snapshots returns the snapshots of a data directory that have the suffix of a compression.
func snapshots(t *testing.T, dataDir, compression string) []string {
	t.Helper()
	suffix := ""
	if compression != "" {
		suffix = "." + compression
	}
	names := must.Glob(t, filepath.Join(dataDir, "version-2", "snapshot.*"+suffix))
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || info.Size() == 0
	})
}

// dumpExact renders the whole tree with every number of every Stat.
func dumpExact(t *testing.T, node *cluster.Node) string {
	t.Helper()
	conn := wire.Open(t, node.Addr(), wire.Options{})
	require.NoError(t, conn.Auth("digest", "super:test"))
	text, err := dumpTree(conn, func(s *proto.Stat) string { return fmt.Sprintf("%+v", *s) }, "/")
	require.NoError(t, err)
	require.NoError(t, conn.CloseSession())
	return text
}

// writeEverything writes every type of txn, twice the number that makes a snapshot due. All of it
// is below a znode of its own, but for the sequence under /seq, which must go on counting.
func writeEverything(t *testing.T, node *cluster.Node, hop int) {
	t.Helper()
	conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: 120_000})
	root := fmt.Sprintf("/hop%d", hop)
	if hop == 0 {
		conn.MustCreate(t, "/seq", nil, proto.ModePersistent)
	}
	conn.MustCreate(t, root, []byte{}, proto.ModePersistent)
	for i := range 60 {
		require.Equal(t, fmt.Sprintf("/seq/n-%010d", hop*60+i),
			conn.MustCreate(t, "/seq/n-", nil, proto.ModePersistentSequential))
		conn.MustSetData(t, root, fmt.Appendf(nil, "version %d", i+1), int32(i))
	}
	for i := range 30 {
		require.NoError(t, conn.Delete(fmt.Sprintf("/seq/n-%010d", hop*60+i), 0))
	}
	// Each kind of create; the create2 family has txns of its own.
	conn.MustCreate(t, root+"/null", nil, proto.ModePersistent)
	must.Do2(conn.Create2(root+"/two", []byte("2"), proto.ModePersistent))(t)
	must.Do2(conn.CreateContainer(root+"/container", nil))(t)
	conn.MustCreate(t, root+"/container/child", nil, proto.ModePersistent)
	must.Do2(conn.CreateTTL(root+"/ttl", nil, proto.ModePersistentTTL, 1<<40-1))(t)
	must.Do2(conn.CreateTTL(root+"/ttl-", nil, proto.ModePersistentSequentialTTL, 3_600_000))(t)
	conn.MustCreate(t, root+"/ephemeral", []byte("stays"), proto.ModeEphemeral)
	// ACLs, quotas and a name that is not ASCII.
	require.NoError(t, conn.Auth("digest", "bob:secret"))
	conn.MustSetACL(t, root+"/two", wire.ACL(proto.PermAll, "auth", ""), -1)
	conn.MustCreate(t, "/zookeeper/quota"+root, nil, proto.ModePersistent)
	conn.MustCreate(t, "/zookeeper/quota"+root+"/zookeeper_limits", []byte("count=100,bytes=1000"),
		proto.ModePersistent)
	conn.MustCreate(t, "/zookeeper/quota"+root+"/zookeeper_stats", []byte("count=0,bytes=0"), proto.ModePersistent)
	conn.MustCreate(t, root+"/\u00e9\u4e2d", []byte("x"), proto.ModePersistent)
	// multi, a multi that fails, and an error txn.
	slots := must.Do(conn.Multi(wire.Check(root, 60), wire.Create(root+"/m", nil, wire.OpenACL, 0),
		wire.SetData(root+"/m", []byte("m"), 0),
		wire.Create(root+"/m/s-", nil, wire.OpenACL, proto.ModePersistentSequential),
		wire.Create(root+"/gone", nil, wire.OpenACL, 0), wire.Delete(root+"/gone", 0)))(t)
	for _, s := range slots {
		require.Equal(t, proto.OK, s.Err)
	}
	must.Do(conn.Multi(wire.Create(root+"/rolled-back", nil, wire.OpenACL, 0), wire.Check(root, 0)))(t)
	require.ErrorIs(t, conn.Delete(root+"/none", -1), proto.ErrNoNode)
	// A session that ends, with ephemerals, and one that stays open without a connection.
	closing := wire.Open(t, node.Addr(), wire.Options{})
	closing.MustCreate(t, root+"/closed", nil, proto.ModeEphemeral)
	require.NoError(t, closing.CloseSession())
	require.NoError(t, conn.Sync("/"))
	conn.Close()
}

// TestMultiGoesBack: a create2 or a createContainer inside a multi is in the log of a server of
// today, and ZooKeeper 3.8, which answers create2 in a multi but has never logged it, must still
// show the znode when it takes the directory over.
func TestMultiGoesBack(t *testing.T) {
	node := cluster.Start(t, cluster.Options{Kind: cluster.Kind(*target), Settings: settings(true)})
	conn := wire.Open(t, node.Addr(), wire.Options{})
	slots := must.Do(conn.Multi(wire.Create(root, nil, wire.OpenACL, 0),
		wire.Create2(root+"/two", []byte("2"), wire.OpenACL, 0),
		wire.CreateContainer(root+"/container", nil, wire.OpenACL),
		wire.CreateTTL(root+"/ttl", nil, wire.OpenACL, proto.ModePersistentTTL, 3_600_000),
		wire.SetData(root+"/two", []byte("3"), 0)))(t)
	for i, s := range slots {
		require.Equal(t, proto.OK, s.Err, "slot %d", i)
	}
	require.NoError(t, conn.CloseSession())
	before := dumpExact(t, node)
	node.Kill()
	node = node.As(cluster.ZooKeeper)
	node.Start()
	require.Empty(t, lineDiff(before, dumpExact(t, node)))
}

// root is the top of what TestMultiGoesBack writes.
const root = "/multi"
