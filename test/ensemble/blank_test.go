package ensemble

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// Of TestKilledWhileItSynchronises: how often the server is to be found with a database and without a vote, after how
// many kills that is given up, and how many znodes it has to fetch.
const (
	halfwayWanted = 4
	halfwayKills  = 80
	halfwayZnodes = 5_000
)

// TestKilledWhileItSynchronises takes the disk of one server of three away, under load, and kills it again and again
// while it fetches everything anew: at random, and as soon as the first snapshot is there, which is shortly before
// NEWLEADER is acknowledged. No acknowledged write is lost, it helps to elect no leader before it is up to date, and
// it ends up to date. Source: quorum-protocol 14.3 R16.
func TestKilledWhileItSynchronises(t *testing.T) {
	seed := printSeed(t)
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(seed)
	var o []cluster.Options
	for range c.voters {
		o = append(o,
			cluster.Options{Settings: map[string]string{"tickTime": "500", "initLimit": "60", "syncLimit": "20",
				"maxSessionTimeout": "60000"}})
	}
	c.launch(o)
	c.fillTree(halfwayZnodes)
	c.judge(c.load(seed, func() {
		halfway, kills := 0, 0
		for halfway < halfwayWanted {
			c.whole()
			node := c.any()
			node.Kill()
			node.Wipe()
			for range 1 + c.rand.IntN(4) {
				require.Less(t, kills, halfwayKills,
					"%d of the kills came between the first snapshot and the end of the synchronization", halfway)
				kills++
				c.killHalfway(node)
				data, blank := onDisk(t, node)
				if data && blank {
					halfway++
					c.aloneWith(node)
				} else if data {
					break // it was up to date
				}
			}
			node.Launch()
		}
		c.logf("%d kills, of these %d between the first snapshot and the end of the synchronization", kills, halfway)
		c.whole()
		for _, node := range c.nodes { // the two others are needed then
			c.crash(node)
			c.whole()
		}
	}))
	for _, node := range c.nodes {
		node.Kill()
		data, blank := onDisk(t, node)
		require.True(t, data && !blank, "server %d", node.ID())
	}
}

// killHalfway starts a server and kills it at a random time, or soon after it has written its first snapshot.
func (c *chaos) killHalfway(node *cluster.Node) {
	c.t.Helper()
	node.Launch()
	if len(snapshots(c.t, node)) > 0 || c.rand.IntN(4) == 0 {
		c.sleep(1, 500)
	} else {
		later := time.Duration(c.rand.IntN(6000)) * time.Microsecond
		for w := cluster.NewWatch(); len(snapshots(c.t, node)) == 0 && w.Elapsed() < time.Minute; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(later)
	}
	node.Kill()
}

// aloneWith starts a server that must not count beside one other: they elect no leader. Then all but the server come
// back.
func (c *chaos) aloneWith(node *cluster.Node) {
	c.t.Helper()
	away := c.nodes[node.ID()%len(c.nodes)]
	away.Kill()
	serving := func() bool { return slices.ContainsFunc(c.nodes, (*cluster.Node).Serves) }
	cluster.Eventually(c.t, func() bool { return !serving() }, time.Minute, "a server serves without any other")
	node.Launch()
	c.answers(node)
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		require.False(c.t, serving(), "somebody serves with the help of %d, which has lost its disk", node.ID())
	}
	node.Kill()
	away.Launch()
}

func snapshots(t *testing.T, node *cluster.Node) []string {
	t.Helper()
	return must.Glob(t, filepath.Join(node.DataDir(), "version-2", "snapshot.*"))
}

// onDisk says whether a server that has ended has a database, and whether it must not count.
func onDisk(t *testing.T, node *cluster.Node) (data, blank bool) {
	t.Helper()
	dir := filepath.Join(node.DataDir(), "version-2")
	if _, err := os.Stat(dir); err != nil {
		return false, false // it had not come that far
	}
	db := must.Do(meta.Open(meta.Options{Dir: dir, ServerID: proto.ServerID(node.ID()), Member: true}))(t)
	defer func() { require.NoError(t, db.Close()) }()
	return len(snapshots(t, node)) > 0, db.Blank()
}
