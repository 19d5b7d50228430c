package ensemble

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// Ensembles in which the voters that have a database do not form a quorum.

const noQuorumOfDatabases = "the voters that have a database do not form a quorum"

// areStuck waits until the Warren servers among some say everywhere that no leader can be elected for lack of
// databases, why, and what to do.
func (c *chaos) areStuck(nodes []*cluster.Node, blank int, why, wayOut string) {
	t := c.t
	t.Helper()
	why = "no leader can be elected: " + noQuorumOfDatabases + "; " + why
	for _, node := range nodes {
		if node.Kind() != cluster.Warren {
			continue
		}
		c.answers(node)
		cluster.Eventually(t, func() bool { return c.zabState(node).WaitsFor == why }, time.Minute,
			"server %d does not say %q", node.ID(), why)
		z := c.zabState(node)
		require.True(t, z.Stuck)
		assert.Equal(t, wayOut, z.WayOut)
		status, text := c.fetch(node, "/readyz")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, text, why+"\n  do: "+wayOut+"\n")
		_, text = c.fetch(node, "/metrics")
		assert.True(t, strings.Contains(text, fmt.Sprintf("\nwarren_zab_blank_voters %d\n", blank)), "the gauge")
		assert.Contains(t, c.tells(node, "status"), why)
		text = c.tells(node, "doctor")
		assert.Regexp(t, `(?m)^critical +databases-missing +`, text)
		assert.Contains(t, text, wayOut)
		assert.NotContains(t, text, "start the missing servers")
		cluster.Eventually(t, func() bool {
			return strings.Contains(node.Log(), "no leader can be elected: "+noQuorumOfDatabases)
		}, time.Minute, "server %d does not warn", node.ID())
	}
}

// TestTwoOfThreeDisksAreLost takes the disks of two servers of three away. The servers say that no leader can be
// elected, and that they serve no client, until the disks are back.
func TestTwoOfThreeDisksAreLost(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	c.killEach()
	var disks []string
	for _, node := range c.nodes[:2] {
		disks = append(disks, node.CopyData())
		node.Wipe()
	}
	began := len(c.nodes[0].Log())
	for _, node := range c.nodes[:2] {
		node.Launch()
	}
	c.areStuck(c.nodes[:2], 2, "servers 1 and 2 have no database, server 3 has not been heard from",
		"start server 3, with its data "+
			"if it has any; if disks are lost for good, run warren recover on a server that has data")
	c.nodes[2].Launch()
	c.areStuck(c.nodes, 2, "server 3 has a database, servers 1 and 2 have no database",
		"bring the disks of servers 1 and 2 back; if "+
			"they are lost for good, run warren recover on a server that has data")
	assert.Contains(t, c.nodes[0].Log()[began:], " listens for clients on "+c.nodes[0].Addr())
	assert.NotContains(t, c.nodes[0].Log()[began:], " serves clients on ")
	c.nodes[0].Kill()
	text, _ := exec.Command(cluster.Binary(t), "doctor", "--config", filepath.Join(c.nodes[0].Dir(), "zoo.cfg")).
		CombinedOutput()
	assert.Regexp(t, `(?m)^warning +blank +\S+version-2$`, string(text))

	c.nodes[1].Kill()
	for i, node := range c.nodes[:2] {
		node.PutData(disks[i])
		node.Launch()
	}
	c.keeps(kept)
	for _, node := range c.nodes {
		assert.Empty(t, c.zabState(node).WaitsFor)
		cluster.Eventually(t, func() bool {
			return strings.LastIndex(node.Log(), " serves clients on ") > strings.LastIndex(node.Log(),
				" listens for clients on ")
		}, time.Minute,
			"server %d does not say that it serves", node.ID())
	}
}

// recovers runs warren recover for a server that is stopped.
func (c *chaos) recovers(node *cluster.Node, args ...string) (string, error) {
	c.t.Helper()
	args = append([]string{"recover", filepath.Join(node.Dir(), "zoo.cfg")}, args...)
	for _, other := range c.nodes {
		args = append(args, "--server", fmt.Sprintf("%d=%s/%d", other.ID(), other.Addr(), c.admin[other.ID()]))
	}
	out, err := exec.Command(cluster.Binary(c.t), args...).CombinedOutput()
	c.t.Logf("%v\n%s", args[2:], out)
	return string(out), err
}

// filesOf returns the names of the files of a server.
func filesOf(t *testing.T, node *cluster.Node) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(node.DataDir(), func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// refusesTo asserts that warren recover refuses with a reason, and leaves the data of the server as it is.
func (c *chaos) refusesTo(node *cluster.Node, reason string, args ...string) {
	c.t.Helper()
	before := filesOf(c.t, node)
	out, err := c.recovers(node, args...)
	require.Error(c.t, err)
	require.Contains(c.t, out, reason)
	require.Equal(c.t, before, filesOf(c.t, node))
}

// TestRecoverFromLostDisks lets an operator recover an ensemble of three of which two disks are lost: on the survivor
// and on one other server. Acknowledged writes are there, the third server takes them from the leader, and clients
// hear that their session has expired.
func TestRecoverFromLostDisks(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	backup := filepath.Join(t.TempDir(), "survivor")
	survivor, first := c.nodes[2], c.nodes[0]
	c.refusesTo(survivor, "stop the server first", "--to", backup, "--yes")
	survivor.Stop()
	c.among(c.nodes[:2]...).whole()
	c.refusesTo(survivor, "the ensemble has a quorum, and there is nothing to recover", "--to", backup, "--yes")
	survivor.Launch()
	c.whole()
	c.killEach()
	for _, node := range c.nodes[:2] {
		node.Wipe()
		node.Launch()
		c.answers(node)
	}
	c.nodes[1].Kill()
	c.refusesTo(survivor, "server 2 at "+c.nodes[1].Addr()+" does not answer", "--to", backup, "--yes")
	c.nodes[1].Launch()
	c.answers(c.nodes[1])
	c.refusesTo(survivor, "nothing was changed: add --yes to make the change", "--to", backup)
	require.NoDirExists(t, backup)

	held := survivor.Held()
	out := must.Do(c.recovers(survivor, "--to", backup, "--yes"))(t)
	require.Contains(t, out, "server 1 at "+first.Addr()+" has no database and does not vote")
	require.Contains(t, out, "On server 1, or on others that are a quorum with this one: stop the server")
	aside := must.Glob(t, filepath.Join(survivor.DataDir(), "version-2.before-restore-*"))
	require.Len(t, aside, 1)
	began := survivor.Held()
	require.NotEqual(t, held, began)
	out = must.Do(c.recovers(survivor, "--to", backup, "--yes"))(t)
	require.Contains(t, out, "nothing is changed: the directory has the new history")
	require.Equal(t, began, survivor.Held(), "the second run")

	_, err := c.recovers(first, "--from", backup, "--yes")
	require.Error(t, err, "it runs")
	first.Stop()
	c.refusesTo(first, "it is the server with which the recovery began", "--from", backup, "--yes")
	survivor.Launch()
	c.answers(survivor)
	must.Do(c.recovers(first, "--from", backup, "--yes"))(t)
	restored := first.Held()
	must.Do(c.recovers(first, "--from", backup, "--yes"))(t)
	require.Equal(t, restored, first.Held(), "the second run")
	first.Launch()
	c.keeps(kept)
	require.Greater(t, c.epoch(), int64(1<<10))
	c.creates("since", sceneCreates)
	c.same()
	c.nodes[1].Stop()
	c.nodes[1].Wipe()
	c.among(first, survivor).whole()
	c.refusesTo(c.nodes[1], "the ensemble has a quorum", "--from", backup, "--yes")
	log := must.ReadFile(t, filepath.Join(first.DataDir(), "recovery.log"))
	require.Regexp(t, `(?m)^\S+Z \S+ takes the new history from server 3, epoch \d+ after 0x\w+, given up \[\]: done$`,
		string(log))
	c.nodes[1].Launch()

	// The old directory of the survivor comes back.
	c.whole()
	c.killEach()
	first.Wipe()
	c.refusesTo(survivor, "is of an earlier recovery", "--to", backup, "--yes", "--give-up", "1,2")
	survivor.Launch()
	c.answers(survivor)
	c.refusesTo(first, "it has gone on with the new history since the backup", "--from", backup, "--yes")
	first.Launch()
	c.nodes[1].Launch()
	c.whole()
	survivor.Stop()
	survivor.PutData(aside[0])
	c.among(c.nodes[:2]...).whole()
	survivor.Launch()
	c.staysOutside(survivor)
	require.Equal(t, held, survivor.Held())
}

// staysOutside waits until a server says that it has another history than the ensemble.
func (c *chaos) staysOutside(node *cluster.Node) {
	c.t.Helper()
	c.answers(node)
	cluster.Eventually(c.t, func() bool { return c.zabState(node).Outside }, time.Minute,
		"server %d does not stay outside", node.ID())
}

// TestRecoverWhileTheOthersServe lets an operator take servers for lost that are only cut off: they go on without the
// server whose directory was recovered, nothing is lost, and that server comes back by warren adopt.
func TestRecoverWhileTheOthersServe(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	cutOff, others := c.nodes[2], c.among(c.nodes[:2]...)
	cutOff.Stop()
	kept = append(kept, others.creates("since", sceneCreates)...)
	backup := filepath.Join(t.TempDir(), "survivor")
	file := filepath.Join(cutOff.Dir(), "zoo.cfg")
	recovers := func(args ...string) (string, error) { // at addresses at which no server answers
		args = append([]string{"recover", file, "--to", backup, "--yes"}, args...)
		for _, node := range c.nodes {
			args = append(args, "--server",
				fmt.Sprintf("%d=127.0.0.1:%d/%d", node.ID(), cluster.FreePort(t), cluster.FreePort(t)))
		}
		out, err := exec.Command(cluster.Binary(t), args...).CombinedOutput()
		t.Logf("%s", out)
		return string(out), err
	}
	out, err := recovers()
	require.Error(t, err)
	require.Contains(t, out, "if that is lost for good, --give-up 1")
	out = must.Do(recovers("--give-up", "1,2"))(t)
	require.Contains(t, out, "given up: what only servers 1, 2 had")
	c.refusesTo(c.nodes[0], "stop the server first", "--from", backup, "--yes", "--give-up", "1,2")
	c.nodes[0].Stop()
	c.refusesTo(c.nodes[0], "--give-up 1 sets aside what only this server has", "--from", backup, "--yes",
		"--give-up", "2,3")
	c.nodes[0].Launch()
	others.whole()
	cutOff.Launch()
	c.staysOutside(cutOff)
	others.keeps(kept)

	cutOff.Stop()
	must.Output(t, exec.Command(cluster.Binary(t), "adopt", file, "--yes"))
	cutOff.Launch()
	c.keeps(kept)
	c.same()
}

// TestRecoverFromAServerThatIsBehind wants to go on from a server that has missed writes, while the one that has them
// is there. That is refused; when the operator insists, the other server stays outside with what only it has.
func TestRecoverFromAServerThatIsBehind(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	behind, ahead, empty := c.nodes[2], c.nodes[1], c.nodes[0]
	behind.Stop()
	since := c.among(c.nodes[:2]...).creates("since", sceneCreates)
	c.killEach()
	empty.Wipe()
	empty.Launch()
	ahead.Launch()
	c.answers(empty)
	c.answers(ahead)
	backup := filepath.Join(t.TempDir(), "survivor")
	c.refusesTo(behind, "Begin there; --give-up 2 gives up what only that server has", "--to", backup, "--yes")
	c.refusesTo(behind, "servers 2, 3 may have their data and would be a quorum", "--to", backup, "--yes")
	ahead.Kill()
	held := ahead.Held()
	must.Do(c.recovers(behind, "--to", backup, "--yes", "--give-up", "2"))(t)
	behind.Launch()
	c.answers(behind)
	empty.Stop()
	must.Do(c.recovers(empty, "--from", backup, "--yes"))(t)
	empty.Launch()
	on := c.among(empty, behind)
	on.keeps(kept)
	require.Equal(t, since, on.lost(empty, since))
	ahead.Launch()
	c.staysOutside(ahead)
	require.Equal(t, held, ahead.Held())
}

// TestTwoRecoveriesAtOnce lets two operators begin with a server each. The two histories do not count for each other,
// and no server serves, until one of the operators gives the other server up.
func TestTwoRecoveriesAtOnce(t *testing.T) {
	t.Parallel()
	c := newScene(t, of(cluster.Warren, 3)...)
	kept := c.creates("kept", sceneCreates)
	one, two, empty := c.nodes[2], c.nodes[1], c.nodes[0]
	one.Stop()
	since := c.among(empty, two).creates("since", 1)
	c.killEach()
	empty.Wipe()
	dir := t.TempDir()
	must.Do(c.recovers(one, "--to", dir+"/one", "--yes", "--give-up", "1,2"))(t)
	must.Do(c.recovers(two, "--to", dir+"/two", "--yes", "--give-up", "1,3"))(t)
	for _, node := range c.nodes {
		node.Launch()
		c.answers(node)
	}
	strangers := func(node *cluster.Node) bool { return len(c.zabState(node).Strangers) == 1 }
	cluster.Eventually(t, func() bool { return strangers(one) && strangers(two) }, time.Minute,
		"they do not know each other")
	empty.Stop()
	c.refusesTo(empty, "it may have been recovered from another one. --give-up 3", "--from", dir+"/two", "--yes")
	for _, node := range c.nodes {
		require.False(t, node.Serves())
	}
	must.Do(c.recovers(empty, "--from", dir+"/two", "--yes", "--give-up", "3"))(t)
	empty.Launch()
	c.among(empty, two).keeps(append(kept, since...))
	c.staysOutside(one)
}

// TestRecoverKnowsReconfigurations has a zoo.cfg that names other servers than the ensemble has agreed on: the quorum
// cannot be judged by it.
func TestRecoverKnowsReconfigurations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version2 := filepath.Join(dir, "data", "version-2")
	require.NoError(t, os.MkdirAll(version2, 0o755))
	db := must.Do(meta.Open(meta.Options{Dir: version2, ServerID: 3, Member: true}))(t)
	const lines = "server.3=127.0.0.1:5:6:participant;127.0.0.1:7\nserver.4=127.0.0.1:8:9:participant;127.0.0.1:10"
	require.NoError(t, db.SetConfig(meta.Config{Version: 0x30, Text: lines}))
	require.NoError(t, db.Close())
	file := filepath.Join(dir, "zoo.cfg")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "myid"), []byte("3\n"), 0o644))
	require.NoError(t,
		os.WriteFile(file, []byte("dataDir="+dir+"/data\nreconfigEnabled=true\ninitLimit=5\nsyncLimit=5\n"+
			"server.1=127.0.0.1:1:2:participant;127.0.0.1:1\nserver.3=127.0.0.1:5:6:participant;127.0.0.1:7\n"),
			0o644))
	out, err := exec.Command(cluster.Binary(t), "recover", file, "--to", dir+"/survivor", "--give-up", "1", "--yes").
		CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "names other servers than the configuration 30 of the ensemble")
	require.Contains(t, string(out), "zoo.cfg.dynamic.30")
	require.Contains(t, string(out), "server.4=")
	require.NoDirExists(t, dir+"/survivor")
}
