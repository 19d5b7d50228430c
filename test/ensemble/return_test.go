package ensemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// returnRounds is how often TestOrdinaryReturn lets a member come back.
const returnRounds = 10

// TestOrdinaryReturn lets a member come back that was away while the others were restarted and wrote: it joins
// without an election, and how long that takes is logged.
func TestOrdinaryReturn(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("first", 3)
	f := &figures{}
	var took []time.Duration
	for i := range returnRounds {
		node := c.nodes[i%len(c.nodes)]
		node.Stop()
		rest := c.among(c.but(node)...)
		kept = append(kept, rest.eras(fmt.Sprintf("away-%d", i), 2)...)
		g := rest.stands()
		from := time.Now()
		node.Launch()
		for !node.Serves() {
			require.Less(t, time.Since(from), time.Minute)
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(from))
		g.holds(300 * time.Millisecond)
	}
	f.spread("", took)
	c.logf("a member that comes back serves after %s: %v", f.rows[0].value, took)
	c.keeps(kept)
	c.same()
}

// TestReturnWithALaterPromise lets a member come back that has promised an epoch which no leader has reached. It
// serves, and neither does a leader change nor a client lose its connection: the leader begins a new epoch.
func TestReturnWithALaterPromise(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("first", 3)
	node := c.nodes[c.certainLeader().ID()%3]
	rest := c.among(c.but(node)...)
	node.Stop()
	promised := rest.epoch() + 3
	file := filepath.Join(node.DataDir(), "version-2", "acceptedEpoch")
	require.NoError(t, os.WriteFile(file, []byte(strconv.FormatInt(promised, 10)), 0o644))

	before := map[*cluster.Node]float64{}
	conns := map[*cluster.Node]*wire.Conn{}
	for _, other := range rest.nodes {
		before[other], conns[other] = c.looks(other), c.client(other)
		defer conns[other].Close()
	}
	node.Start()
	kept = append(kept, c.creates("after", 6)...)
	require.Greater(t, rest.epoch(), promised)
	for other, conn := range conns {
		require.NoError(t, conn.Sync("/"), "the connection to server %d", other.ID())
		require.Equal(t, before[other], c.looks(other), "elections of server %d", other.ID())
	}
	c.keeps(kept)
	c.same()
}
