package ensemble

import (
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/test/cluster"
)

// faults are what may happen. Each ends with the ensemble whole again, though perhaps not yet recovered.
var faults = map[string]func(*chaos){
	"kill":      (*chaos).kill,
	"leader":    (*chaos).killLeader,
	"stop":      (*chaos).stopOne,
	"majority":  (*chaos).killMajority,
	"all":       (*chaos).killAll,
	"pause":     (*chaos).pause,
	"wipe":      (*chaos).wipe,
	"partition": (*chaos).partition,
	"oneway":    (*chaos).oneWay,
	"alone":     (*chaos).leaderAlone,
	"slow":      (*chaos).slow,
	"full":      (*chaos).full,
}

// cuts are the faults that need a fabric.
var cuts = []string{"partition", "oneway", "alone", "slow"}

func (c *chaos) fault() {
	var names []string
	for name := range faults {
		if c.fabric == nil && slices.Contains(cuts, name) || name == "full" && len(c.disks) == 0 {
			continue
		}
		if *faultsFlag == "" || slices.Contains(strings.Split(*faultsFlag, ","), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := names[c.rand.IntN(len(names))]
	c.logf("%s", name)
	faults[name](c)
}

func (c *chaos) any() *cluster.Node { return c.nodes[c.rand.IntN(len(c.nodes))] }

// leader returns the server that says that it leads, or any.
func (c *chaos) leader() *cluster.Node {
	if node := c.leaderOf(c.nodes); node != nil {
		return node
	}
	return c.any()
}

func (c *chaos) kill() { c.crash(c.any()) }

func (c *chaos) killLeader() { c.crash(c.leader()) }

// crash kills servers at the same time, and starts them again one after the other.
func (c *chaos) crash(nodes ...*cluster.Node) {
	for _, node := range nodes {
		c.logf("  SIGKILL to %d", node.ID())
		node.Kill()
	}
	for _, node := range nodes {
		c.sleep(50, 800)
		node.Launch()
	}
	c.whole()
}

func (c *chaos) killMajority() {
	order := c.rand.Perm(c.voters)[:c.voters/2+1]
	var nodes []*cluster.Node
	for _, i := range order {
		nodes = append(nodes, c.nodes[i])
	}
	c.crash(nodes...)
}

func (c *chaos) killAll() {
	nodes := slices.Clone(c.nodes)
	c.rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	c.crash(nodes...)
}

func (c *chaos) stopOne() {
	node := c.any()
	c.logf("  SIGTERM to %d", node.ID())
	node.Stop()
	c.sleep(50, 500)
	node.Launch()
	c.whole()
}

// pause stops a server for longer than its peers wait for it, or shorter.
func (c *chaos) pause() {
	node := c.any()
	c.logf("  SIGSTOP to %d", node.ID())
	node.Pause()
	c.sleep(100, 4000)
	node.Resume()
}

// wipe takes the disk of one server away, while all others are there to remember.
func (c *chaos) wipe() {
	c.whole()
	node := c.nodes[c.rand.IntN(c.voters)]
	c.logf("  wiping %d", node.ID())
	node.Kill()
	node.Wipe()
	c.sleep(50, 500)
	node.Launch()
	c.whole()
}

func (c *chaos) partition() {
	i := c.any().ID()
	c.logf("  cutting %d off", i)
	c.fabric.Isolate(i)
	c.sleep(500, 4000)
	c.fabric.heal()
}

func (c *chaos) oneWay() {
	i := c.any().ID()
	c.logf("  discarding what %d sends to others", i)
	for j := 1; j <= len(c.nodes); j++ {
		if j != i && c.rand.IntN(3) > 0 {
			c.fabric.Drop(i, j)
		}
	}
	c.sleep(500, 4000)
	c.fabric.heal()
}

func (c *chaos) leaderAlone() {
	i := c.leader().ID()
	c.logf("  cutting the leader %d off", i)
	c.fabric.Isolate(i)
	c.sleep(1000, 4000)
	c.fabric.heal()
}

func (c *chaos) slow() {
	i := c.any().ID()
	c.logf("  10 ms more for all that %d sends", i)
	if !c.fabric.slow(i, 10*time.Millisecond) {
		return
	}
	c.sleep(500, 2000)
	c.fabric.heal()
}

// whole waits until every server serves.
func (c *chaos) whole() {
	c.t.Helper()
	for _, node := range c.nodes {
		node.WaitServing()
	}
}
