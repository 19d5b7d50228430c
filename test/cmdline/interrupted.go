package cmdline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// DataFolders are the folders for the log beside the folder /d for snapshots.
var DataFolders = map[string]string{"one directory": "/d", "two directories": "/l"}

// Interruption is a command that writes into the data directories /d and /l, which may be the same.
type Interruption struct {
	LogDir string
	Start  func(t *testing.T, mem *vfs.Mem) // what is there before, besides the files of the fixture
	Empty  bool                             // there is no data before
	Run    func(fsys vfs.FS) error
	Wants  func(t *testing.T, before, after Sight) // of the command when nothing interrupts it
}

// Sight is what a server would make of data directories.
type Sight struct {
	refused string // the command of the mark, "" if a server starts
	data    bool   // there is any
	Last    proto.Zxid
	Digest  int64
	Begins  bool // there is a file initialize
}

// look recovers the tree as a server does.
func look(t *testing.T, fsys vfs.FS, logDir string) (s Sight) {
	t.Helper()
	folders := []string{"/d/version-2", logDir + "/version-2"}
	var unfinished *datadir.Unfinished
	if err := datadir.Check(fsys, folders...); errors.As(err, &unfinished) {
		return Sight{refused: unfinished.Command}
	} else {
		require.NoError(t, err)
	}
	_, err := fsys.Stat("/d/initialize")
	s.Begins = err == nil
	for _, folder := range folders {
		names, err := fsys.List(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		s.data = s.data || slices.ContainsFunc(names, datadir.IsData)
	}
	if !s.data {
		return s
	}
	found := must.Do(rebuild.Newest(&rebuild.Source{FS: fsys, Dir: folders[0], Foreign: true,
		Snapshots: snapshot.View{FS: fsys, Dir: folders[0]},
		Log: func(from proto.Zxid, fn func(*wal.Record) error) error {
			_, err := wal.Verify(wal.Options{FS: fsys, Dir: folders[1]}, from, fn)
			return err
		}}))(t)
	s.Last, s.Digest = found.State.LastZxid(), found.State.Digest()
	return s
}

// serve starts a server on a copy of the directories, and compares what it says of itself with a sight.
func (s *Sight) serve(t *testing.T, mem *vfs.Mem, logDir string) {
	t.Helper()
	dir := t.TempDir()
	copyTo(t, mem, "/d", dir+"/d")
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir+"/d", dir+logDir
	if logDir != "/d" {
		copyTo(t, mem, logDir, cfg.DataLogDir)
	}
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled = 0, "127.0.0.1", false
	cfg.DiskWatermark.Bytes, cfg.PreAllocSizeKB = 0, 64
	srv := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	err := srv.Start()
	if s.refused != "" {
		var unfinished *datadir.Unfinished
		require.ErrorAs(t, err, &unfinished)
		require.Equal(t, s.refused, unfinished.Command)
		return
	}
	require.NoError(t, err)
	defer srv.Stop()
	require.Contains(t, Word(t, srv.Addr().String(), "srvr"), fmt.Sprintf("Zxid: %v\n", s.Last))
}

func copyTo(t *testing.T, mem *vfs.Mem, from, to string) {
	t.Helper()
	names, err := mem.List(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, errors.Join(err, os.MkdirAll(to, 0o755)))
	for _, name := range names {
		from, to := filepath.Join(from, name), filepath.Join(to, name)
		if info, err := mem.Stat(from); err == nil && info.IsDir() {
			copyTo(t, mem, from, to)
			continue
		}
		f := must.Do(mem.Open(from))(t)
		b, err := io.ReadAll(f)
		require.NoError(t, errors.Join(err, f.Close(), os.WriteFile(to, b, 0o644)))
	}
}

// fixture copies the files of a ZooKeeper server.
func (i *Interruption) fixture(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	src := Fixtures + "zookeeper-3.8/02-snapshot-and-log/version-2"
	put := func(dir string, names ...string) {
		require.NoError(t, mem.MkdirAll(dir))
		for _, name := range names {
			b := must.ReadFile(t, filepath.Join(src, name))
			Write(t, mem, filepath.Join(dir, name), b)
		}
	}
	put("/source", "log.1", "snapshot.0")
	require.NoError(t, mem.MkdirAll("/d"))
	if !i.Empty {
		put("/d/version-2", "snapshot.0", "snapshot.34")
		put(i.LogDir+"/version-2", "log.1", "log.35")
	}
	b := must.Do(backup.Open(mem, "/backup"))(t)
	must.Do(b.Add(backup.Source{FS: mem, SnapDir: "/source", LogDir: "/source"}, backup.Options{}))(t)
	if i.Start != nil {
		i.Start(t, mem)
	}
	return mem
}

func Write(t *testing.T, mem *vfs.Mem, name string, b []byte) {
	t.Helper()
	f := must.Do(mem.Create(name))(t)
	_, err := f.Write(b)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close(), mem.SyncDir(filepath.Dir(name))))
}

// Interrupt takes the power away at every operation of commands that write into data directories. A server finds what
// was there before, or what the command makes, or refuses to start; and the command, run again, comes to its end. Some
// crashes must leave what is refused, so that the mark is not untested.
func Interrupt(t *testing.T, commands map[string]*Interruption) {
	t.Helper()
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	errCrash := errors.New("crash")
	crashes, refused := 0, 0
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			mem := command.fixture(t)
			damaged := strings.HasPrefix(name, "repair, ")
			var before Sight
			if !damaged {
				before = look(t, mem, command.LogDir)
			}
			require.NoError(t, command.Run(mem))
			after := look(t, mem, command.LogDir)
			command.Wants(t, before, after)
			require.Empty(t, mem.OpenFiles())

			for n, over := 0, false; ; n, over = n+1, false {
				mem := command.fixture(t)
				ops := 0
				mem.Hook(func(op vfs.Op) error {
					if ops++; ops > n {
						over = true
						return errCrash
					}
					return nil
				})
				err := command.Run(mem)
				if !over {
					require.NoError(t, err)
					return
				}
				for _, percent := range []int{0, 50, 100} {
					at := fmt.Sprintf("operation %d, %d%%", n, percent)
					left := mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: percent})
					crashes++
					if err := datadir.Check(left, "/d/version-2", command.LogDir+"/version-2"); err != nil ||
						!damaged {
						found := look(t, left, command.LogDir)
						if found.refused != "" {
							refused++
						} else {
							require.Contains(t, []Sight{before, after}, found, "%s\n%s", at, left)
						}
						if n%8 == 7 && percent == 50 {
							found.serve(t, left, command.LogDir)
						}
					}
					require.NoError(t, command.Run(left), at)
					now := look(t, left, command.LogDir)
					if strings.HasPrefix(name, "restore") && now.Last == after.Last+1<<32 {
						continue // it was complete, and has been done twice
					}
					require.Equal(t, after, now, "run again after %s\n%s", at, left)
				}
			}
		})
	}
	t.Logf("%d crashes, %d of them left what is refused", crashes, refused)
	require.Greater(t, crashes, 100)
	require.Greater(t, refused, 10)
}
