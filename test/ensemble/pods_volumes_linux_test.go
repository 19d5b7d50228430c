package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
)

// volume is the data directory of a pod, as its host sees it.
func (p *pods) volume(id int) string { return filepath.Join(p.roots[id], "bitnami/zookeeper/data") }

// lose kills a pod, if it runs, and replaces its volume by an empty one.
func (p *pods) lose(id int) {
	p.t.Helper()
	if cmd := p.cmds[id]; cmd != nil {
		require.NoError(p.t, cmd.Process.Kill())
		_ = cmd.Wait()
		p.cmds[id] = nil
	}
	require.NoError(p.t, os.RemoveAll(p.volume(id)))
	require.NoError(p.t, os.Mkdir(p.volume(id), 0o755))
	require.NoError(p.t, os.Chown(p.volume(id), 1001, 0))
}

// restore runs the init container of a release of n with restore.from, and returns what it says. A folder in the pod
// has the place of the bucket. An error of the container ends what it says.
func (p *pods) restore(id, n int, backup string) string {
	p.t.Helper()
	inside, tmp := filepath.Join(p.roots[id], "backup"), filepath.Join(p.roots[id], "tmp")
	require.NoError(p.t, os.MkdirAll(tmp, 0o755))
	require.NoError(p.t, os.Chown(tmp, 1001, 0))
	if _, err := os.Stat(inside); err != nil {
		require.NoError(p.t, os.CopyFS(inside, os.DirFS(backup)))
		require.NoError(p.t, os.Chown(inside, 1001, 0))
	}
	cmd := exec.Command("ip", "netns", "exec", p.fabric.Namespace(id), "chroot", "--userspec=1001:0", p.roots[id],
		"/warren", "restore", "/backup", "/bitnami/zookeeper/data", "--if-empty",
		fmt.Sprintf("--once=pod-%d.installation", id), "--unless-served="+p.clients(n))
	cmd.Env = append(p.env(id, n), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// TestReleaseLosesVolumes restores a backup of a release into a new one. Then each pod of it loses its volume, one
// after the other, also that of the leader: its init container leaves the volume empty, because the other servers have
// newer data. A client writes all the time: each write succeeds, and each acknowledged one is there at the end. At the
// end a majority loses its volumes, and the old moment does not come back.
func TestReleaseLosesVolumes(t *testing.T) {
	t.Parallel()
	p := newPods(t, 3)
	for id := 1; id <= 3; id++ {
		p.start(id, 3)
	}
	p.ready(1, 2, 3)
	must.Do(p.connect(p.clients(3)).Create(t.Context(), "/kept", []byte("data"), warren.Persistent))(t)
	require.NoError(t, p.connect(p.client(1)).Sync(t.Context(), "/"))
	backup := t.TempDir()
	must.Output(t, exec.Command(p.binary, "backup", "create", backup, p.volume(1), "--committed", p.client(1)))

	for id := 1; id <= 3; id++ {
		p.lose(id)
	}
	for id := 1; id <= 3; id++ {
		require.Contains(t, p.restore(id, 3, backup), "restored")
	}
	for id := 1; id <= 3; id++ {
		p.start(id, 3)
	}
	p.ready(1, 2, 3)

	check := p.writes(3)
	for id := 1; id <= 3; id++ {
		p.lose(id)
		said := p.restore(id, 3, backup)
		require.NoDirExists(t, filepath.Join(p.volume(id), "version-2"), said)
		p.start(id, 3)
		p.ready(id)
		require.Contains(t, p.restore(id, 3, backup), "data", "a container that starts again changes nothing")
	}
	check(3)
	for id := 1; id <= 3; id++ {
		data, _ := must.Do2(p.connect(p.client(id)).Get(t.Context(), "/kept"))(t)
		require.Equal(t, "data", string(data), "server %d", id)
	}

	// Two volumes are lost at once. The third server runs, without a quorum: nothing is restored beside it.
	must.Do(p.connect(p.clients(3)).Set(t.Context(), "/kept", []byte("newer"), -1))(t)
	for id := 1; id <= 3; id++ {
		require.NoError(t, p.connect(p.client(id)).Sync(t.Context(), "/"))
	}
	p.lose(1)
	p.lose(2)
	var both sync.WaitGroup // the init containers of two pods wait at the same time
	said := make([]string, 3)
	for id := 1; id <= 2; id++ {
		both.Go(func() { said[id] = p.restore(id, 3, backup) })
	}
	both.Wait()
	for id := 1; id <= 2; id++ {
		require.Contains(t, said[id], "may have newer data")
		require.NoDirExists(t, filepath.Join(p.volume(id), "version-2"))
	}
	// All are down: the containers fail, so that no empty ensemble begins.
	p.stop(3)
	for id := 1; id <= 2; id++ {
		said := p.restore(id, 3, backup)
		require.Contains(t, said, "No other server runs")
		require.Contains(t, said, "exit status 1")
		require.NoDirExists(t, filepath.Join(p.volume(id), "version-2"))
	}
	require.FileExists(t, filepath.Join(p.roots[3], "backup", "restored.pod-3.installation"))
}
