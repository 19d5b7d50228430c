package datatree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
)

type quotaFixture struct{ *txns }

func newQuotaFixture(t *testing.T) quotaFixture {
	x := quotaFixture{newTxns(t, NewState(Config{}))}
	x.create("/n", []byte("12"))
	x.create("/n/m", []byte("345"))
	return x
}

// quota creates the znodes of a quota; the written stats are wrong.
func (x quotaFixture) quota(path string) {
	for at := 1; at < len(path); at++ {
		if path[at] == '/' && x.s.Lookup([]byte(quota.Root+path[:at])) == 0 {
			x.create(quota.Root+path[:at], nil)
		}
	}
	x.create(quota.Root+path, nil)
	x.create(quota.Root+path+"/zookeeper_limits", []byte("count=100,bytes=-1"))
	x.create(quota.Root+path+"/zookeeper_stats", []byte("count=77,bytes=77"))
}

func (x quotaFixture) set(path, data string) {
	require.Equal(x.tb, proto.OK,
		x.apply(proto.OpSetData, &proto.SetDataTxn{Path: proto.Text(path), Data: []byte(data)}))
}

func (x quotaFixture) drop(path string) {
	require.Equal(x.tb, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)}))
}

func (x quotaFixture) stats(path string) string {
	return x.data(quota.Root + path + "/zookeeper_stats")
}

// Source: server-semantics 8.2 and 8.3.
func TestQuotaAccounting(t *testing.T) {
	x := newQuotaFixture(t)
	x.quota("/n")
	require.Equal(t, "count=2,bytes=5", x.stats("/n"), "recomputed, whatever was written; the znode itself counts")
	node := x.node(quota.Root + "/n/zookeeper_stats")
	x.create("/n/a", []byte("6789"))
	require.Equal(t, "count=3,bytes=9", x.stats("/n"))
	x.create("/n/m/b", nil)
	x.ephemeral("/n/e")
	require.Equal(t, "count=5,bytes=9", x.stats("/n"))
	x.set("/n/a", "6")
	require.Equal(t, "count=5,bytes=6", x.stats("/n"))
	x.set("/n", "")
	require.Equal(t, "count=5,bytes=4", x.stats("/n"))
	x.drop("/n/a")
	require.Equal(t, proto.OK, x.apply(proto.OpCloseSession, nil))
	require.Equal(t, "count=3,bytes=3", x.stats("/n"))
	x.create("/nn", []byte("other"))
	require.Equal(t, "count=3,bytes=3", x.stats("/n"))
	require.Equal(t, proto.OK, x.apply(proto.OpMulti, multiTxn(
		sub(proto.OpCreate, &proto.CreateTxn{Path: proto.Text("/n/x"), Data: []byte("1"), ParentCVersion: -1}),
		sub(proto.OpSetData, &proto.SetDataTxn{Path: proto.Text("/n/x"), Data: []byte("1234")}))))
	require.Equal(t, "count=4,bytes=7", x.stats("/n"))
	require.Equal(t, node, x.node(quota.Root+"/n/zookeeper_stats"), "no Stat field moves")

	// The deepest quota counts alone.
	x.quota("/n/m")
	require.Equal(t, "count=2,bytes=3", x.stats("/n/m"))
	x.create("/n/m/c", []byte("z"))
	require.Equal(t, "count=3,bytes=4", x.stats("/n/m"))
	require.Equal(t, "count=4,bytes=7", x.stats("/n"))
	x.s.check()

	// A snapshot's stats are recomputed, and then include what is under the deeper quota.
	again := reload(t, x.s, 1000)
	require.Equal(t, "count=5,bytes=8", string(again.Data(again.Lookup([]byte(quota.Root+"/n/zookeeper_stats")))))
	require.Equal(t, "count=3,bytes=4", string(again.Data(again.Lookup([]byte(quota.Root+"/n/m/zookeeper_stats")))))
	again.check()

	// Without limits the stats freeze; the shallower quota takes over.
	x.drop(quota.Root + "/n/m/zookeeper_limits")
	x.create("/n/m/d", nil)
	require.Equal(t, "count=3,bytes=4", x.stats("/n/m"))
	require.Equal(t, "count=5,bytes=7", x.stats("/n"))
	// Limits without stats: nothing is counted.
	x.create(quota.Root+"/n/m/zookeeper_limits", nil)
	x.drop(quota.Root + "/n/m/zookeeper_stats")
	x.create("/n/m/f", nil)
	require.Equal(t, "count=5,bytes=7", x.stats("/n"))
	x.s.check()
}

// Znodes that were made while the quota had no limits node are not counted, so their deletion makes the use negative.
// The sums stay plain then, and a number that is absent is -1. Each line was seen at ZooKeeper 3.8.0.
// Source: server-semantics 8.3.
func TestQuotaUseBelowZero(t *testing.T) {
	x := newQuotaFixture(t)
	x.quota("/n/m")
	x.drop(quota.Root + "/n/m/zookeeper_limits")
	x.create("/n/m/a", []byte("1234567"))
	x.create(quota.Root+"/n/m/zookeeper_limits", []byte("count=9"))
	x.drop("/n/m/a")
	require.Equal(t, "count=0,bytes=-4", x.stats("/n/m"))
	x.create("/n/m/b", nil)
	require.Equal(t, "count=1,bytes=-4", x.stats("/n/m"), "a use below zero is not taken for zero")

	for _, c := range []struct{ before, after string }{
		{"count=1,bytes=-3", "count=2,bytes=1"},
		{"count=-5,bytes=-7", "count=-4,bytes=-3"},
		{"count=3", "count=4,bytes=3"},
		{"bytes=3", "count=0,bytes=7"},
		{"count=-1,bytes=-1", "count=0,bytes=3"},
		{"", "count=0,bytes=3"},
		{"count=+4,bytes=+2", "count=5,bytes=6"},
		{"count=1,count=4,bytes=3", "count=5,bytes=7"},
	} {
		x.set(quota.Root+"/n/m/zookeeper_stats", c.before)
		x.create("/n/m/c", []byte("1234"))
		require.Equal(t, c.after, x.stats("/n/m"), c.before)
		x.drop("/n/m/c")
	}
	x.s.check()
}

// Text that kills a Java server is ignored. Source: server-semantics 8.6, 16.5 scenario 75.
func TestQuotaPoison(t *testing.T) {
	x := newQuotaFixture(t)
	x.create(quota.Root+"/zookeeper_limits", []byte("count=1"))
	x.create(quota.Root+"/zookeeper_stats", nil)
	x.create("/x", []byte("1"))
	x.quota("/n")
	for _, junk := range []string{
		"", "=", "count", "count=,bytes=", "count=x,bytes=y", "count=99999999999999999999", ";;;,,,",
	} {
		x.set(quota.Root+"/n/zookeeper_stats", junk)
		x.set(quota.Root+"/n/zookeeper_limits", junk)
		x.create("/n/j", []byte("12"))
		require.Equal(t, "count=0,bytes=1", x.stats("/n"), junk)
		x.drop("/n/j")
		require.Equal(t, "count=-1,bytes=-1", x.stats("/n"), junk)
	}
	require.Equal(t, proto.OK,
		x.apply(proto.OpSetData, &proto.SetDataTxn{Path: proto.Text(quota.Root + "/n/zookeeper_stats")}))
	x.create("/n/j", nil)
	require.Equal(t, "count=0,bytes=-1", x.stats("/n"))
	x.quota("/absent/deep")
	require.Equal(t, "count=0,bytes=0", x.stats("/absent/deep"))
	again := reload(t, x.s, 100)
	again.check()
	require.Equal(t, x.s.Digest(), again.Digest())

	// A quota on the subtree of quotas counts its own znodes, and does not hang.
	x.quota("/zookeeper")
	x.create("/zookeeper/quota/y", []byte("123"))
	x.s.check()
	// Without /zookeeper/quota there is nothing to account.
	require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/zookeeper")}))
	x.create("/n/k", nil)
	x.create("/zookeeper", nil)
	x.create("/zookeeper/quota", nil)
	x.quota("/n")
	require.Equal(t, "count=4,bytes=5", x.stats("/n"))
	x.s.check()
}
