package server

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// The tests of this file cause the messages that docs/TROUBLESHOOTING.md quotes.

// fixtureIn copies the files of a data directory of ZooKeeper to /data.
func fixtureIn(t *testing.T, fs *vfs.Mem, name string) {
	t.Helper()
	from := filepath.Join("../test/testdata/fixtures/zookeeper-3.8", name, "version-2")
	entries := must.ReadDir(t, from)
	for _, e := range entries {
		b := must.ReadFile(t, filepath.Join(from, e.Name()))
		putIn(t, fs, "/data/version-2/"+e.Name(), b)
	}
}

func putIn(t *testing.T, fs *vfs.Mem, name string, b []byte) {
	t.Helper()
	require.NoError(t, fs.MkdirAll(filepath.Dir(name)))
	require.NoError(t, vfs.WriteFile(fs, name, b))
}

// told is the source of a snapshot of an empty tree with a given end.
type told struct {
	*datatree.Walker
	zxid   proto.Zxid
	digest int64
}

func (s told) Next(b []byte) ([]byte, bool) { return s.Walker.Next(b, 1<<20) }
func (s told) End() (proto.Zxid, int64)     { return s.zxid, s.digest }

func snapshotIn(t *testing.T, fs *vfs.Mem, zxid, end proto.Zxid, digest int64) {
	t.Helper()
	require.NoError(t, fs.MkdirAll("/data/version-2"))
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: fs, Dir: "/data/version-2"}))(t)
	must.Do(store.Write(zxid, told{datatree.NewState(datatree.Config{}).NewWalker(), end, digest}))(t)
}

func TestSentencesOfAStart(t *testing.T) {
	for sentence, tt := range map[string]struct {
		spoil func(t *testing.T, fs *vfs.Mem, cfg *config.Config)
		goes  bool // the server starts, and the sentence is in its log
	}{
		"dataDir and dataLogDir are mixed up or were not moved together": {spoil: func(t *testing.T, fs *vfs.Mem,
			cfg *config.Config) {
			fixtureIn(t, fs, "02-snapshot-and-log")
			cfg.DataLogDir = "/log"
		}},
		"no snapshot found, but there is a log": {spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
			fixtureIn(t, fs, "11-tiny")
			require.NoError(t, errors.Join(fs.Remove("/data/version-2/snapshot.0"),
				fs.Remove("/data/version-2/snapshot.5")))
		}},
		"no snapshot can be loaded": {spoil: func(t *testing.T, fs *vfs.Mem,
			_ *config.Config) {
			fixtureIn(t, fs, "11-tiny")
			for _, name := range []string{"snapshot.0", "snapshot.5"} {
				require.NoError(t, fs.Flip("/data/version-2/"+name, 40, 1))
			}
		}},
		"is empty, and db.autocreate is false": {spoil: func(_ *testing.T, _ *vfs.Mem,
			cfg *config.Config) {
			cfg.DBAutocreate = false
		}},
		"corrupt log": {spoil: func(t *testing.T, fs *vfs.Mem,
			_ *config.Config) {
			fixtureIn(t, fs, "06-crc-mismatch-middle-record")
		}},
		"missing log": {spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
			fixtureIn(t, fs, "02-snapshot-and-log")
			require.NoError(t, errors.Join(fs.Remove("/data/version-2/log.1"),
				fs.Remove("/data/version-2/snapshot.34")))
		}},
		"cutting off a write that did not finish": {goes: true,
			spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
				fixtureIn(t, fs, "04-torn-tail-truncated")
			}},
		"a snapshot was put aside, and an older one is used with the log": {goes: true,
			spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
				fixtureIn(t, fs, "02-snapshot-and-log")
				s := datatree.NewState(datatree.Config{}) // an empty tree at a zxid at which it was not empty
				snapshotIn(t, fs, 0x38, 0x38, s.Digest())
			}},
		"digest of the tree differs from the log's or the snapshot's": {goes: true,
			spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
				fixtureIn(t, fs, "02-snapshot-and-log")
				names := must.Do(fs.List("/data/version-2"))(t)
				for _, name := range names { // no older snapshot tells which of the two is right
					if strings.HasPrefix(name, "snapshot.") {
						require.NoError(t, fs.Remove("/data/version-2/"+name))
					}
				}
				s := datatree.NewState(datatree.Config{})
				snapshotIn(t, fs, 0x38, 0x38, s.Digest())
			}},
		"the snapshot is newer than the end of the log: part of the log is missing": {goes: true,
			spoil: func(t *testing.T, fs *vfs.Mem, _ *config.Config) {
				s := datatree.NewState(datatree.Config{})
				snapshotIn(t, fs, 5, 9, s.Digest())
			}},
	} {
		t.Run(sentence, func(t *testing.T) {
			fs, cfg := vfs.NewMem(), memConfig()
			cfg.Admin.Enabled = false
			tt.spoil(t, fs, cfg)
			core, logs := observer.New(zapcore.InfoLevel)
			s := New(cfg, Options{FS: fs, Meta: meta.NewMem(1), Log: zap.New(core), Version: testVersion})
			err := s.Start()
			if !tt.goes {
				require.ErrorContains(t, err, sentence)
				return
			}
			require.NoError(t, err)
			defer s.Stop()
			require.Positive(t, logs.FilterMessage(sentence).Len(), "%v", logs.All())
		})
	}
}

func TestSentencesOfADisk(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	fs, cfg := vfs.NewMem(), memConfig()
	cfg.Admin.Enabled = false
	cfg.FsyncWarningThreshold = time.Nanosecond // every sync is slow
	s := running(t, cfg, Options{FS: fs, Log: zap.New(core)})
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	require.Positive(t, logs.FilterMessage("syncing the log was slow: every write waits for it").Len())

	fs.FailNth(vfs.OpRename, 0, errors.New("no"))
	s.disk.Snapshotter.Request()
	eventually(t, func() bool { return logs.FilterMessage("cannot write a snapshot").Len() > 0 },
		"a snapshot that cannot be written is told")
	require.EqualValues(t, 1, s.Metrics.SnapshotErrors.Total())
	require.NoError(t, must.Err(c.Create("/m", nil, proto.ModePersistent)), "the log goes on")
}
