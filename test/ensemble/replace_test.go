//go:build interop

package ensemble

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestRollingReplacement replaces three ZooKeeper servers by Warren servers on their data, one at a time and the
// leader last, and back again, while clients work: no acknowledged write is lost, no session ends, and all servers
// agree at every step. It does so with nothing between the servers, and with certificates and passwords, which the
// replaced server and its successor have in common.
func TestRollingReplacement(t *testing.T) {
	for _, between := range []struct {
		name     string
		settings map[string]string
	}{{"plain", nil}, {"TLS", overTLS}, {"SASL over TLS", bothWays}} {
		t.Run(between.name, func(t *testing.T) {
			c, seed := newConfigured(t, newGuard(t).configure(between.settings), cluster.ZooKeeper, cluster.ZooKeeper,
				cluster.ZooKeeper)
			c.underLoad(seed, func() {
				for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
					for range c.nodes {
						c.replaceNext(kind)
						c.sleep(500, 1500)
					}
					c.logf("all are %s", kind)
				}
			})
		})
	}
}

// TestMixedEnsembles lets things happen to ensembles of both kinds, of which either kind leads.
func TestMixedEnsembles(t *testing.T) {
	for _, kinds := range [][]cluster.Kind{
		{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
		{cluster.Warren, cluster.ZooKeeper, cluster.Warren},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newMixed(t, kinds...)
			c.underLoad(seed, func() {
				for range *roundsFlag {
					c.mixedFault()
					c.sleep(500, 2000)
				}
			})
		})
	}
}

var controlFlag = flag.Bool("ensemble.control", false, "run TestControl")

// TestControl judges ensembles of ZooKeeper servers as TestChaos does those of Warren. It fails now and then, which
// is why mixed ensembles are judged otherwise.
func TestControl(t *testing.T) {
	if !*controlFlag {
		t.Skip("-ensemble.control is not given")
	}
	c, seed := newMixed(t, cluster.ZooKeeper, cluster.ZooKeeper, cluster.ZooKeeper)
	c.judge(c.load(seed, func() {
		for range *roundsFlag {
			c.mixedFault()
			c.sleep(500, 2000)
		}
	}))
}

// TestObservers of one kind follow an ensemble of the other.
func TestObservers(t *testing.T) {
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		other := cluster.Warren
		if kind == cluster.Warren {
			other = cluster.ZooKeeper
		}
		t.Run(string(kind)+" observes", func(t *testing.T) {
			c, seed := newMixed(t, other, other, other, kind)
			c.underLoad(seed, func() {
				c.sleep(500, 1000)
				c.crash(c.nodes[3])
				c.sleep(500, 1000)
				c.crash(c.leader())
				c.sleep(500, 1000)
			})
		})
	}
}

// newMixed brings up servers of the given kinds; a fourth is an observer.
func newMixed(t *testing.T, kinds ...cluster.Kind) (*chaos, uint64) {
	t.Helper()
	return newConfigured(t, func(id int, o *cluster.Options) {
		if id > 3 {
			observing(o)
		}
	}, kinds...)
}

// newConfigured brings up voters of the given kinds, with options that configure may change for each.
func newConfigured(t *testing.T, configure func(id int, o *cluster.Options), kinds ...cluster.Kind) (*chaos, uint64) {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("SEED=%d (go test -tags interop ./test/ensemble -run %q -ensemble.seed=%d)\n", seed, t.Name(), seed)
	c := &chaos{t: t, rand: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
	var o []cluster.Options
	for i, kind := range kinds {
		one := cluster.Options{Kind: kind,
			Settings: map[string]string{"tickTime": "500", "initLimit": "20", "syncLimit": "8",
				// or containers go while trees are compared
				"maxSessionTimeout": "60000", "snapCount": "2000", "znode.container.maxNeverUsedIntervalMs": "0"}}
		configure(i+1, &one)
		o = append(o, one)
	}
	c.nodes = cluster.Ensemble(t, o...)
	for _, node := range c.nodes {
		if node.Kind() == cluster.Warren { // servers in Java cannot tell it that the ensemble is new
			require.NoError(t, os.MkdirAll(node.DataDir(), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(node.DataDir(), "initialize"), nil, 0o644))
		}
		node.Launch()
	}
	for _, node := range c.nodes {
		node.WaitServing()
	}
	return c, seed
}

// replaceNext replaces one server that is not of the kind yet, the leader last.
func (c *chaos) replaceNext(kind cluster.Kind) {
	c.t.Helper()
	var left []*cluster.Node
	for _, node := range c.nodes {
		if node.Kind() != kind {
			left = append(left, node)
		}
	}
	require.NotEmpty(c.t, left)
	leader := c.leader()
	slices.SortFunc(left, func(a, b *cluster.Node) int {
		switch {
		case a == leader:
			return 1
		case b == leader:
			return -1
		}
		return 0
	})
	node := left[0]
	c.logf("server %d becomes %s (leader: %v)", node.ID(), kind, node == leader)
	node.Stop()
	node.Become(kind)
	node.Launch()
	c.whole()
}

// mixedFault kills and restarts some server, or wipes a Warren server, whose loss of memory is known not to hurt.
func (c *chaos) mixedFault() {
	switch c.rand.IntN(4) {
	case 0:
		c.crash(c.leader())
	case 1:
		c.crash(c.any())
	case 2:
		node := c.any()
		c.logf("SIGTERM to %d (%s)", node.ID(), node.Kind())
		node.Stop()
		c.sleep(50, 500)
		node.Launch()
		c.whole()
	default:
		for _, node := range c.nodes {
			if node.Kind() == cluster.Warren {
				c.whole()
				c.logf("wiping %d", node.ID())
				node.Kill()
				node.Wipe()
				node.Launch()
				c.whole()
				return
			}
		}
	}
}

// more keeps writes going that history does not know: of all kinds, on a subtree of their own. Their outcome is
// compared among the servers.
func (c *chaos) more(seed uint64) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	r := rand.New(rand.NewPCG(seed, 77))
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			conn, err := wire.Dial(c.nodes[r.IntN(len(c.nodes))].Addr(),
				wire.Options{TimeoutMs: int32(abandonedTimeout.Milliseconds()), Reply: patience})
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			c.variety(conn, r, n)
			if r.IntN(2) == 0 {
				_ = conn.CloseSession() // otherwise it expires, and its ephemerals with it
			}
			conn.Close()
		}
	}()
	return func() { close(ended); <-done }
}

// variety sends one of everything. What fails, fails; the servers only have to agree on it.
func (c *chaos) variety(conn *wire.Conn, r *rand.Rand, n int) {
	root := fmt.Sprintf("/more/%d", n)
	acl := []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("auth"), Id: proto.Text("")}}}
	reqs := []wire.Request{
		wire.Auth("digest", []byte("bob:secret")),
		wire.Create("/more", nil, wire.OpenACL, 0),
		wire.Create(root, []byte("x"), wire.OpenACL, 0),
		wire.Create2(root+"/a", []byte("1"), wire.OpenACL, 0),
		wire.Create(root+"/s-", nil, wire.OpenACL, proto.ModePersistentSequential),
		wire.Create(root+"/e-", nil, wire.OpenACL, proto.ModeEphemeralSequential),
		// two: ZooKeeper can take a list of two for a digest
		wire.Create(root+"/e-", nil, wire.OpenACL, proto.ModeEphemeralSequential),
		wire.Create(root+"/locked", []byte("mine"), acl, 0),
		wire.SetACL(root+"/a", acl, -1),
		wire.SetData(root+"/a", []byte("22"), 0),
		wire.SetData(root+"/a", []byte("33"), 0), // a wrong version
		wire.Multi(wire.Check(root, -1), wire.Create2(root+"/m1", nil, wire.OpenACL, 0),
			wire.SetData(root, []byte("y"), -1), wire.Delete(root+"/m1", -1)),
		wire.Multi(wire.Create(root+"/m2", nil, wire.OpenACL, 0), wire.Delete("/nowhere", -1)),
		wire.Delete("/nowhere", -1),
		wire.CreateContainer(root+"/container", nil, wire.OpenACL),
		wire.Create("/zookeeper/quota/more", nil, wire.OpenACL, 0),
		wire.Create("/zookeeper/quota/more/zookeeper_limits", []byte("count=5,bytes=100"), wire.OpenACL, 0),
		wire.Create("/zookeeper/quota/more/zookeeper_stats", []byte("count=0,bytes=0"), wire.OpenACL, 0),
		wire.Sync("/more"),
		wire.GetData(root+"/a", false),
	}
	for range 3 {
		reqs = append(reqs, wire.SetData(root, fmt.Appendf(nil, "%d", r.IntN(1000)), -1))
	}
	for _, call := range conn.SendAll(reqs) {
		if call.Wait() != nil {
			return
		}
	}
}
