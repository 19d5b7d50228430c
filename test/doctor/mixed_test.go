//go:build interop

package doctor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/test/cluster"
)

// told is what the API tells of a server.
type told struct {
	ID                 int64
	State, Version     string
	DiskFree, UptimeMs *int64
}

// TestOneOfZooKeeper has one server of ZooKeeper among two of Warren, which leads or follows. What it does not tell is
// not known, and nothing is found that is not so: it is no trouble while it runs, and is missed when it is dead.
func TestOneOfZooKeeper(t *testing.T) {
	t.Parallel()
	h := newHosts(t, withSuper(3, nil)...)
	h.nodes[0].Become(cluster.ZooKeeper)
	lines := map[string]string{}
	for _, n := range h.nodes {
		key, value, _ := strings.Cut(n.Line(), "=")
		lines[key] = value
	}
	for _, n := range h.nodes {
		n.Initialize() // a new ensemble with servers of ZooKeeper has to be told that it is new
		n.Set(lines)
	}
	cluster.StartAll(h.nodes...)
	for range 2 {
		h.nodes = leaderFirst(t, h.nodes)
		java := slices.IndexFunc(h.nodes, func(n *cluster.Node) bool { return n.Kind() == cluster.ZooKeeper })
		h.until(&accident{name: "one of ZooKeeper", silent: silent{java}})
		for i := range h.nodes {
			if i == java {
				continue
			}
			id := int64(h.nodes[java].ID())
			var zk told
			cluster.Eventually(t, func() bool {
				_, text, err := h.get(i, "/api/v1/servers")
				require.NoError(t, err)
				var all struct{ Servers []told }
				require.NoError(t, json.Unmarshal([]byte(text), &all), text)
				zk = all.Servers[slices.IndexFunc(all.Servers, func(s told) bool { return s.ID == id })]
				return zk.State == "leader" || zk.State == "follower"
			}, patience, "its state is not known: %+v", &zk)
			require.Contains(t, zk.Version, "3.8")
			require.Nil(t, zk.DiskFree)
			require.Nil(t, zk.UptimeMs)
		}
		h.nodes[java].Kill()
		h.until(&accident{name: "it is dead", silent: silent{java}, status: 1,
			finds: found{"unreachable": doctor.Error, "no-spare": doctor.Error}})
		cluster.StartAll(h.nodes[java])
	}
}
