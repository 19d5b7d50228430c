package doctor

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// used returns a standalone server that has written several snapshots and logs, and has ended.
func used(t *testing.T) *cluster.Node {
	t.Helper()
	n := cluster.Start(t, cluster.Options{Settings: map[string]string{"snapCount": "2", "preAllocSize": "64"}})
	for round := range 3 { // after 20 txns, ten times as many as snapCount, nothing holds a snapshot up any more
		c, err := wire.Dial(n.Addr(), wire.Options{TimeoutMs: 10_000})
		require.NoError(t, err)
		for i := range 60 {
			_, err := c.Create(fmt.Sprintf("/n-%d-%d", round, i), make([]byte, 500), proto.ModePersistent)
			require.NoError(t, err)
		}
		c.Close()
		n.Stop()
		if round < 2 {
			n.Start()
		}
	}
	return n
}

func files(t *testing.T, n *cluster.Node, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(n.DataDir(), "version-2", pattern))
	require.NoError(t, err)
	return names
}

// refuses wants the server not to start, since the doctor has said so.
func refuses(t *testing.T, n *cluster.Node, message string) {
	t.Helper()
	n.Launch()
	select {
	case <-n.Exited():
	case <-time.After(patience):
		t.Fatalf("the server starts, but should say %q", message)
	}
	require.Contains(t, n.Log(), message)
}

func TestSnapshotsAreMissing(t *testing.T) {
	n := used(t)
	require.Empty(t, examine(t, n.DataDir(), "--no-measure").ills())
	snapshots := files(t, n, "snapshot.*")
	require.Greater(t, len(snapshots), 1)
	for _, name := range snapshots {
		require.NoError(t, os.Remove(name))
	}
	v := examine(t, n.DataDir(), "--no-measure")
	require.Equal(t, []string{"no-snapshot"}, v.ills())
	require.Equal(t, doctor.Critical, v.Worst)
	refuses(t, n, "no snapshot found, but there is a log")
}

func TestLogIsDamaged(t *testing.T) {
	n := used(t)
	logs := files(t, n, "log.*")
	f, err := os.OpenFile(logs[len(logs)-1], os.O_RDWR, 0)
	require.NoError(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], 200)
	require.NoError(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b[:], 200)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	v := examine(t, n.DataDir(), "--no-measure")
	require.Contains(t, v.ills(), "log-damaged")
	require.Equal(t, doctor.Critical, v.Worst)
	require.Equal(t, f.Name(), v.Findings[0].Subject)
	require.Regexp(t, `^at offset \d+, txn 0x`, v.Findings[0].What)
	refuses(t, n, "corrupt log")
}

func TestLogIsMissing(t *testing.T) {
	n := used(t)
	for _, name := range files(t, n, "snapshot.*") {
		if !strings.HasSuffix(name, "snapshot.0") {
			require.NoError(t, os.Remove(name))
		}
	}
	logs := files(t, n, "log.*")
	require.Greater(t, len(logs), 1)
	require.NoError(t, os.Remove(logs[0]))
	v := examine(t, n.DataDir(), "--no-measure")
	require.Contains(t, v.ills(), "log-gap", "%+v", v.Findings)
	require.Equal(t, doctor.Critical, v.Worst)
	refuses(t, n, "missing log")
}

// TestIdentity gives a member of an ensemble the wrong myid.
func TestIdentity(t *testing.T) {
	nodes := cluster.Ensemble(t, cluster.Options{}, cluster.Options{}, cluster.Options{})
	n := nodes[0]
	n.Launch() // it writes its files, and waits for the others
	n.Kill()
	cfg, myid := filepath.Join(n.Dir(), "zoo.cfg"), filepath.Join(n.DataDir(), "myid")
	require.Empty(t, examine(t, "--config", cfg, "--no-measure").severityAbove(doctor.Warning))
	for text, want := range map[string]string{"9\n": "My id 9 not in the peer list", "one\n": "serverid one is not a number", "": "is not a number"} {
		require.NoError(t, os.WriteFile(myid, []byte(text), 0o644))
		v := examine(t, "--config", cfg, "--no-measure")
		require.Equal(t, doctor.Error, v.Worst, "%q: %+v", text, v.Findings)
		require.Equal(t, "config", v.Findings[0].Check)
		require.Contains(t, v.Findings[0].What, want)
	}
	require.NoError(t, os.Remove(myid))
	v := examine(t, "--config", cfg, "--no-measure")
	require.Contains(t, v.Findings[0].What, "file is missing")
	v = examine(t, "--member", n.DataDir(), "--no-measure")
	require.Equal(t, doctor.Error, v.severity("myid"))
}

// severityAbove are the findings that are worse.
func (v visit) severityAbove(s doctor.Severity) (some doctor.Findings) {
	for _, f := range v.Findings {
		if f.Severity > s {
			some = append(some, f)
		}
	}
	return some
}

// TestPermissions lets another user look into the directories of a server.
func TestPermissions(t *testing.T) {
	n := used(t)
	public := t.TempDir()
	for dir := public; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	binary, data := filepath.Join(public, "warren"), filepath.Join(public, "data")
	require.NoError(t, copyFile(cluster.Binary(t), binary, 0o755))
	require.NoError(t, exec.Command("cp", "-r", n.DataDir(), data).Run())
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(data, "version-2"), 0o755) }) // so that it can be removed
	asNobody := func() visit {
		cmd := exec.Command(binary, "doctor", "--output", "json", data)
		if os.Getuid() == 0 { // root may read everything; another user is kept out by the modes below as well
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		cmd.Dir = public
		return examineAs(t, cmd)
	}
	inside := func(mode os.FileMode) {
		entries, err := os.ReadDir(filepath.Join(data, "version-2"))
		require.NoError(t, err)
		for _, e := range entries {
			require.NoError(t, os.Chmod(filepath.Join(data, "version-2", e.Name()), mode))
		}
	}
	require.NoError(t, os.Chmod(filepath.Join(data, "version-2"), 0))
	v := asNobody()
	require.Equal(t, []string{"permissions"}, v.ills(), "%+v", v.Findings)
	require.Equal(t, doctor.Critical, v.Worst)

	require.NoError(t, os.Chmod(filepath.Join(data, "version-2"), 0o755))
	inside(0)
	v = asNobody()
	require.Equal(t, []string{"permissions"}, v.ills(), "files that cannot be read are not damaged: %+v", v.Findings)
	require.Equal(t, doctor.Critical, v.Worst)

	inside(0o444)
	require.NoError(t, os.Chmod(filepath.Join(data, "version-2"), 0o555))
	require.NoError(t, os.Chmod(data, 0o555))
	t.Cleanup(func() { _ = os.Chmod(data, 0o755) })
	v = asNobody()
	require.Empty(t, v.ills(), "%+v", v.Findings)
	require.Equal(t, doctor.Notice, v.severity("fsync"), "it may read, but not measure")
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// TestDiskIsAlmostFull looks at the directory of a server that runs on a file system of its own, first with room and
// then without.
func TestDiskIsAlmostFull(t *testing.T) {
	dir := cluster.Disk(t, "400m")
	if dir == "" {
		t.Skip("disks of a given size take root and mount")
	}
	n := cluster.Start(t, cluster.Options{Dir: dir, Settings: map[string]string{"preAllocSize": "64"}})
	defer n.Kill()
	v := examine(t, dir)
	require.Equal(t, doctor.Error, v.severity("file-system"), "it is in memory")
	require.EqualValues(t, -1, v.severity("disk-full"), "%+v", v.Findings)

	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	require.NoError(t, err)
	defer ballast.Close()
	require.NoError(t, syscall.Fallocate(int(ballast.Fd()), 0, 0, 300<<20))
	v = examine(t, dir)
	require.Equal(t, doctor.Error, v.severity("disk-full"), "%+v", v.Findings)
}
