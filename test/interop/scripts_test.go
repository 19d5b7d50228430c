//go:build interop

package interop

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// The scripts of the runbooks move an ensemble of ZooKeeper to Warren, machine by machine with the leader last, and
// back. The service manager is the test.
func TestScriptsMoveAnEnsemble(t *testing.T) {
	nodes := cluster.StartEnsemble(t, slices.Repeat([]cluster.Options{{Kind: cluster.ZooKeeper}}, 3)...)
	addrs := cluster.Addrs(nodes)
	c := must.Do(client.Dial(t.Context(), strings.Join(addrs, ",")))(t)
	defer c.Close()
	must.Do(c.Create(t.Context(), "/kept", []byte("by all"), client.Persistent))(t)
	for _, way := range []struct {
		page string
		to   cluster.Kind
	}{{"move-from-zookeeper.md", cluster.Warren}, {"move-to-zookeeper.md", cluster.ZooKeeper}} {
		script := scriptOf(t, way.page)
		last := leaderOf(t, nodes)
		for _, node := range append(slices.DeleteFunc(slices.Clone(nodes), func(n *cluster.Node) bool {
			return n == last
		}), last) {
			runScript(t, script, node, addrs)
			require.Equal(t, way.to, node.Kind())
			require.True(t, node.Running())
		}
	}
	data, _ := must.Do2(c.Get(t.Context(), "/kept"))(t)
	require.Equal(t, "by all", string(data))
}

// scriptOf returns the script of a runbook.
func scriptOf(t *testing.T, page string) string {
	t.Helper()
	text := must.ReadFile(t, filepath.Join("../../docs/runbooks", page))
	found := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n.*?)```").FindSubmatch(text)
	require.NotNil(t, found, "%s has no script", page)
	return string(found[1])
}

// runScript runs a script on the machine of a node.
func runScript(t *testing.T, script string, node *cluster.Node, addrs []string) {
	t.Helper()
	type request struct {
		words string
		done  chan struct{}
	}
	requests := make(chan request)
	manager := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		words, _ := io.ReadAll(r.Body)
		asked := request{string(words), make(chan struct{})}
		requests <- asked
		<-asked.done
	}))
	defer manager.Close()

	bin := t.TempDir()
	require.NoError(t, os.Symlink(cluster.Binary(t), filepath.Join(bin, "warren")))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "systemctl"),
		[]byte("#!/bin/sh\nexec curl -fsS --data \"$*\" "+manager.URL+"\n"), 0o755))
	script = strings.NewReplacer("zk1:2181,zk2:2181,zk3:2181", strings.Join(addrs, ","), "127.0.0.1:2181", node.Addr(),
		"/etc/zookeeper/conf/zoo.cfg", filepath.Join(node.Dir(), "zoo.cfg")).Replace(script)
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			require.NoError(t, err, "%s", output.String())
			t.Logf("server %d:\n%s", node.ID(), output.String())
			return
		case r := <-requests:
			switch r.words {
			case "disable --now zookeeper", "disable --now warren":
				node.Stop()
			case "enable --now warren":
				node.Become(cluster.Warren)
				node.Launch()
			case "enable --now zookeeper":
				node.Become(cluster.ZooKeeper)
				node.Launch()
			default:
				t.Errorf("systemctl %s", r.words)
			}
			close(r.done)
		}
	}
}
