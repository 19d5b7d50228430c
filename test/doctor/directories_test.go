package doctor

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// used returns a standalone server that has written several snapshots and logs, and has ended.
func used(t *testing.T) *cluster.Node {
	t.Helper()
	n := cluster.Start(t, cluster.Options{Settings: map[string]string{"snapCount": "2", "preAllocSize": "64"}})
	for round := range 3 { // after 20 txns, ten times as many as snapCount, nothing holds a snapshot up any more
		c := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 10_000})
		for i := range 60 {
			c.MustCreate(t, fmt.Sprintf("/n-%d-%d", round, i), make([]byte, 500), proto.ModePersistent)
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
	return must.Glob(t, filepath.Join(n.DataDir(), "version-2", pattern))
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
	require.Equal(t, doctor.Critical, v.names(t, "no snapshot found, but there is a log").Severity)
	refuses(t, n, "no snapshot found, but there is a log")
}

// A file that is no snapshot, and one whose name is later than its content, do not stop the start, which puts them
// aside. The doctor says so before, and no more: neither that txns are missing, nor that the server does not start.
func TestWhatIsPutAsideDoesNotStopTheStart(t *testing.T) {
	n := used(t)
	snapshots := files(t, n, "snapshot.*")
	old := must.ReadFile(t, snapshots[len(snapshots)-1])
	dir := filepath.Dir(snapshots[0])
	for name, data := range map[string][]byte{"snapshot.ffff": []byte("junk"), "snapshot.eeee": old} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		v := examine(t, n.DataDir(), "--no-measure")
		require.Equal(t, []string{"snapshot-damaged"}, v.ills(), "%s: %+v", name, v.Findings)
		require.Less(t, v.Worst, doctor.Critical)
		require.Contains(t, v.Findings[0].Remedy, "puts it aside")
		n.Start()
		n.Stop()
		require.FileExists(t, filepath.Join(dir, snapshot.Aside+name))
		require.Empty(t, examine(t, n.DataDir(), "--no-measure").ills())
	}
}

func TestLogIsDamaged(t *testing.T) {
	n := used(t)
	logs := files(t, n, "log.*")
	f := must.Do(os.OpenFile(logs[len(logs)-1], os.O_RDWR, 0))(t)
	var b [1]byte
	must.Do(f.ReadAt(b[:], 200))(t)
	b[0] ^= 4
	must.Do(f.WriteAt(b[:], 200))(t)
	require.NoError(t, f.Close())
	v := examine(t, n.DataDir(), "--no-measure")
	require.Contains(t, v.ills(), "log-damaged")
	require.Equal(t, doctor.Critical, v.Worst)
	require.Equal(t, f.Name(), v.Findings[0].Subject)
	require.Regexp(t, `^at offset \d+, txn 0x`, v.Findings[0].What)
	v.names(t, "corrupt log")
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
	v.names(t, "missing log")
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
	for text, want := range map[string]string{
		"9\n": "id 9 is not in the peer list", "one\n": `"one" is not a number`, "": "is empty",
	} {
		require.NoError(t, os.WriteFile(myid, []byte(text), 0o644))
		v := examine(t, "--config", cfg, "--no-measure")
		require.Equal(t, doctor.Error, v.Worst, "%q: %+v", text, v.Findings)
		require.Equal(t, "config", v.Findings[0].Check)
		require.Contains(t, v.Findings[0].What, want)
		v.names(t, "not in the peer list")
	}
	require.NoError(t, os.Remove(myid))
	v := examine(t, "--config", cfg, "--no-measure")
	require.Contains(t, v.names(t, "file is missing").What, "file is missing")
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
		entries := must.ReadDir(t, filepath.Join(data, "version-2"))
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

// TestDiskIsFull fills the file system of a server that does not refuse writes before.
func TestDiskIsFull(t *testing.T) {
	dir := cluster.Disk(t, "40m")
	if dir == "" {
		t.Skip("disks of a given size take root and mount")
	}
	n := cluster.Start(t, cluster.Options{Dir: dir, Settings: map[string]string{"preAllocSize": "64",
		"warren.diskWatermarkBytes": "0", "warren.diskWatermarkPercent": "0"}})
	defer n.Kill()
	c := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 60_000})
	ballast := must.Do(os.Create(filepath.Join(dir, "ballast")))(t)
	defer ballast.Close()
	for size := int64(32 << 20); size >= 4096; size /= 2 {
		for at, err := ballast.Seek(0, io.SeekEnd); err == nil; at, err = ballast.Seek(0, io.SeekEnd) {
			if syscall.Fallocate(int(ballast.Fd()), 0, at, size) != nil {
				break
			}
		}
	}
	cluster.Eventually(t, func() bool {
		c.Send(wire.Create("/n", make([]byte, 100_000), wire.OpenACL, proto.ModePersistentSequential))
		return strings.Contains(n.Log(), "disk is full: writes wait until there is room")
	}, patience, "the server does not say that its disk is full")
	v := examine(t, dir)
	v.names(t, "disk is full: writes wait until there is room")
	// The server says of itself what the journal of a member says.
	v.names(t, "disk is full: this server takes no part until there is room")
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

	ballast := must.Do(os.Create(filepath.Join(dir, "ballast")))(t)
	defer ballast.Close()
	require.NoError(t, syscall.Fallocate(int(ballast.Fd()), 0, 0, 300<<20))
	v = examine(t, dir)
	require.Equal(t, doctor.Error, v.severity("disk-full"), "%+v", v.Findings)
	v.names(t, "disk is almost full: refusing writes")
}

// edited is a snapshot.Sink that changes one znode on its way to another.
type edited struct {
	snapshot.Sink
	path string
	edit func(data []byte, st *proto.StatPersisted) []byte
	done bool
}

// Node implements snapshot.Sink.
func (e *edited) Node(path, data []byte, acl int64, st *proto.StatPersisted) error {
	if string(path) == e.path {
		e.done = true
		data = e.edit(data, st)
	}
	return e.Sink.Node(path, data, acl, st)
}

// walked is a snapshot.Source of a whole tree, which says at its end that it may hold that many later txns.
type walked struct {
	*datatree.Walker
	later proto.Zxid
}

func (w walked) Next(b []byte) ([]byte, bool) { return w.Walker.Next(b, 1<<20) }

func (w walked) End() (proto.Zxid, int64) {
	last, digest := w.Walker.End()
	return last + w.later, digest
}

// rewrite changes a znode in the newest snapshot of a server that has ended, as memory that flips bits would. The new
// snapshot says that it may hold that many later txns.
func rewrite(
	t *testing.T, n *cluster.Node, path string, later proto.Zxid, edit func([]byte, *proto.StatPersisted) []byte,
) {
	t.Helper()
	dir := filepath.Join(n.DataDir(), "version-2")
	all := must.Do(snapshot.List(vfs.OS(), dir))(t)
	require.NotEmpty(t, all)
	loader := datatree.NewLoader(datatree.Config{})
	e := &edited{Sink: loader, path: path, edit: edit}
	must.Do(snapshot.Load(vfs.OS(), filepath.Join(dir, all[0].Name), e))(t)
	require.True(t, e.done, "%s has no %s", all[0].Name, path)
	state := must.Do(loader.Done(all[0].Zxid))(t)
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: vfs.OS(), Dir: dir}))(t)
	must.Do(store.Write(all[0].Zxid, walked{state.NewWalker(), later}))(t)
	for _, older := range all[1:] { // with which a server would find out that this one is wrong
		require.NoError(t, os.Remove(filepath.Join(dir, older.Name)))
	}
}

// TestTreesThatAreWrong lets the newest snapshot have other data than the log says, and a log end before it.
func TestTreesThatAreWrong(t *testing.T) {
	t.Parallel()
	n := used(t)
	all := must.Do(snapshot.List(vfs.OS(), filepath.Join(n.DataDir(), "version-2")))(t)
	require.NoError(t, os.Remove(filepath.Join(n.DataDir(), "version-2", all[0].Name))) // so that txns follow
	rewrite(t, n, "/n-0-0", 0, func([]byte, *proto.StatPersisted) []byte { return []byte("flipped") })
	v := examine(t, n.DataDir(), "--no-measure")
	require.Equal(t, doctor.Critical,
		v.names(t, "digest of the tree differs from the log's or the snapshot's").Severity)
	n.Start()
	require.Contains(t, n.Log(), "digest of the tree differs from the log's or the snapshot's")
	n.Stop()

	n = used(t)
	rewrite(t, n, "/n-0-0", 1, func(data []byte, _ *proto.StatPersisted) []byte { return data })
	for _, name := range files(t, n, "log.*") {
		require.NoError(t, os.Remove(name))
	}
	v = examine(t, n.DataDir(), "--no-measure")
	require.Equal(t, doctor.Error,
		v.names(t, "the snapshot is newer than the end of the log: part of the log is missing").Severity)
	v.names(t, "the end of the log is missing") // what a member of an ensemble says
	n.Start()
	require.Contains(t, n.Log(), "the snapshot is newer than the end of the log: part of the log is missing")
}

// TestSnapshotUnderALaterName copies the oldest snapshot of a server to the name of a later one.
func TestSnapshotUnderALaterName(t *testing.T) {
	t.Parallel()
	n := used(t)
	dir := filepath.Join(n.DataDir(), "version-2")
	all := must.Do(snapshot.List(vfs.OS(), dir))(t)
	require.Greater(t, len(all), 1)
	oldest := must.ReadFile(t, filepath.Join(dir, all[len(all)-1].Name))
	later := snapshot.FileName(all[0].Zxid+1, snapshot.Plain)
	require.NoError(t, os.WriteFile(filepath.Join(dir, later), oldest, 0o644))
	n.Start()
	require.Contains(t, n.Log(), "a snapshot was put aside, and an older one is used with the log")
	n.Stop()
	require.FileExists(t, filepath.Join(dir, snapshot.Aside+later))
	examine(t, n.DataDir(), "--no-measure").names(t, "a snapshot was put aside, and an older one is used with the log")
}

// TestSequenceCounter brings the sequence counter of a znode to its limit.
func TestSequenceCounter(t *testing.T) {
	t.Parallel()
	n := used(t)
	rewrite(t, n, "/n-0-0", 0, func(data []byte, st *proto.StatPersisted) []byte {
		st.Cversion = math.MaxInt32 - 1
		return data
	})
	v := examine(t, n.DataDir(), "--no-measure")
	const limit = "sequence counter is at its limit: sequential creates fail under this znode from now on"
	f := v.names(t, "sequence counter is at its limit: sequential creates fail under this znode from now on")
	require.Equal(t, doctor.Error, f.Severity)
	require.Equal(t, "/n-0-0", f.Subject)
	n.Start()
	c := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 10_000})
	c.MustCreate(t, "/n-0-0/s", nil, proto.ModePersistentSequential)
	require.Contains(t, n.Log(), limit)
}

// TestSnapshotsCannotBePurged damages every snapshot of a server that removes old ones.
func TestSnapshotsCannotBePurged(t *testing.T) {
	t.Parallel()
	n := cluster.Start(t, cluster.Options{Settings: map[string]string{"autopurge.purgeInterval": "50ms"}})
	for _, name := range files(t, n, "snapshot.*") {
		require.NoError(t, os.Truncate(name, 10))
	}
	cluster.Eventually(t, func() bool { return strings.Contains(n.Log(), "cannot purge snapshots") }, patience,
		"the server does not say that it cannot purge")
	v := examine(t, n.DataDir(), "--no-measure")
	require.Equal(t, doctor.Error, v.names(t, "cannot purge snapshots").Severity)
}
