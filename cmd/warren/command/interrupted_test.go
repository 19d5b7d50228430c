package command

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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/recovery"
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// interruption is a command that writes into the data directories /d and /l, which may be the same.
type interruption struct {
	logDir string
	start  func(t *testing.T, mem *vfs.Mem) // what is there before, besides the files of the fixture
	empty  bool                             // there is no data before
	run    func(fsys vfs.FS) error
	wants  func(t *testing.T, before, after sight) // of the command when nothing interrupts it
}

// sight is what a server would make of data directories.
type sight struct {
	refused string // the command of the mark, "" if a server starts
	data    bool   // there is any
	last    proto.Zxid
	digest  int64
	begins  bool // there is a file initialize
}

// look recovers the tree as a server does: the newest snapshot that loads, and the log behind it.
func look(t *testing.T, fsys vfs.FS, logDir string) (s sight) {
	t.Helper()
	folders := []string{"/d/version-2", logDir + "/version-2"}
	var unfinished *datadir.Unfinished
	if err := datadir.Check(fsys, folders...); errors.As(err, &unfinished) {
		return sight{refused: unfinished.Command}
	} else {
		require.NoError(t, err)
	}
	_, err := fsys.Stat("/d/initialize")
	s.begins = err == nil
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
	store, err := snapshot.NewStore(snapshot.Options{FS: fsys, Dir: folders[0], Warn: func(string, error) {}})
	require.NoError(t, err)
	defer store.Close()
	var state *datatree.State
	_, err = store.Newest(func(m snapshot.Meta) error {
		loader := datatree.NewLoader(datatree.Config{})
		if _, err := store.Load(m, loader); err != nil {
			return err
		}
		var err error
		state, err = loader.Done(m.Zxid)
		return err
	})
	require.NoError(t, err, "a log without a snapshot, or damaged ones")
	log, err := wal.Open(wal.Options{FS: fsys, Dir: folders[1]})
	require.NoError(t, err)
	_, err = log.Replay(state.LastZxid()+1, func(r *wal.Record) error {
		_, _, err := state.Apply(r.Payload, nil, nil, false)
		return err
	})
	require.NoError(t, errors.Join(err, log.Close()))
	s.last, s.digest = state.LastZxid(), state.Digest()
	return s
}

// serve starts a server on a copy of the directories, and compares what it says of itself with a sight.
func (s *sight) serve(t *testing.T, mem *vfs.Mem, logDir string) {
	t.Helper()
	dir := t.TempDir()
	copyTo(t, mem, "/d", dir+"/d")
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir+"/d", dir+logDir
	if logDir != "/d" {
		copyTo(t, mem, logDir, cfg.DataLogDir)
	}
	cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled, cfg.DiskWatermark.Bytes, cfg.PreAllocSizeKB = 0, "127.0.0.1", false, 0, 64
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
	require.Contains(t, word(t, srv.Addr().String(), "srvr"), fmt.Sprintf("Zxid: %v\n", s.last))
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
		if isFolder(mem, from) {
			copyTo(t, mem, from, to)
			continue
		}
		f, err := mem.Open(from)
		require.NoError(t, err)
		b, err := io.ReadAll(f)
		require.NoError(t, errors.Join(err, f.Close(), os.WriteFile(to, b, 0o644)))
	}
}

// fixture copies the files of a ZooKeeper server.
func (i *interruption) fixture(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	src := walFixtures + "zookeeper-3.8/02-snapshot-and-log/version-2"
	put := func(dir string, names ...string) {
		require.NoError(t, mem.MkdirAll(dir))
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(src, name))
			require.NoError(t, err)
			write(t, mem, filepath.Join(dir, name), b)
		}
	}
	put("/source", "log.1", "snapshot.0")
	require.NoError(t, mem.MkdirAll("/d"))
	if !i.empty {
		put("/d/version-2", "snapshot.0", "snapshot.34")
		put(i.logDir+"/version-2", "log.1", "log.35")
	}
	b, err := backup.Open(mem, "/backup")
	require.NoError(t, err)
	_, err = b.Add(backup.Source{FS: mem, SnapDir: "/source", LogDir: "/source"}, backup.Options{})
	require.NoError(t, err)
	if i.start != nil {
		i.start(t, mem)
	}
	return mem
}

func write(t *testing.T, mem *vfs.Mem, name string, b []byte) {
	t.Helper()
	f, err := mem.Create(name)
	require.NoError(t, err)
	_, err = f.Write(b)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close(), mem.SyncDir(filepath.Dir(name))))
}

func interruptions() map[string]*interruption {
	all := map[string]*interruption{}
	for kind, logDir := range map[string]string{"one directory": "/d", "two directories": "/l"} {
		folders := []string{"/d/version-2", logDir + "/version-2"}
		restore := func(fsys vfs.FS) error {
			b, err := backup.Open(fsys, "/backup")
			if err != nil {
				return err
			}
			_, err = b.Restore(backup.Destination{FS: fsys, SnapDir: folders[0], LogDir: folders[1], Replace: true}, backup.Target{})
			return err
		}
		all["restore, "+kind] = &interruption{logDir: logDir, run: restore,
			start: func(t *testing.T, mem *vfs.Mem) { write(t, mem, "/d/version-2/acceptedEpoch", []byte("7")) },
			wants: func(t *testing.T, before, after sight) {
				require.Equal(t, proto.MakeZxid(8, 1), after.last)
				require.NotEqual(t, before.digest, after.digest)
			}}
		all["restore into empty directories, "+kind] = &interruption{logDir: logDir, run: restore, empty: true,
			wants: func(t *testing.T, _, after sight) { require.Equal(t, proto.MakeZxid(1, 1), after.last) }}
		recover := func(fsys vfs.FS) error {
			y := &recovery.Recovery{FS: fsys, SnapDir: folders[0], LogDir: folders[1], Backup: "/survivor", Now: time.Now}
			interrupted, err := y.Resumes()
			if err != nil {
				return err
			}
			r, err := recovery.ReadRecord(fsys, y.Backup)
			h, failed := doctor.ReadHolding(fsys, "/d", logDir)
			switch {
			case err == nil && failed == nil && !interrupted && h.Ensemble() == r.Identity: // it was complete
				return nil
			case err == nil && (interrupted || r.Server != 3):
				_, err = y.Join(r)
				return err
			case failed != nil:
				return failed
			}
			_, err = y.Begin(&recovery.Record{Server: 3, Voters: []int64{1, 2, 3}, Epoch: 1024, Last: backup.Zxid(h.Last)})
			return err
		}
		recovered := func(t *testing.T, _, after sight) { require.Equal(t, proto.MakeZxid(1024, 1), after.last) }
		if logDir == "/l" {
			all["recovery, "+kind] = &interruption{logDir: logDir, run: recover, wants: recovered}
		} else {
			all["recovery of a server without data, "+kind] = &interruption{logDir: logDir, run: recover, wants: recovered, empty: true,
				start: func(t *testing.T, mem *vfs.Mem) {
					from := &recovery.Recovery{FS: mem, SnapDir: "/source", LogDir: "/source", Backup: "/survivor", Now: time.Now}
					source, err := backup.Open(mem, "/backup")
					require.NoError(t, err)
					_, err = from.Begin(&recovery.Record{Server: 2, Voters: []int64{1, 2, 3}, Epoch: 1024,
						Last: backup.Zxid(source.Manifest.Last())})
					require.NoError(t, err)
				}}
		}
		all["adopt, "+kind] = &interruption{logDir: logDir,
			run: func(fsys vfs.FS) error {
				_, err := setAside(fsys, folders, "warren adopt", ".set-aside-"+fmt.Sprint(time.Now().UnixNano()))
				return err
			},
			wants: func(t *testing.T, _, after sight) { require.Equal(t, sight{}, after) }}
		all["initialize, "+kind] = &interruption{logDir: logDir,
			run: func(fsys vfs.FS) error {
				n := initialization{fs: fsys, dataDir: "/d", logDir: logDir, id: 3, force: true, out: io.Discard}
				return n.run()
			},
			wants: func(t *testing.T, _, after sight) { require.Equal(t, sight{begins: true}, after) }}
		for name, after := range map[string]proto.Zxid{"repair after a txn, ": 0x20, "repair, ": 0} {
			r := &interruption{logDir: logDir,
				run: func(fsys vfs.FS) error {
					r := &walRepair{fs: fsys, out: io.Discard, command: "warren wal repair"}
					if err := r.find(logDir+"/version-2", "/d", after, after > 0); err != nil {
						return err
					}
					return r.run(true, true)
				},
				wants: func(t *testing.T, before, now sight) { require.Less(t, now.last, before.last) }}
			if after == 0 {
				r.start = func(t *testing.T, mem *vfs.Mem) { require.NoError(t, mem.Flip(logDir+"/version-2/log.35", 400, 1)) }
				r.wants = func(t *testing.T, _, now sight) { require.Greater(t, now.last, proto.Zxid(0x34)) }
			}
			all[name+kind] = r
		}
		all["cleanup, "+kind] = &interruption{logDir: logDir,
			start: func(t *testing.T, mem *vfs.Mem) {
				b, err := os.ReadFile(walFixtures + "zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34")
				require.NoError(t, err)
				// as fuzzy ones, which the log makes exact
				for _, name := range []string{"snapshot.35", "snapshot.36"} {
					write(t, mem, "/d/version-2/"+name, b)
				}
			},
			run: func(fsys vfs.FS) error {
				c := cleanup{fs: fsys, snapDir: folders[0], logDir: folders[1]}
				files, err := c.obsolete(3)
				for _, file := range files {
					err = errors.Join(err, fsys.Remove(file))
				}
				return err
			},
			wants: func(t *testing.T, before, after sight) { require.Equal(t, before, after) }}
	}
	return all
}

// TestInterruptedCommands takes the power away at every operation of every command that writes into data directories.
// A server finds what was there before, or what the command makes, or refuses to start; and the command, run again,
// comes to its end.
func TestInterruptedCommands(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	errCrash := errors.New("crash")
	crashes, refused := 0, 0
	for name, command := range interruptions() {
		t.Run(name, func(t *testing.T) {
			mem := command.fixture(t)
			damaged := strings.HasPrefix(name, "repair, ")
			var before sight
			if !damaged {
				before = look(t, mem, command.logDir)
			}
			require.NoError(t, command.run(mem))
			after := look(t, mem, command.logDir)
			command.wants(t, before, after)
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
				err := command.run(mem)
				if !over {
					require.NoError(t, err)
					return
				}
				for _, percent := range []int{0, 50, 100} {
					at := fmt.Sprintf("operation %d, %d%%", n, percent)
					left := mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: percent})
					crashes++
					if err := datadir.Check(left, "/d/version-2", command.logDir+"/version-2"); err != nil || !damaged {
						found := look(t, left, command.logDir)
						if found.refused != "" {
							refused++
						} else {
							require.Contains(t, []sight{before, after}, found, "%s\n%s", at, left)
						}
						if n%8 == 7 && percent == 50 {
							found.serve(t, left, command.logDir)
						}
					}
					require.NoError(t, command.run(left), at)
					now := look(t, left, command.logDir)
					if strings.HasPrefix(name, "restore") && now.last == after.last+1<<32 {
						continue // it was complete, and has been done twice
					}
					require.Equal(t, after, now, "run again after %s\n%s", at, left)
				}
			}
		})
	}
	t.Logf("%d crashes, %d of them left what is refused", crashes, refused)
	require.Greater(t, crashes, 1000)
	require.Greater(t, refused, 100)
}

// Commands refuse a directory in which another one was interrupted, and say so.
func TestInterruptedDirectoryIsRefused(t *testing.T) {
	data := copyFixture(t, "02-snapshot-and-log")
	require.NoError(t, os.WriteFile(filepath.Join(data, datadir.MarkFile), []byte("warren restore\nrun it again\n"), 0o644))
	conf := filepath.Join(t.TempDir(), "zoo.cfg")
	require.NoError(t, os.WriteFile(conf, []byte("dataDir="+data+"\nclientPort=0\nadmin.enableServer=false\n"), 0o644))
	before := contents(t, data)
	for _, args := range [][]string{
		{"server", "--config", conf},
		{"backup", "create", filepath.Join(t.TempDir(), "backup"), data},
		{"wal", "repair", data, "--after", "0x38", "--yes", "--lose-txns"},
		{"zkCleanup.sh", "--config", filepath.Dir(conf), "-n", "3"},
	} {
		code, _, errs := run(args...)
		require.NotZero(t, code, args)
		require.Contains(t, errs, datadir.MarkFile+": warren restore was interrupted, and what it has left must not be served: run it again", args)
	}
	code, out, _ := run("doctor", "--no-measure", data)
	require.Equal(t, exitErrors, code)
	require.Regexp(t, `critical +unfinished +`+data, out)
	require.Equal(t, before, contents(t, data))
}
