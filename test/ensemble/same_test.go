package ensemble

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

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
		require.Equal(c.t, want, got, "the tree of server %d differs from that of server %d", node.ID(), c.nodes[0].ID())
		text, err := wire.FourLetter(node.Addr(), "hash", 5*time.Second)
		require.NoError(c.t, err)
		for _, m := range digestLine.FindAllStringSubmatch(text, -1) {
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
var digestLine = regexp.MustCompile(`(?m)zxid[^0-9a-z]*(\w+).*digest[^0-9a-z-]*(-?\w+)`)

// dump reads the whole tree of one server, after a sync, with all that a Stat says.
func (c *chaos) dump(node *cluster.Node) string {
	c.t.Helper()
	var conn *wire.Conn
	require.Eventually(c.t, func() (ok bool) {
		var err error
		conn, err = wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout})
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	defer conn.Close()
	require.NoError(c.t, conn.Sync("/"))
	var b strings.Builder
	var walk func(path string)
	walk = func(path string) {
		data, st, err := conn.GetData(path, false)
		require.NoError(c.t, err, path)
		if path == "/zookeeper/config" {
			return // each server writes it by its own clock
		}
		fmt.Fprintf(&b, "%s %q %+v\n", path, data, st)
		children, err := conn.Children(path, false)
		require.NoError(c.t, err, path)
		for _, child := range children {
			walk(strings.TrimSuffix(path, "/") + "/" + child)
		}
	}
	walk("/")
	return b.String()
}
