package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// files counts the files of the data directory with a certain prefix.
func files(t *testing.T, s *Server, prefix string) (n int) {
	t.Helper()
	names := must.Do(s.FS.List(s.SnapDir()))(t)
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// When a log file is full the next one begins, without a snapshot. The txns in all of them count for the next
// snapshot.
func TestLogFilesOfLimitedSize(t *testing.T) {
	for _, run := range []struct {
		limitKB, snapKB int64
		files           int // at least
		snapshots       bool
	}{{0, 0, 1, false}, {1, 0, 8, false}, {1, 8, 8, true}} {
		t.Run(fmt.Sprint(run.limitKB, " and ", run.snapKB), func(t *testing.T) {
			cfg := memConfig()
			cfg.TxnLogSizeLimitKB, cfg.SnapSizeLimitKB, cfg.Autopurge.PurgeInterval = run.limitKB, run.snapKB, 0
			fs, store := vfs.NewMem(), meta.NewMem(1)
			s := started(t, cfg, Options{FS: fs, Meta: store})
			first := files(t, s, "snapshot.")
			c := dialWire(t, s, wire.Options{})
			for i := range 20 {
				c.MustCreate(t, fmt.Sprint("/n", i), make([]byte, 700), proto.ModePersistent)
			}
			if run.snapshots {
				eventually(t, func() bool { return files(t, s, "snapshot.") > first }, "a snapshot")
			} else {
				require.Equal(t, first, files(t, s, "snapshot."))
			}
			if n := files(t, s, "log."); run.limitKB == 0 {
				require.Equal(t, run.files, n)
			} else {
				require.GreaterOrEqual(t, n, run.files)
			}
			want := s.Store.State.Digest()
			s.Stop()
			require.Equal(t, want, running(t, cfg, Options{FS: fs, Meta: store.Again()}).Store.State.Digest())
		})
	}
}

func TestSnapshotsWithoutLastZxid(t *testing.T) {
	for _, with := range []bool{true, false} {
		cfg := memConfig()
		cfg.SerializeLastProcessedZxid = with
		s := serveMem(t, cfg, nil)
		d := s.disk.Snapshotter.Order(context.Background())
		require.NoError(t, d.Err)
		require.NoError(t, d.File.Close())
		trailer := must.Do(s.disk.Snaps.Load(d.Meta, snapshot.Discard))(t)
		require.Equal(t, with, trailer.HasLastZxid)
		require.True(t, trailer.HasDigest)
	}
}

// Settings decide what is written to the disk. A server of either kind recovers the same state from it.
func TestClosedSessionsWithoutList(t *testing.T) {
	size := func(change func(*config.Config)) int64 {
		cfg := memConfig()
		change(cfg)
		s, c := serveOne(t, cfg)
		c.MustCreate(t, "/e", nil, proto.ModeEphemeral)
		before := s.disk.WAL.Size()
		require.NoError(t, c.CloseSession())
		s.Store.Mu.RLock()
		defer s.Store.Mu.RUnlock()
		require.Zero(t, s.Store.State.Lookup([]byte("/e")))
		return s.disk.WAL.Size() - before
	}
	const framing = 13
	require.EqualValues(t, framing+proto.TxnHeaderSize+4+4+len("/e")+proto.TxnDigestSize,
		size(func(*config.Config) {}))
	require.EqualValues(t, framing+proto.TxnHeaderSize, size(func(c *config.Config) { c.CloseSessionTxn = false }))
}
