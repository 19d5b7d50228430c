package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

const fixtures = "../../../test/testdata/fixtures/zookeeper-3.8/"

// put writes a file, durably.
func member(t *testing.T, mem *vfs.Mem, d *Directory) {
	d.Member = true
	put(t, mem, "/d/myid", []byte("1\n"))
}

func put(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	require.NoError(t, fsys.MkdirAll(filepath.Dir(name)))
	require.NoError(t, vfs.WriteFile(fsys, name, data))
}

// patient is a data directory in memory with the files of a fixture, which is well.
func patient(t testing.TB, fixture string) (*vfs.Mem, *Directory) {
	t.Helper()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/d/version-2"))
	if fixture != "" {
		dir := os.DirFS(fixtures + fixture + "/version-2")
		require.NoError(t, fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(dir, name)
			put(t, mem, "/d/version-2/"+name, b)
			return err
		}))
	}
	return mem, &Directory{FS: mem, DataDir: "/d", LogDir: "/d", MaxFrameBytes: 0xfffff, Now: time.Now,
		Mount: func(string) (string, error) { return "ext4", nil }}
}

// found looks for a finding.
func found(all Findings, severity Severity, check string) bool {
	for _, f := range all {
		if f.Severity == severity && f.Check == check && f.What != "" && f.Subject != "" {
			return true
		}
	}
	return false
}

func TestHealthyDirectories(t *testing.T) {
	for _, fixture := range []string{"02-snapshot-and-log", "09-gzip", "10-snappy", "11-tiny", "07-fuzzy-snapshot"} {
		_, d := patient(t, fixture)
		require.Empty(t, d.Check(), fixture)
	}
	_, d := patient(t, "")
	require.Empty(t, d.Check(), "a new one")
}

// A server reads the first line of an epoch file, as ZooKeeper does, whatever ends it and comes after it.
func TestEpochFilesThatAServerReads(t *testing.T) {
	for _, text := range []string{"0", "0\n", "0\r\n", "0\n" + strings.Repeat("#", 1000)} {
		mem, d := patient(t, "02-snapshot-and-log")
		member(t, mem, d)
		put(t, mem, "/d/version-2/currentEpoch", []byte(text))
		put(t, mem, "/d/version-2/acceptedEpoch", []byte(text))
		put(t, mem, "/d/myid", []byte(strings.Replace(text, "0", "1", 1)))
		require.Empty(t, d.Check(), "%.10q", text)
	}
}

// The first snapshot of a Java server has no digest, but room for one, which is not compared.
func TestDigestOfNothing(t *testing.T) {
	mem, d := patient(t, "01-log-only")
	s := datatree.NewState(datatree.Config{})
	writeSnapshot(t, mem, 0, fuzzySource{walkerSource{s.NewWalker()}, 0, 12345})
	require.Empty(t, d.Check())
}

// puts writes files: their names, each with its text.
func puts(files ...string) func(*testing.T, *vfs.Mem, *Directory) {
	return func(t *testing.T, mem *vfs.Mem, _ *Directory) {
		for file := range slices.Chunk(files, 2) {
			put(t, mem, file[0], []byte(file[1]))
		}
	}
}

func TestDirectoryChecks(t *testing.T) {
	const v = "/d/version-2/"
	for name, tt := range map[string]struct {
		fixture  string
		spoil    func(t *testing.T, mem *vfs.Mem, d *Directory)
		severity Severity
		check    string
	}{
		"torn tail, zeros":        {"03-torn-tail-zeros", nil, Warning, "log-torn"},
		"torn tail, cut":          {"04-torn-tail-truncated", nil, Warning, "log-torn"},
		"damaged last record":     {"05-crc-mismatch-last-record", nil, Critical, "log-damaged"},
		"damaged record":          {"06-crc-mismatch-middle-record", nil, Critical, "log-damaged"},
		"damaged newest snapshot": {"08-corrupt-newest-snapshot", nil, Error, "snapshot-damaged"},
		"damaged older snapshot": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, mem.Flip(v+"snapshot.0", 40, 1))
		}, Warning, "snapshot-damaged"},
		"a command was interrupted": {"11-tiny", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			put(t, mem, "/d/"+datadir.MarkFile, []byte("warren restore\nrun it again\n"))
			require.NoError(t, mem.Rename("/d/version-2", "/d/version-2.before-restore-x"))
		}, Critical, "unfinished"},
		"no whole snapshot": {"11-tiny", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			for _, name := range []string{"snapshot.0", "snapshot.5"} {
				_ = mem.Remove(v + name)
			}
		}, Critical, "no-snapshot"},
		"a log is missing": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, errors.Join(mem.Remove(v+"log.1"), mem.Remove(v+"snapshot.34")))
		}, Critical, "log-gap"},
		"the log does not lead to a damaged snapshot": {"02-snapshot-and-log",
			puts(v+"snapshot.3f", ""), Critical, "log-gap"},
		"no log leads to a damaged snapshot": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, errors.Join(mem.Remove(v+"log.1"), mem.Remove(v+"log.35"), mem.Remove(v+"snapshot.0")))
			put(t, mem, v+"snapshot.3f", nil)
		}, Critical, "log-gap"},
		"every log is missing": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, errors.Join(mem.Remove(v+"log.1"), mem.Remove(v+"log.35")))
		}, Notice, "log-missing"},
		"an old log is damaged": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, mem.Flip(v+"log.1", 60, 4))
		}, Warning, "log-damaged-old"},
		"two logs of one name": {"02-snapshot-and-log", puts(v+"log.35.fixed", "x"), Warning, "stray-file"},
		"left by a repair": {"02-snapshot-and-log",
			puts(v+"repair.log.35.900", "x"), Notice, "stray-file"},
		"left by an interrupted write": {"02-snapshot-and-log", puts(v+"snapshot.40.tmp", "x"), Notice, "stray-file"},
		"the snapshot knows more than the log": {"02-snapshot-and-log",
			func(t *testing.T, mem *vfs.Mem, _ *Directory) {
				s := datatree.NewState(datatree.Config{})
				writeSnapshot(t, mem, 0x3e, fuzzySource{walkerSource{s.NewWalker()}, 0x50, s.Digest()})
			}, Error, "log-end-missing"},
		"wrong tree, an older one is right": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			s := datatree.NewState(datatree.Config{}) // an empty tree at a zxid at which it was not empty
			writeSnapshot(t, mem, 0x38, fuzzySource{walkerSource{s.NewWalker()}, 0x38, s.Digest()})
		}, Error, "snapshot-damaged"},
		"wrong digest, and no log after it": {"", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			s := datatree.NewState(datatree.Config{})
			writeSnapshot(t, mem, 0x38, fuzzySource{walkerSource{s.NewWalker()}, 0x38, s.Digest() + 1})
		}, Critical, "digest"},
		"digest": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			require.NoError(t, errors.Join(mem.Remove(v+"snapshot.0"), mem.Remove(v+"snapshot.34")))
			s := datatree.NewState(datatree.Config{}) // an empty tree at a zxid at which it was not empty
			writeSnapshot(t, mem, 0x38, fuzzySource{walkerSource{s.NewWalker()}, 0x38, s.Digest()})
		}, Critical, "digest"},
		"current epoch above the accepted one": {"02-snapshot-and-log",
			func(t *testing.T, mem *vfs.Mem, d *Directory) {
				member(t, mem, d)
				put(t, mem, v+"currentEpoch", []byte("3"))
				put(t, mem, v+"acceptedEpoch", []byte("2"))
			}, Critical, "epoch"},
		"the same of a standalone server, to which they say nothing": {"02-snapshot-and-log",
			puts(v+"currentEpoch", "3", v+"acceptedEpoch", "2"), Warning, "epoch"},
		"accepted epoch far above the current one": {"02-snapshot-and-log",
			puts(v+"currentEpoch", "3", v+"acceptedEpoch", "1000000003"), Critical, "epoch"},
		"unreadable epoch": {"02-snapshot-and-log", puts(v+"currentEpoch", "three"), Critical, "epoch"},
		"one epoch file": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			member(t, mem, d)
			put(t, mem, v+"acceptedEpoch", []byte("3"))
		}, Warning, "epoch"},
		"epoch below the log, which was promised": {"", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			member(t, mem, d)
			s := datatree.NewState(datatree.Config{})
			writeSnapshot(t, mem, 0x500000000, fuzzySource{walkerSource{s.NewWalker()}, 0x500000000, s.Digest()})
			put(t, mem, v+"currentEpoch", []byte("4"))
			put(t, mem, v+"acceptedEpoch", []byte("5"))
		}, Warning, "epoch"},
		"epoch below the log": {"", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			member(t, mem, d)
			s := datatree.NewState(datatree.Config{})
			writeSnapshot(t, mem, 0x500000000, fuzzySource{walkerSource{s.NewWalker()}, 0x500000000, s.Digest()})
			put(t, mem, v+"currentEpoch", []byte("4"))
			put(t, mem, v+"acceptedEpoch", []byte("4"))
		}, Critical, "epoch"},
		"no myid": {"02-snapshot-and-log", func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.Member = true },
			Error, "myid"},
		"myid no number":  {"02-snapshot-and-log", puts("/d/myid", "one"), Error, "myid"},
		"myid too large":  {"02-snapshot-and-log", puts("/d/myid", "300"), Warning, "myid"},
		"myid with blank": {"02-snapshot-and-log", puts("/d/myid", "3 \n"), Warning, "myid"},
		"mixed directories": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			d.LogDir = "/l"
			require.NoError(t, mem.MkdirAll("/l/version-2"))
		}, Critical, "mixed-directories"},
		"directory missing": {"",
			func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.DataDir, d.LogDir = "/none", "/none" },
			Notice, "directory"},
		"directory no access": {"", func(_ *testing.T, mem *vfs.Mem, _ *Directory) {
			mem.FailNth(vfs.OpList, 0, os.ErrPermission)
		}, Critical, "permissions"},
		"nobody purges": {"11-tiny", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			for i := range 25 {
				s := datatree.NewState(datatree.Config{})
				writeSnapshot(t, mem, proto.Zxid(0x100+i), walkerSource{s.NewWalker()})
			}
		}, Warning, "purge"},
		"nobody purges logs": {"02-snapshot-and-log", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			b := must.ReadFile(t, fixtures+"02-snapshot-and-log/version-2/log.1")
			for i := range 101 {
				put(t, mem, fmt.Sprintf("%slog.%x", v, 0x100+i), b[:16])
			}
			writeSnapshot(t, mem, 0x1000, treeWith(t, nil))
		}, Warning, "purge"},
		"huge znode": {"", func(t *testing.T, mem *vfs.Mem, _ *Directory) {
			writeSnapshot(t, mem, 5, treeWith(t, []node{{"/big", make([]byte, znodeBytesWarn+1)}}))
		}, Warning, "huge-znode"},
		"many children": {"", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			d.MaxFrameBytes = 0
			writeSnapshot(t, mem, 5, treeWith(t, children(childrenWarn+1)))
		}, Warning, "many-children"},
		"too many children to list": {"", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			d.MaxFrameBytes = 1 << 10
			writeSnapshot(t, mem, 5, treeWith(t, children(200)))
		}, Error, "children-too-many-to-list"},
		"disk full": {"", func(_ *testing.T, mem *vfs.Mem, _ *Directory) { mem.SetCapacity(64 << 20) },
			Error, "disk-full"},
		"disk near full": {"", func(t *testing.T, mem *vfs.Mem, d *Directory) {
			d.FS = roomy{mem, 2 << 30, 100 << 30}
		}, Warning, "disk-full"},
		"tmpfs": {"", func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.Mount = mount("tmpfs", nil) },
			Error, "file-system"},
		"nfs": {"", func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.Mount = mount("nfs4", nil) },
			Warning, "file-system"},
		"container": {"", func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.Mount = mount("overlay", nil) },
			Warning, "file-system"},
		"unknown kind": {"", func(_ *testing.T, _ *vfs.Mem, d *Directory) { d.Mount = mount("", os.ErrNotExist) },
			Notice, "file-system"},
		"slow disk": {"", func(_ *testing.T, mem *vfs.Mem, d *Directory) { slow(mem, d, 15*time.Millisecond) },
			Warning, "fsync"},
		"very slow disk": {"", func(_ *testing.T, mem *vfs.Mem, d *Directory) { slow(mem, d, 150*time.Millisecond) },
			Error, "fsync"},
		"cannot measure": {"", func(_ *testing.T, mem *vfs.Mem, d *Directory) {
			d.Measure = true
			mem.FailNth(vfs.OpCreate, 0, os.ErrPermission)
		}, Notice, "fsync"},
	} {
		t.Run(name, func(t *testing.T) {
			mem, d := patient(t, tt.fixture)
			if tt.spoil != nil {
				tt.spoil(t, mem, d)
			}
			all := d.Check()
			require.True(t, found(all, tt.severity, tt.check), "%+v", all)
			for i := 1; i < len(all); i++ {
				require.GreaterOrEqual(t, all[i-1].Severity, all[i].Severity, "the most urgent first")
			}
			require.Empty(t, mem.OpenFiles())
		})
	}
}

// A fast disk is nothing to speak of, and the measurement leaves nothing.
func TestMeasure(t *testing.T) {
	mem, d := patient(t, "")
	slow(mem, d, time.Millisecond)
	require.Empty(t, d.Check())
	require.Equal(t, []string{"version-2"}, must.Do(mem.List("/d"))(t))
}

func mount(kind string, err error) func(string) (string, error) {
	return func(string) (string, error) { return kind, err }
}

// slow makes every sync take so long on a clock of its own.
func slow(mem *vfs.Mem, d *Directory, took time.Duration) {
	now := time.Unix(0, 0)
	d.Measure, d.Now = true, func() time.Time { return now }
	mem.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			now = now.Add(took)
		}
		return nil
	})
}

// roomy is a filesystem with another size.
type roomy struct {
	*vfs.Mem
	free, total int64
}

func (r roomy) Free(string) (int64, int64, error) { return r.free, r.total, nil }

type node struct {
	path string
	data []byte
}

func children(n int) (all []node) {
	for i := range n {
		all = append(all, node{fmt.Sprintf("/child-%08d", i), nil})
	}
	return all
}

// treeWith returns a snapshot of a tree with these znodes.
func treeWith(t *testing.T, nodes []node) snapshot.Source {
	l := datatree.NewLoader(datatree.Config{})
	require.NoError(t, l.Node(nil, nil, -1, &proto.StatPersisted{}))
	for _, n := range nodes {
		require.NoError(t, l.Node([]byte(n.path), n.data, -1, &proto.StatPersisted{Czxid: 1}))
	}
	s := must.Do(l.Done(5))(t)
	return walkerSource{s.NewWalker()}
}

func writeSnapshot(t *testing.T, mem *vfs.Mem, zxid proto.Zxid, src snapshot.Source) {
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: mem, Dir: "/d/version-2"}))(t)
	must.Do(store.Write(zxid, laterSource{src, zxid}))(t)
}

// laterSource goes up to a txn at least.
type laterSource struct {
	snapshot.Source
	zxid proto.Zxid
}

func (s laterSource) End() (proto.Zxid, int64) {
	last, digest := s.Source.End()
	return max(last, s.zxid), digest
}

type walkerSource struct{ w *datatree.Walker }

func (s walkerSource) Next(b []byte) ([]byte, bool) { return s.w.Next(b, 1<<20) }
func (s walkerSource) End() (proto.Zxid, int64)     { return s.w.End() }

// fuzzySource says of its end what it is told.
type fuzzySource struct {
	walkerSource
	zxid   proto.Zxid
	digest int64
}

func (s fuzzySource) End() (proto.Zxid, int64) { return s.zxid, s.digest }

// purging is a filesystem on which a server removes a file in the moment in which it is to be read.
type purging struct {
	*vfs.Mem
	name string
}

func (p purging) Open(name string) (vfs.File, error) {
	if name == p.name {
		_ = p.Remove(name)
	}
	return p.Mem.Open(name)
}

// Old logs and snapshots that a running server purges meanwhile are no damage.
func TestFilesArePurgedMeanwhile(t *testing.T) {
	for _, name := range []string{"log.1", "snapshot.0"} {
		mem, d := patient(t, "02-snapshot-and-log")
		d.FS = purging{mem, "/d/version-2/" + name}
		require.Empty(t, d.Check(), name)
		require.NotContains(t, must.Do(mem.List("/d/version-2"))(t), name)
	}
}
