//go:build interop

package ensemble

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// given returns a configure that gives settings to the servers of each kind. ZooKeeper 3.8 has most of them from
// zoo.cfg, where an unknown key becomes a property with a prefix.
func given(settings map[cluster.Kind]map[string]string) func(int, *cluster.Options) {
	return func(_ int, o *cluster.Options) {
		o.Settings["snapCount"] = "400"
		maps.Copy(o.Settings, settings[o.Kind])
		if limit := settings[o.Kind]["jute.maxbuffer"]; limit != "" {
			bare(o, "jute.maxbuffer", limit)
		}
	}
}

// bare gives a setting that ZooKeeper has from a property without a prefix, and Warren from zoo.cfg too.
func bare(o *cluster.Options, key, value string) {
	o.Settings[key] = value
	o.Properties = map[string]string{key: value}
}

// alike gives the same settings to the servers of both kinds.
func alike(settings map[string]string) map[cluster.Kind]map[string]string {
	return map[cluster.Kind]map[string]string{cluster.Warren: settings, cluster.ZooKeeper: settings}
}

// TestSettingsOfWhatIsWritten lets leaders change in mixed ensembles whose servers do not write the same: what one
// writes, all read, from each other and, when a server has been replaced by one of the other kind, from its disk. It
// looks at what has been written, so that it cannot hold for want of a difference.
func TestSettingsOfWhatIsWritten(t *testing.T) {
	const closes, digests, zxids, compression = "closeSessionTxn.enabled", "digest.enabled",
		"serializeLastProcessedZxid.enabled", "snapshot.compression.method"
	for i, run := range []struct {
		name     string
		settings map[cluster.Kind]map[string]string
		// patterns: in the log that the servers have agreed on, when that kind led, and in the names of its snapshots
		written map[cluster.Kind][]string
	}{
		{"no list in closeSession", alike(map[string]string{closes: "false"}), map[cluster.Kind][]string{
			cluster.Warren: {`closeSession size=32\b.*\n`}, cluster.ZooKeeper: {`closeSession size=44\b.*\n`}}},
		{"no list in closeSession of Warren", map[cluster.Kind]map[string]string{cluster.Warren: {closes: "false"}},
			map[cluster.Kind][]string{
				cluster.Warren:    {`closeSession size=32\b.*\n`},
				cluster.ZooKeeper: {`closeSession size=(4[89]|[5-9]\d|\d{3,})\b.*digest=`}}},
		{"no list in closeSession of ZooKeeper",
			map[cluster.Kind]map[string]string{cluster.ZooKeeper: {closes: "false"}}, map[cluster.Kind][]string{
				cluster.ZooKeeper: {`closeSession size=44\b.*\n`},
				cluster.Warren:    {`closeSession size=(4[89]|[5-9]\d|\d{3,})\b.*digest=`}}},
		{"no digests of Warren, snapshots apart",
			map[cluster.Kind]map[string]string{cluster.Warren: {digests: "false", zxids: "false", compression: "gz"},
				cluster.ZooKeeper: {compression: "snappy"}}, map[cluster.Kind][]string{
				cluster.Warren:    {`setData \S+ size=\d+ data=\d+ version=\d+\n`, `snapshot\.[0-9a-f]+\.gz\n`},
				cluster.ZooKeeper: {`setData .* digest=`, `snapshot\.[0-9a-f]+\.snappy\n`}}},
		{"no digests of ZooKeeper, snapshots apart",
			map[cluster.Kind]map[string]string{cluster.ZooKeeper: {digests: "false", compression: "gz"},
				cluster.Warren: {compression: "snappy"}}, map[cluster.Kind][]string{
				cluster.ZooKeeper: {`setData \S+ size=\d+ data=\d+ version=\d+\n`, `snapshot\.[0-9a-f]+\.gz\n`},
				cluster.Warren:    {`setData .* digest=`, `snapshot\.[0-9a-f]+\.snappy\n`}}},
	} {
		kinds := mixes[i%len(mixes)]
		t.Run(fmt.Sprint(run.name, kinds), func(t *testing.T) {
			c, seed := newConfigured(t, given(run.settings), kinds...)
			c.underLoad(seed, func() {
				for _, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
					leader := c.ledBy(kind)
					c.sleep(1500, 2500)
					c.leaveTraces(leader)
					for _, node := range c.nodes {
						if node.Kind() == cluster.ZooKeeper {
							continue // it does not log a txn as it came, but leaves the digest out if it writes none
						}
						pattern := regexp.MustCompile(run.written[kind][0])
						cluster.Eventually(t, func() bool {
							text, _ := c.written(node) // it may be writing, so that its log cannot be read
							return pattern.MatchString(text)
						}, time.Minute,
							"server %d has not in its log what %s writes when it leads: %s", node.ID(), kind,
							pattern)
					}
					c.crash(leader)
				}
			})
			for _, node := range c.nodes {
				text, err := c.written(node)
				require.NoError(t, err, "%s", text)
				for _, pattern := range run.written[node.Kind()][1:] { // without printing all of the text
					require.True(t, regexp.MustCompile(pattern).MatchString(text),
						"%s: server %d (%s) writes such snapshots", pattern, node.ID(), node.Kind())
				}
				c.logf("server %d (%s) has said %d times that digests differ", node.ID(), node.Kind(),
					strings.Count(node.Log(), "Digests are not matching"))
			}
			for _, node := range c.nodes { // each reads what the other kind has written
				other := cluster.Warren
				if node.Kind() == cluster.Warren {
					other = cluster.ZooKeeper
				}
				node.Stop()
				node.Become(other)
				node.Launch()
				c.whole()
			}
			c.same()
		})
	}
}

// leaveTraces lets a leader write a setData, and a closeSession that removes an ephemeral znode.
func (c *chaos) leaveTraces(leader *cluster.Node) {
	c.t.Helper()
	path := fmt.Sprintf("/trace-of-%s", leader.Kind())
	require.NoError(c.t, c.at(leader, func(conn *wire.Conn) error {
		if _, err := conn.Create(path, nil, proto.ModeEphemeral); err != nil {
			return err
		}
		_, err := conn.SetData(path, []byte("x"), -1)
		return err
	}))
}

// written is the log of a server as text, and the names of its snapshots.
func (c *chaos) written(node *cluster.Node) (string, error) {
	c.t.Helper()
	dir := filepath.Join(node.DataDir(), "version-2")
	out, err := exec.Command(cluster.Binary(c.t), "wal", "dump", dir).Output()
	if err != nil {
		return string(out), err
	}
	text := string(out)
	names, err := filepath.Glob(filepath.Join(dir, "snapshot.*"))
	for _, name := range names {
		text += filepath.Base(name) + "\n"
	}
	return text, err
}
