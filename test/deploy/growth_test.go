package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// piped returns what a command prints that reads input.
func piped(t *testing.T, input string, words ...string) string {
	t.Helper()
	cmd := process(t, []string{asCommand + "=1"}, words...)
	cmd.Stdin = strings.NewReader(input)
	return string(must.Output(t, cmd))
}

// TestManifestsGrow does what docs/INSTALL.md says: the servers of the manifests take two more in, and give one up
// again, with the super user of the secret. Names and ports are those of this machine.
func TestManifestsGrow(t *testing.T) {
	m := readManifests(t)
	const password = "super:of-a-test"
	digest := strings.TrimSpace(piped(t, password+"\n", "warren", "digest"))

	const servers = 5
	lines, client := map[int]string{}, map[int]string{}
	for id := 1; id <= servers; id++ {
		ports := cluster.FreePorts(t, 3)
		client[id] = fmt.Sprintf("127.0.0.1:%d", ports[2])
		lines[id] = fmt.Sprintf("server.%d=127.0.0.1:%d:%d;%s", id, ports[0], ports[1], client[id])
	}
	begin := func(id, named int) {
		dir := t.TempDir()
		conf := filepath.Join(dir, "conf")
		require.NoError(t, os.Mkdir(conf, 0o755))
		text := m.config.Data["zoo.cfg"]
		for n := 1; n <= m.set.Replicas; n++ {
			old := fmt.Sprintf("server.%d=%s-%d.%s:2888:3888;2181\n", n, m.setName, n, m.set.ServiceName)
			require.Contains(t, text, old)
			text = strings.ReplaceAll(text, old, "")
		}
		for n := 1; n <= named; n++ {
			text += lines[n] + "\n"
		}
		text = strings.NewReplacer("=/datalog\n", "="+dir+"/log\n", "=/data\n", "="+dir+"/data\n", "tickTime=2000",
			"tickTime=500", "quorumListenOnAllIPs=true\n", "").Replace(text)
		file := filepath.Join(conf, "zoo.cfg")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		env := []string{asCommand + "=1", "WARREN_ADMIN_ENABLE_SERVER=false"}
		for _, e := range m.set.Template.Spec.Containers[0].Env {
			switch {
			case e.Value != "":
				env = append(env, e.Name+"="+e.Value)
			case e.ValueFrom.SecretKeyRef.Name != "":
				require.Equal(t, "warren-super", e.ValueFrom.SecretKeyRef.Name)
				require.Equal(t, "digest", e.ValueFrom.SecretKeyRef.Key)
				require.True(t, e.ValueFrom.SecretKeyRef.Optional)
				env = append(env, e.Name+"="+digest)
			default:
				env = append(env, fmt.Sprintf("%s=%d", e.Name, id))
			}
		}
		start(t, env, "warren", "server", file)
	}
	serves := func(ids ...int) {
		for _, id := range ids {
			must.Do(run(t, []string{asCommand + "=1"}, "warren", "health", "--wait", "40s", client[id]))(t)
		}
	}
	members := func(ids ...int) {
		out := piped(t, "config\n", "warren", "shell", "-s", client[1])
		var have []string
		for line := range strings.SplitSeq(out, "\n") {
			if id, _, found := strings.Cut(line, "="); found && strings.HasPrefix(line, "server.") {
				have = append(have, id)
			}
		}
		var want []string
		for _, id := range ids {
			want = append(want, fmt.Sprintf("server.%d", id))
		}
		slices.Sort(have)
		require.Equal(t, want, have)
	}
	change := func(words string) {
		script := "addauth digest " + password + "\n" + words + "\n"
		require.Eventually(t, func() bool {
			cmd := process(t, []string{asCommand + "=1"}, "warren", "shell", "-s", client[1])
			cmd.Stdin = strings.NewReader(script)
			out, err := cmd.CombinedOutput()
			t.Logf("%s: %s", words, out)
			return err == nil && strings.Contains(string(out), "Committed new configuration")
		}, 40*time.Second, 200*time.Millisecond)
	}
	for id := 1; id <= m.set.Replicas; id++ {
		begin(id, m.set.Replicas)
	}
	serves(1, 2, 3)
	for id := m.set.Replicas + 1; id <= servers; id++ {
		begin(id, servers)
	}
	serves(slices.Sorted(maps.Keys(client))...)
	members(1, 2, 3)
	change("reconfig -add " + lines[4])
	change("reconfig -add " + lines[5])
	members(1, 2, 3, 4, 5)
	change("reconfig -remove 5")
	members(1, 2, 3, 4)
	serves(1, 2, 3, 4)
}
