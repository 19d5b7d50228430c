package server

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// A purge logs no warning if a directory has no snapshot, as on a new member. It warns if all snapshots are
// damaged, and there is a finding then until a purge succeeds.
func TestPurgeWithoutSnapshots(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	s := serveMem(t, memConfig(), zap.New(core))
	names := must.Do(s.FS.List(s.SnapDir()))(t)
	for _, name := range names {
		if _, _, ok := snapshot.ParseName(name); ok {
			require.NoError(t, s.FS.Remove(filepath.Join(s.SnapDir(), name)))
		}
	}
	s.disk.Snapshotter.Purge()
	require.Empty(t, logs.FilterMessage("cannot purge snapshots").All())

	require.NoError(t, vfs.WriteFile(s.FS, filepath.Join(s.SnapDir(), "snapshot.7"), nil))
	s.disk.Snapshotter.Purge()
	require.Positive(t, logs.FilterMessage("cannot purge snapshots").Len(),
		"said by this purge, and maybe by the first of the server itself")
	require.Positive(t, s.Metrics.PurgeErrors.Total())
	purges := func() (all []string) {
		for _, f := range s.facts.Findings() {
			if f.Check == "purge-errors" {
				all = append(all, f.What)
			}
		}
		return all
	}
	require.Len(t, purges(), 1)
	require.NoError(t, s.FS.Remove(filepath.Join(s.SnapDir(), "snapshot.7")))
	s.disk.Snapshotter.Purge()
	require.Empty(t, purges(), "the next purge that succeeds ends it")
}

// A snapshot that could not be written is no finding once a later one was, however soon.
func TestSnapshotErrorsEndWithASnapshot(t *testing.T) {
	s := serveMem(t, memConfig(), zap.NewNop())
	has := func(check string) (found bool) {
		for _, f := range s.facts.Findings() {
			found = found || f.Check == check
		}
		return found
	}
	s.Metrics.SnapshotErrors.Inc()
	require.True(t, s.Metrics.SnapshotsFail())
	must.Do(s.disk.Snapshotter.Write())(t)
	require.False(t, s.Metrics.SnapshotsFail())
	s.Metrics.ConnectionRejected.Inc()
	require.Eventually(t, func() bool { return has("connections-refused") }, time.Minute, time.Millisecond)
	require.False(t, has("snapshot-errors"), "the counters are looked at together")

	s.Metrics.SnapshotErrors.Inc()
	require.True(t, s.Metrics.SnapshotsFail())
	require.Eventually(t, func() bool { return has("snapshot-errors") }, time.Minute, time.Millisecond)
	must.Do(s.disk.Snapshotter.Write())(t)
	require.Eventually(t, func() bool { return !has("snapshot-errors") }, time.Minute, time.Millisecond)
}
