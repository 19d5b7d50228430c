package ensemble

import (
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/measured"
	"github.com/seed94657493/warren/test/wire"
)

var znodesFlag = flag.Int("ensemble.znodes", 1_000_000,
	"znodes of 100 bytes that a server without a disk fetches in TestFailover")

// warmUp lets servers work until their code is compiled. It does not matter to ours.
func warmUp(t *testing.T, kind cluster.Kind, nodes []*cluster.Node) {
	t.Helper()
	if kind == cluster.ZooKeeper {
		load := startLoad(t, nodes)
		time.Sleep(15 * time.Second)
		load.end()
	}
}

// measureSync takes the disk of a follower away and waits until it serves again.
func measureSync(t *testing.T, kind cluster.Kind, f *figures) {
	c := plain(t, kind, 3)
	c.fillTree(*znodesFlag)
	leader := c.certainLeader()
	node := c.nodes[leader.ID()%len(c.nodes)]
	var took []time.Duration
	for range 3 {
		node.Kill()
		node.Wipe()
		from := time.Now()
		node.Launch()
		node.WaitServing()
		took = append(took, time.Since(from))
		c.logf("%s: server %d without a disk has %d znodes after %v", kind, node.ID(), *znodesFlag, took[len(took)-1])
	}
	f.spread(fmt.Sprintf("server that lost its disk, %s znodes of 100 bytes, from its start until it serves",
		measured.Grouped(float64(*znodesFlag))), took)
}

// fillBatch is how many creates of fillTree are in a multi.
const fillBatch = 200

// fillTree creates n znodes of 100 bytes, a thousand below each parent.
func (c *chaos) fillTree(n int) {
	c.t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	const conns = 4
	errs := make([]error, conns)
	for i := range conns {
		wg.Go(func() {
			for parent := i; parent < (n+999)/1000 && errs[i] == nil; parent += conns {
				errs[i] = c.fillParent(c.nodes[i%len(c.nodes)], fmt.Sprintf("/fill%05d", parent))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(c.t, err)
	}
	c.logf("%d znodes created in %v", n, time.Since(began).Round(time.Millisecond))
}

// fillParent creates a znode and a thousand below it, again if the connection is lost: on a machine that does much
// else servers lose each other. Those that exist are of an attempt whose replies were lost.
func (c *chaos) fillParent(node *cluster.Node, root string) error {
	reqs := []wire.Request{wire.Create(root, nil, wire.OpenACL, 0)}
	data := make([]byte, 100)
	for from := 0; from < 1000; from += fillBatch {
		var ops []wire.Request
		for k := from; k < from+fillBatch; k++ {
			ops = append(ops, wire.Create(fmt.Sprintf("%s/a-znode-of-a-usual-length-%04d", root, k), data,
				wire.OpenACL, proto.ModePersistent))
		}
		reqs = append(reqs, wire.Multi(ops...))
	}
	fill := func() error {
		conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
		if err != nil {
			return err
		}
		defer conn.Close()
		for _, call := range conn.SendAll(reqs) {
			if err := call.Wait(); err != nil {
				return err
			}
			if err := call.Reply.Err(); err != nil && !errors.Is(err, proto.ErrNodeExists) {
				return err
			}
		}
		return conn.CloseSession() // or it expires
	}
	err := fill()
	for watch := cluster.NewWatch(); err != nil && watch.Elapsed() < time.Minute; err = fill() {
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// measureThroughput compares what two servers take when the third is well, gone, and slow.
func measureThroughput(t *testing.T, kind cluster.Kind, f *figures) {
	c := networked(t, kind, 3)
	warmUp(t, kind, c.nodes)
	leader := c.certainLeader()
	third := c.nodes[leader.ID()%len(c.nodes)]
	var two []*cluster.Node
	for _, node := range c.nodes {
		if node != third {
			two = append(two, node)
		}
	}
	measure := func(name string) {
		rate, p50, p99 := c.rate(two)
		c.logf("%s: %s: %.0f a second, p50 %s, p99 %s", kind, name, rate, shortly(p50), shortly(p99))
		f.add(fmt.Sprintf("setData of %d bytes through two servers, %d x %d, %s", loadBytes, loadConns,
			loadOutstanding, name),
			"%s/s, p50 %s, p99 %s", measured.Grouped(rate), shortly(p50), shortly(p99))
	}
	measure("third server healthy")
	third.Kill()
	measure("third server down")
	third.Launch()
	c.whole()
	require.True(t, c.fabric.slow(third.ID(), 10*time.Millisecond), "late packets")
	measure("all that the third server sends is 10 ms late")
}

// Of rate: how long the load runs before it counts, and how long it counts.
const (
	rateLead = 2 * time.Second
	rateTime = 8 * time.Second
)

// rate is how many writes some servers take a second, and how long rounds of loadOutstanding writes take.
func (c *chaos) rate(nodes []*cluster.Node) (perSecond float64, p50, p99 time.Duration) {
	c.t.Helper()
	l := startLoad(c.t, nodes)
	time.Sleep(rateLead)
	began, before := time.Now(), l.acked.Load()
	time.Sleep(rateTime)
	perSecond = float64(l.acked.Load()-before) / time.Since(began).Seconds()
	l.end()
	require.NoError(c.t, l.err)
	return perSecond, l.took[len(l.took)/2], l.took[len(l.took)*99/100]
}
