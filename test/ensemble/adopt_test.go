package ensemble

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// TestAdopt lets an operator take a server that stays outside into the ensemble: what the server had is set aside,
// and it serves what the others have. While the server runs, and while no server leads, nothing happens.
func TestAdopt(t *testing.T) {
	t.Parallel()
	all, gone := scene{kinds: of(cluster.Warren, 3)}.withCopies(t)
	third, c := all.nodes[2], all.among(all.nodes[:2]...)
	adopt := func(args ...string) (string, error) {
		args = append([]string{"adopt", filepath.Join(third.Dir(), "zoo.cfg"), "--yes"}, args...)
		out, err := exec.Command(cluster.Binary(t), args...).CombinedOutput()
		t.Logf("%s", out)
		return string(out), err
	}
	servers := []string{"--servers", c.nodes[0].Addr() + "," + c.nodes[1].Addr()}
	held := third.Held()
	out, err := adopt(servers...)
	require.Error(t, err)
	require.Contains(t, out, "none of the servers leads, so nothing was changed")

	c.begin()
	kept := c.creates("new", sceneCreates)
	third.Launch()
	all.answers(third)
	outside := func() bool { return all.zabState(third).Outside }
	cluster.Eventually(t, outside, hangGuard, "server 3 does not stay outside")
	out, err = adopt(servers...)
	require.Error(t, err)
	require.Contains(t, out, "stop the server first")
	dirs := []string{"doctor", "--no-measure"}
	for _, node := range all.nodes {
		dirs = append(dirs, node.DataDir())
	}
	text, _ := exec.Command(cluster.Binary(t), dirs...).CombinedOutput()
	require.Regexp(t, `(?m)^error +other-history +`+c.nodes[0].DataDir()+", "+third.DataDir()+
		`\n +their histories differ, as seen from \S+: epoch \d+, led by`, string(text))
	require.Regexp(t, `(?m)^notice +holding +`+third.DataDir()+
		`\n +server 3; ensemble [0-9a-f]{16}, epochs .*; acceptedEpoch 6, `, string(text))
	require.NotContains(t, string(text), c.nodes[0].DataDir()+", "+c.nodes[1].DataDir())

	third.Stop()
	require.Equal(t, held, third.Held())
	dirs = []string{"doctor", "--no-measure", third.DataDir(), filepath.Dir(third.CopyData())}
	text, _ = exec.Command(cluster.Binary(t), dirs...).CombinedOutput()
	require.Contains(t, string(text), "one is a copy of the other")

	g := c.stands()
	out, err = adopt(servers...)
	require.NoError(t, err, out)
	require.Contains(t, out, " leads, at 0x")
	require.Regexp(t, `: server 3; ensemble [0-9a-f]{16}, epochs .*; last txn 0x\w+ of 20\d\d-`, out)
	third.Start()
	g.holds(sceneWatched)
	all.keeps(kept)
	all.same()
	since := gone[len(gone)-3:]
	require.Equal(t, since, all.lost(third, since))

	aside := must.Glob(t, filepath.Join(third.DataDir(), "version-2.set-aside-*"))
	require.Len(t, aside, 1)
	third.Stop()
	third.PutData(aside[0])
	require.Equal(t, held, third.Held(), "what was set aside is what was there")
}
