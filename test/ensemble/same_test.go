package ensemble

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// same requires that all servers have the same tree: by the digests that they have retained, and by reading all of it from each.
func (c *chaos) same() {
	c.t.Helper()
	c.whole()
	var want string
	digests := map[string]string{}
	for i, node := range c.nodes {
		got := c.dump(node)
		if i == 0 {
			want = got
		}
		if want != got { // the whole of it is too much to print
			c.differ(node, want, got)
		}
		text, err := wire.FourLetter(node.Addr(), "hash", 5*time.Second)
		require.NoError(c.t, err)
		lines := digestLine.FindAllStringSubmatch(text, -1)
		if node.Kind() == cluster.ZooKeeper {
			// It retains false ones of the time in which it replays txns over a fuzzy snapshot. The newest tells of all that were before.
			lines = lines[max(0, len(lines)-1):]
		}
		for _, m := range lines {
			if seen, ok := digests[m[1]]; ok {
				require.Equal(c.t, seen, m[2], "server %d has another digest at %s", node.ID(), m[1])
			}
			digests[m[1]] = m[2]
		}
		require.NotContains(c.t, node.Log(), "digest of the tree differs", "server %d", node.ID())
		require.NotContains(c.t, node.Log(), "panic:", "server %d", node.ID())
	}
	c.logf("%d servers have the same tree, and the same digests at %d zxids", len(c.nodes), len(digests))
}

// digestLine is one line of the word hash.
var digestLine = regexp.MustCompile(`(?m)^([0-9a-f]+): (-?\d+)$`)

// dump reads the whole tree of one server, after a sync, with all that a Stat says.
func (c *chaos) dump(node *cluster.Node) string {
	c.t.Helper()
	var conn *wire.Conn
	cluster.Eventually(c.t, func() (ok bool) {
		var err error
		conn, err = wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: hangGuard})
		return err == nil
	}, 30*time.Second, "server %d takes no client", node.ID())
	defer conn.Close()
	require.NoError(c.t, conn.Auth("digest", "bob:secret")) // owns some of the znodes
	require.NoError(c.t, conn.Sync("/"))
	lines := map[string]string{}
	for left := []string{"/"}; len(left) > 0; {
		// As many at a time as a busy server answers in time.
		some := left[:min(len(left), 256)]
		left = left[len(some):]
		var reqs []wire.Request
		for _, path := range some {
			reqs = append(reqs, wire.GetData(path, false), wire.GetChildren(path, false))
		}
		calls := conn.SendAll(reqs)
		for i, path := range some {
			require.NoError(c.t, calls[2*i].Wait(), path)
			require.NoError(c.t, calls[2*i+1].Wait(), path)
			require.Equal(c.t, proto.OK, calls[2*i].Reply.Header.Err, path)
			data := calls[2*i].Reply.Value.(*proto.GetDataResponse)
			if path != "/zookeeper/config" { // each server writes that by its own clock
				lines[path] = fmt.Sprintf("%s %q %+v", path, data.Data, data.Stat)
			}
			for _, child := range calls[2*i+1].Reply.Value.(*proto.GetChildrenResponse).Children {
				left = append(left, strings.TrimSuffix(path, "/")+"/"+child.String())
			}
		}
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[path] + "\n")
	}
	return b.String()
}

// differ fails with the first znodes that two servers do not agree on.
func (c *chaos) differ(node *cluster.Node, want, got string) {
	c.t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var first []string
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && len(first) < 6 {
			first = append(first, a[i], b[i])
		}
	}
	c.t.Fatalf("the tree of server %d (%s, %d znodes) differs from that of server %d (%s, %d znodes); the first lines:\n%s",
		node.ID(), node.Kind(), len(b)-1, c.nodes[0].ID(), c.nodes[0].Kind(), len(a)-1, strings.Join(first, "\n"))
}
