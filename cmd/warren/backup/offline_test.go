package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

const fixtures = "../../../test/testdata/fixtures/zookeeper-3.8/"

// put writes a file, durably.
func put(t testing.TB, fs vfs.FS, name string, data []byte) {
	t.Helper()
	require.NoError(t, fs.MkdirAll(filepath.Dir(name)))
	f := must.Do(fs.Create(name))(t)
	_, err := f.Write(data)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close(), fs.SyncDir(filepath.Dir(name))))
}

func get(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	b := must.Do(vfs.ReadFile(fs, name, 1<<30))(t)
	return b
}

// memFixture puts the files of a fixture into /s of a filesystem in memory: those that are named, or all.
func memFixture(t testing.TB, fixture string, names ...string) (*vfs.Mem, Source) {
	t.Helper()
	mem := vfs.NewMem()
	dir := filepath.Join(fixtures, fixture, "version-2")
	files := must.ReadDir(t, dir)
	for _, f := range files {
		if len(names) > 0 && !slices.Contains(names, f.Name()) {
			continue
		}
		b := must.ReadFile(t, filepath.Join(dir, f.Name()))
		put(t, mem, "/s/"+f.Name(), b)
	}
	return mem, Source{FS: mem, SnapDir: "/s", LogDir: "/s"}
}

// cutAfter returns the bytes of a log up to the end of a txn, and some zeros.
func cutAfter(t testing.TB, fs vfs.FS, name string, last proto.Zxid) []byte {
	t.Helper()
	end := int64(0)
	_, err := wal.Scan(fs, name, func(r *wal.Record) error {
		if r.Zxid <= last {
			end = r.Offset + 13 + int64(len(r.Payload))
		}
		return nil
	})
	require.NoError(t, err)
	return append(slices.Clone(get(t, fs, name)[:end]), make([]byte, 64)...)
}

func add(t testing.TB, fs vfs.FS, src Source, o Options) (Outcome, error) {
	t.Helper()
	return opened(t, fs, "/b").Add(src, o)
}

func mustAdd(t testing.TB, fs vfs.FS, src Source, o Options) Outcome {
	t.Helper()
	out := must.Do(add(t, fs, src, o))(t)
	return out
}

func opened(t testing.TB, fs vfs.FS, dir string) *Backup {
	t.Helper()
	b := must.Do(Open(fs, dir))(t)
	return b
}

func verify(t testing.TB, fs vfs.FS) Verdict {
	t.Helper()
	return opened(t, fs, "/b").Verify()
}

// TestIncrements lets a log grow between runs.
func TestIncrements(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	whole := get(t, mem, "/s/log.35")
	put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x37))
	out := mustAdd(t, mem, src, Options{Now: func() time.Time { return time.UnixMilli(5) }})
	require.Equal(t, proto.Zxid(0x37), out.Last)
	require.Equal(t, []string{"snapshot.34", "log.35"}, []string{out.Added[0].File, out.Added[1].File})
	require.Equal(t, 3, out.Added[1].Txns)
	require.Equal(t, time.UnixMilli(5).UTC(), out.Added[0].Taken)
	require.NotZero(t, out.Added[1].DigestZxid)

	out = mustAdd(t, mem, src, Options{})
	require.Empty(t, out.Added, "nothing is new")

	put(t, mem, "/s/log.35", whole)
	out = mustAdd(t, mem, src, Options{Limit: 0x3b})
	require.Equal(t, proto.Zxid(0x3b), out.Last)
	out = mustAdd(t, mem, src, Options{})
	require.Equal(t, []string{"log.3c"}, []string{out.Added[0].File})

	v := verify(t, mem)
	require.Empty(t, v.Problems)
	require.Len(t, v.Ranges, 1)
	require.Equal(t, proto.Zxid(0x3e), v.Ranges[0].To)
	require.Equal(t, 10, v.Ranges[0].Compared)
}

// A snapshot under a wrong name is no part of a backup, which could not be restored from it.
func TestMisnamedSnapshot(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	body := get(t, mem, "/s/snapshot.34")
	require.NoError(t, mem.Rename("/s/snapshot.34", "/s/snapshot.36"))
	out := mustAdd(t, mem, src, Options{})
	require.Equal(t, "snapshot.0", out.Added[0].File, "as a server does")
	require.Equal(t, proto.Zxid(0x3e), out.Last)
	require.Empty(t, verify(t, mem).Problems)

	b := opened(t, vfs.NewMem(), "/b")
	_, err := b.AddRemote(t.Context(), fakeAdmin(t, 200, "0x36", len(body), body))
	require.ErrorIs(t, err, snapshot.ErrName)
}

// ZooKeeper computes the digests of paths that are not ASCII in the character set of its machine. Its backups can be
// restored nevertheless, with a warning; those of this server's snapshots, whose digests do not depend on it, cannot.
func TestDigestsOfAnotherCharacterSet(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	log := logHeader()
	_, err := wal.Scan(mem, "/s/log.35", func(r *wal.Record) error {
		payload := slices.Clone(r.Payload)
		payload[len(payload)-1]++ // of the digest
		log = wal.AppendRecord(log, payload)
		return nil
	})
	require.NoError(t, err)
	put(t, mem, "/s/log.35", log)
	require.NoError(t, mem.Remove("/s/snapshot.0"))
	mustAdd(t, mem, src, Options{})
	v := verify(t, mem)
	require.Empty(t, v.Problems)
	require.ErrorIs(t, v.Ranges[0].Wrong, rebuild.ErrDigest)
	b := opened(t, mem, "/b")
	r := must.Do(b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}, Target{}))(t)
	require.Equal(t, proto.Zxid(0x3e), r.Zxid)
	require.ErrorIs(t, r.Wrong, rebuild.ErrDigest)

	state := must.Do(b.reach(Target{Zxid: 0x34}))(t)
	w := state.State.NewWalker()
	defer w.Close()
	require.NoError(t, mem.MkdirAll("/own"))
	store, err := snapshot.NewStore(snapshot.Options{FS: mem, Dir: "/own", Ensemble: func() uint64 { return 7 }})
	require.NoError(t, err)
	must.Do(store.Write(0x34, walkerSource{w}))(t)
	put(t, mem, "/own/log.35", log)
	own := opened(t, mem, "/b2")
	must.Do(own.Add(Source{FS: mem, SnapDir: "/own", LogDir: "/own"}, Options{}))(t)
	require.ErrorIs(t, own.Verify().Problems[0], rebuild.ErrDigest)
}

// The mark of a restore that is run again after an interruption leads back to the data that was there at first: the
// earlier run has set a part of it aside, under a name of its own.
func TestMarkOfARestoreThatIsRunAgain(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	mustAdd(t, mem, src, Options{})
	put(t, mem, "/data/version-2/snapshot.0", []byte("old"))
	put(t, mem, "/log/version-2/log.1", []byte("old"))
	b := opened(t, mem, "/b")
	to := Destination{FS: mem, SnapDir: "/data/version-2", LogDir: "/log/version-2", Replace: true}
	broken, renames := errors.New("broken"), 0
	mem.Hook(func(op vfs.Op) error {
		if ok, _ := filepath.Match("/*/version-2*", op.Name); ok && op.Kind == vfs.OpRename {
			if renames++; renames != 1 {
				return broken // also of the way back: as if the process had ended
			}
		}
		return nil
	})
	for i, want := range []string{"version-2.before-restore-19700101T000001.000, where there is one, in the place",
		"version-2.before-restore-19700101T000001.000, where there is one, else " +
			"version-2.before-restore-19700101T000002.000, where there is one, in the place"} {
		to.Now = func() time.Time { return time.Unix(int64(i+1), 0) }
		require.ErrorIs(t, must.Err(b.Restore(to, Target{})), broken)
		for _, dir := range []string{"/data/", "/log/"} {
			require.Contains(t, string(get(t, mem, dir+datadir.MarkFile)), want)
		}
	}
}

// A log that only older snapshots need may be damaged: a server starts, and doctor advises to take a backup now.
func TestDamagedOldLog(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	require.NoError(t, mem.Flip("/s/log.1", 100, 1))
	for range 2 {
		require.Equal(t, proto.Zxid(0x3e), mustAdd(t, mem, src, Options{}).Last)
	}
	require.Empty(t, verify(t, mem).Problems)
}

// The last log may have no header yet: a crash leaves it so, and a server that starts removes it.
func TestLastLogWithoutHeader(t *testing.T) {
	for _, size := range []int{0, 15} {
		mem, src := memFixture(t, "02-snapshot-and-log")
		put(t, mem, "/s/log.3f", logHeader()[:size])
		require.Equal(t, proto.Zxid(0x3e), mustAdd(t, mem, src, Options{}).Last)
	}
}

// A member of the server's group may read all that a backup needs. meta.db is for the server alone.
func TestBackupByTheGroup(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	put(t, mem, "/s/acceptedEpoch", []byte("7"))
	put(t, mem, "/s/currentEpoch", []byte("6"))
	put(t, mem, "/s/meta.db", nil)
	mem.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && op.Name == "/s/meta.db" {
			return fs.ErrPermission
		}
		return nil
	})
	b := opened(t, mem, "/b")
	must.Do(b.Add(src, Options{}))(t)
	require.EqualValues(t, 7, b.Manifest.Epoch)
}

// A backup that cannot hold one more file stays as it is, and can be restored.
func TestBackupThatIsFull(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	whole := get(t, mem, "/s/log.35")
	put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x37))
	mustAdd(t, mem, src, Options{})
	b := opened(t, mem, "/b")
	log := b.Manifest.Entries[1]
	for i := len(b.Manifest.Entries); i < entriesMax; i++ {
		log.File = fmt.Sprintf("log.35.%d", i)
		b.Manifest.Entries = append(b.Manifest.Entries, log)
	}
	require.NoError(t, b.save())
	put(t, mem, "/s/log.35", whole)
	require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), errFull)
	require.ErrorIs(t, must.Err(b.AddRemote(t.Context(), fakeAdmin(t, 200, "0x34", 0, nil))), errFull)
	b = opened(t, mem, "/b")
	require.Len(t, b.Manifest.Entries, entriesMax)
}

// TestHistories refuses what does not continue the backup.
func TestHistories(t *testing.T) {
	t.Run("the log was cut and went on otherwise", func(t *testing.T) {
		mem, src := memFixture(t, "02-snapshot-and-log")
		mustAdd(t, mem, src, Options{})
		put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x3a))
		require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), errDiverged)
	})
	t.Run("another server has another txn there", func(t *testing.T) {
		mem, src := memFixture(t, "11-tiny", "log.1", "snapshot.0")
		mustAdd(t, mem, src, Options{})
		other, otherSrc := memFixture(t, "02-snapshot-and-log", "log.1", "snapshot.0")
		put(t, mem, "/o/log.1", get(t, other, "/s/log.1"))
		otherSrc.FS, otherSrc.LogDir, otherSrc.SnapDir = mem, "/o", "/o"
		_, err := add(t, mem, otherSrc, Options{})
		require.ErrorIs(t, err, errDiverged)
		require.ErrorContains(t, err, "0x5")
	})
	t.Run("the log was purged", func(t *testing.T) {
		mem, src := memFixture(t, "02-snapshot-and-log", "snapshot.0", "log.1")
		put(t, mem, "/s/log.1", cutAfter(t, mem, "/s/log.1", 0x20))
		mustAdd(t, mem, src, Options{})
		later, _ := memFixture(t, "02-snapshot-and-log", "snapshot.34", "log.35")
		for _, name := range []string{"snapshot.34", "log.35"} {
			put(t, mem, "/s/"+name, get(t, later, "/s/"+name))
		}
		require.NoError(t, errors.Join(mem.Remove("/s/log.1"), mem.Remove("/s/snapshot.0")))
		out := mustAdd(t, mem, src, Options{})
		require.Len(t, out.Warnings, 1)
		require.Contains(t, out.Warnings[0], "does not go back to 0x20")
		v := verify(t, mem)
		require.Empty(t, v.Problems)
		require.Equal(t, []proto.Zxid{0, 0x20, 0x34, 0x3e},
			[]proto.Zxid{v.Ranges[0].From, v.Ranges[0].To, v.Ranges[1].From, v.Ranges[1].To})
		b := opened(t, mem, "/b")
		to := Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}
		require.Error(t, must.Err(b.Restore(to, Target{Zxid: 0x22})))
		for i, z := range []proto.Zxid{0x20, 0x34, 0x3e} {
			to.SnapDir = "/r" + string(rune('0'+i))
			require.Equal(t, z, must.Do(b.Restore(to, Target{Zxid: z}))(t).Zxid)
		}
	})
	t.Run("the log was purged up to the beginning of an epoch", func(t *testing.T) {
		mem, src := memFixture(t, "02-snapshot-and-log", "snapshot.34")
		mustAdd(t, mem, src, Options{}) // ends with a snapshot: nothing was written since
		other, otherSrc := received(t)
		for _, name := range []string{"snapshot.0", "log.1", "snapshot.34"} {
			require.NoError(t, other.Remove("/s/"+name))
		}
		mustAdd(t, other, otherSrc, Options{})
		b := opened(t, other, "/b")
		state := must.Do(b.reach(Target{Zxid: 0x100000003}))(t)
		put(t, mem, "/s/snapshot.100000003", snapshotOf(t, state.State))
		put(t, mem, "/s/log.100000001", get(t, other, "/s/log.100000001"))
		require.NoError(t, mem.Remove("/s/snapshot.34"))
		out := mustAdd(t, mem, src, Options{})
		require.Len(t, out.Warnings, 1)
		require.Contains(t, out.Warnings[0], "does not go back to 0x34")
		require.Equal(t, proto.Zxid(0x100000005), out.Last)
		v := verify(t, mem)
		require.Empty(t, v.Problems)
		require.Equal(t, []proto.Zxid{0x34, 0x34, 0x100000003, 0x100000005},
			[]proto.Zxid{v.Ranges[0].From, v.Ranges[0].To, v.Ranges[1].From, v.Ranges[1].To})
	})
	t.Run("a snapshot at the end, and another history", func(t *testing.T) {
		mem, src := memFixture(t, "02-snapshot-and-log", "snapshot.34")
		mustAdd(t, mem, src, Options{})
		whole, _ := memFixture(t, "02-snapshot-and-log")
		behind := cutAfter(t, whole, "/s/log.1", 0x33)
		other := logHeader()
		_, err := wal.Scan(whole, "/s/log.1", func(r *wal.Record) error {
			payload := slices.Clone(r.Payload)
			if r.Zxid == 0x34 {
				payload[len(payload)-1]++ // of the digest
			}
			other = wal.AppendRecord(other, payload)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, mem.Remove("/s/snapshot.34"))
		put(t, mem, "/s/snapshot.0", get(t, whole, "/s/snapshot.0"))
		for _, log := range [][]byte{behind, other} {
			put(t, mem, "/s/log.1", log)
			require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), errDiverged)
		}
		require.ErrorIs(t, must.Err(add(t, mem, src, Options{Full: true})), errDiverged)

		put(t, mem, "/s/log.1", get(t, whole, "/s/log.1"))
		require.Empty(t, mustAdd(t, mem, src, Options{}).Added)
		put(t, mem, "/s/log.35", get(t, whole, "/s/log.35"))
		b := opened(t, mem, "/b")
		state := must.Do(b.reach(Target{}))(t)
		other34 := must.Do(b.reach(Target{}))(t)
		node := proto.CreateTxn{Path: proto.Text("/other"), ParentCVersion: -1}
		h := proto.TxnHeader{Zxid: 0x35, Type: proto.OpCreate}
		must.Do2(other34.State.Apply(node.AppendTo(h.AppendTo(nil)), nil, nil, false))(t)
		other34.State.EndSessions(0x34)
		put(t, mem, "/s/snapshot.34", snapshotOf(t, other34.State))
		require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), errDiverged)
		put(t, mem, "/s/snapshot.34", snapshotOf(t, state.State))
		require.NoError(t, whole.Flip("/s/log.1", 100, 1))
		put(t, mem, "/s/log.1", get(t, whole, "/s/log.1")) // is not needed any more
		require.Equal(t, proto.Zxid(0x3e), mustAdd(t, mem, src, Options{}).Last)
		require.Empty(t, verify(t, mem).Problems)
	})
	t.Run("a leader has sent a state, and nothing was written since", func(t *testing.T) {
		mem, src := memFixture(t, "02-snapshot-and-log")
		mustAdd(t, mem, src, Options{})
		other, _ := received(t)
		received := get(t, other, "/s/snapshot.50")

		kept, keptSrc := memFixture(t, "02-snapshot-and-log") // ZooKeeper keeps its old log
		mustAdd(t, kept, keptSrc, Options{})
		put(t, kept, "/s/snapshot.50", received)
		out := mustAdd(t, kept, keptSrc, Options{Limit: 0x4f})
		require.Empty(t, out.Added)
		out = mustAdd(t, kept, keptSrc, Options{})
		require.Len(t, out.Warnings, 1)
		require.Equal(t, proto.Zxid(0x50), out.Last)

		put(t, mem, "/s/snapshot.50", received)
		for _, name := range []string{"log.1", "log.35", "snapshot.0", "snapshot.34"} {
			require.NoError(t, mem.Remove("/s/"+name))
		}
		out = mustAdd(t, mem, src, Options{})
		require.Len(t, out.Warnings, 1)
		require.Contains(t, out.Warnings[0], "does not go back to 0x3e")
		require.Equal(t, proto.Zxid(0x50), out.Last)
		require.Empty(t, verify(t, mem).Problems)

		put(t, mem, "/s/snapshot.20", received) // a server that is behind
		require.NoError(t, mem.Remove("/s/snapshot.50"))
		put(t, mem, "/s/log.100000001", get(t, other, "/s/log.100000001"))
		mustAdd(t, mem, src, Options{})
		require.NoError(t, mem.Remove("/s/log.100000001"))
		require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), errDiverged)
	})
	t.Run("no snapshot", func(t *testing.T) {
		mem, src := memFixture(t, "01-log-only", "log.1")
		require.ErrorContains(t, must.Err(add(t, mem, src, Options{})), "no snapshot")
	})
	t.Run("the end of a fuzzy snapshot is missing", func(t *testing.T) {
		mem, src := memFixture(t, "12-fuzzy-recreate")
		put(t, mem, "/s/log.1", cutAfter(t, mem, "/s/log.1", 0x4))
		b := opened(t, mem, "/b")
		out, err := b.Add(src, Options{})
		if err == nil { // files of 3.8 do not say how far they reach
			require.Equal(t, Zxid(0x4), out.Added[0].Exact)
		} else {
			require.ErrorIs(t, err, rebuild.ErrGap)
		}
	})
}

// TestTargetInsideFuzzySnapshot asks for moments before the one at which the only snapshot is exact: there is nothing
// to restore, which is another answer than that of a log with a hole.
func TestTargetInsideFuzzySnapshot(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	mustAdd(t, mem, src, Options{})
	b := opened(t, mem, "/b")
	times := map[proto.Zxid]int64{}
	_, err := wal.Scan(mem, "/b/log.35", func(r *wal.Record) error {
		var h proto.TxnHeader
		require.NoError(t, h.ReadFrom(r.Payload))
		times[r.Zxid] = h.Time
		return nil
	})
	require.NoError(t, err)
	b.Manifest.Entries[0].Exact = 0x37 // as if txns up to there had come while it was taken
	to := Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}
	for name, target := range map[string]Target{
		"a time before all": {TimeMs: 1}, "a time in between": {TimeMs: times[0x36]},
		"a zxid in between": {Zxid: 0x36},
	} {
		_, err = b.Restore(to, target)
		require.ErrorIs(t, err, rebuild.ErrNoTarget, name)
		require.NotErrorIs(t, err, rebuild.ErrGap, name)
	}
	r := must.Do(b.Restore(to, Target{TimeMs: times[0x37]}))(t)
	require.GreaterOrEqual(t, r.Zxid, proto.Zxid(0x37))

	b.Manifest.Entries[0].Exact = 0x3f // beyond the log
	_, err = b.Restore(Destination{FS: mem, SnapDir: "/r2", LogDir: "/r2"}, Target{})
	require.ErrorIs(t, err, rebuild.ErrGap)
}

// received is a source that has logged txns up to 0x34, was then sent a state at 0x50 by a leader, and has logged an
// epoch more behind it: by the zxids alone its second log follows the first.
func received(t *testing.T) (*vfs.Mem, Source) {
	mem, src := memFixture(t, "02-snapshot-and-log", "snapshot.0", "log.1", "snapshot.34")
	state := datatree.NewState(datatree.Config{})
	_, err := wal.Scan(mem, "/s/log.1", func(r *wal.Record) error {
		_, _, err := state.Apply(r.Payload, nil, nil, false)
		return err
	})
	require.NoError(t, err)
	at := func(z proto.Zxid) []byte {
		h := proto.TxnHeader{ClientID: 1, Cxid: 1, Zxid: z, Time: 1, Type: proto.OpError}
		e := proto.ErrorTxn{Err: proto.ErrNoNode}
		return e.AppendTo(h.AppendTo(nil))
	}
	for z := proto.Zxid(0x35); z <= 0x50; z++ {
		must.Do2(state.Apply(at(z), nil, nil, false))(t)
	}
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: mem, Dir: "/s"}))(t)
	w := state.NewWalker()
	_, err = store.Write(0x50, walkerSource{w})
	w.Close()
	require.NoError(t, err)
	b := logHeader()
	for z := proto.Zxid(0x100000001); z <= 0x100000005; z++ {
		b = wal.AppendRecord(b, at(z))
	}
	put(t, mem, "/s/log.100000001", b)
	return mem, src
}

// check reports whether a target can be restored.
func check(b *Backup, target Target) error {
	_, err := b.reach(target)
	return err
}

// TestNothingIsRestoredOverAReceivedState: what a snapshot from a leader stands for is in no log, so that nothing
// older leads over it.
func TestNothingIsRestoredOverAReceivedState(t *testing.T) {
	mem, src := received(t)
	limited := Options{Limit: 0x34}
	out := mustAdd(t, mem, src, limited)
	require.Equal(t, proto.Zxid(0x34), out.Last)
	out = mustAdd(t, mem, src, Options{})
	require.Len(t, out.Warnings, 1, "it says what cannot be restored")
	require.Equal(t, proto.Zxid(0x100000005), out.Last)
	v := verify(t, mem)
	require.Empty(t, v.Problems)
	var ranges [][2]proto.Zxid
	for _, r := range v.Ranges {
		ranges = append(ranges, [2]proto.Zxid{r.From, r.To})
	}
	require.Equal(t, [][2]proto.Zxid{{0x34, 0x34}, {0x50, 0x100000005}}, ranges)

	b := opened(t, mem, "/b")
	require.NoError(t, check(b, Target{Zxid: 0x34}))
	require.NoError(t, check(b, Target{Zxid: 0x100000003}))
	require.Error(t, check(b, Target{Zxid: 0x40}))
	require.NoError(t, mem.Flip("/b/snapshot.50", 100, 1))
	require.ErrorIs(t, check(b, Target{Zxid: 0x100000003}), rebuild.ErrGap)
	require.ErrorIs(t, check(b, Target{}), rebuild.ErrGap)

	mem, src = received(t)
	require.NoError(t, mem.Flip("/s/snapshot.50", 100, 1))
	_, err := add(t, mem, src, Options{})
	require.ErrorIs(t, err, rebuild.ErrGap, "the newest state is damaged at the source")
	mustAdd(t, mem, src, limited)
}

// TestTornAndDamagedSources: a torn end is left out, damage is refused, a damaged newest snapshot is passed over.
func TestTornAndDamagedSources(t *testing.T) {
	for fixture, want := range map[string]proto.Zxid{
		"03-torn-tail-zeros": 0x3d, "04-torn-tail-truncated": 0x3d, "08-corrupt-newest-snapshot": 0x3e,
		"09-gzip": 0x40, "10-snappy": 0, "07-fuzzy-snapshot": 0x3e, "12-fuzzy-recreate": 0,
	} {
		mem, src := memFixture(t, fixture)
		out, err := add(t, mem, src, Options{})
		require.NoError(t, err, fixture)
		if want > 0 {
			require.Equal(t, want, out.Last, fixture)
		}
		v := verify(t, mem)
		require.Empty(t, v.Problems, fixture)
		require.Equal(t, out.Last, v.Ranges[0].To)
	}
	for _, fixture := range []string{"05-crc-mismatch-last-record", "06-crc-mismatch-middle-record"} {
		mem, src := memFixture(t, fixture)
		require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), wal.ErrCorrupt, fixture)
		require.Empty(t, opened(t, mem, "/b").Manifest.Entries)
	}
}

// TestSourceTornByACrash takes a block away from the end of the last log, as a crash may from a write that was never
// synced: what is before it is backed up. Below the end of the backup it is damage.
func TestSourceTornByACrash(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log", "log.1", "snapshot.0")
	b := get(t, mem, "/s/log.1")
	whole := slices.Clone(b)
	clear(b[2048:2560])
	put(t, mem, "/s/log.1", b)
	out := mustAdd(t, mem, src, Options{})
	require.Positive(t, out.Last)
	require.Less(t, out.Last, proto.Zxid(0x34))
	require.Empty(t, verify(t, mem).Problems)

	put(t, mem, "/s/log.1", whole) // it was written after all
	out = mustAdd(t, mem, src, Options{})
	require.Equal(t, proto.Zxid(0x34), out.Last)
	put(t, mem, "/s/log.1", b)
	require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), wal.ErrCorrupt)
}

// TestFlippedBits flips a bit of every file of a backup, in many places: Verify names the file, and what needs it is
// not restored.
func TestFlippedBits(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	mem, src := memFixture(t, "02-snapshot-and-log")
	put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x3e))
	mustAdd(t, mem, src, Options{})
	for _, name := range []string{"snapshot.34", "log.35", manifestName} {
		good := get(t, mem, "/b/"+name)
		for range 60 {
			at, bit := rng.Int64N(int64(len(good))), byte(1)<<rng.IntN(8)
			require.NoError(t, mem.Flip("/b/"+name, at, bit))
			b, err := Open(mem, "/b")
			if name == manifestName {
				require.ErrorIs(t, err, errManifest, "byte %d", at)
			} else {
				require.NoError(t, err)
				v := b.Verify()
				require.NotEmpty(t, v.Problems, "%s byte %d", name, at)
				require.ErrorContains(t, v.Problems[0], name)
				_, err = b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}, Target{})
				require.ErrorContains(t, err, name)
			}
			require.NoError(t, mem.Flip("/b/"+name, at, bit))
		}
	}
	require.ErrorIs(t, must.Err(mem.Stat("/r")), fs.ErrNotExist, "nothing was restored")
	require.NoError(t, mem.Remove("/b/log.35"))
	require.NotEmpty(t, verify(t, mem).Problems)
}

// TestCrash takes the power away at every change of a run that continues a backup. What is left is the backup before
// or after the run, and the next run completes it.
func TestCrash(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	start := func() (*vfs.Mem, Source) {
		mem, src := memFixture(t, "02-snapshot-and-log")
		whole := get(t, mem, "/s/log.35")
		put(t, mem, "/s/log.35", cutAfter(t, mem, "/s/log.35", 0x37))
		mustAdd(t, mem, src, Options{})
		put(t, mem, "/s/log.35", whole)
		return mem, src
	}
	crashed := errors.New("crash")
	points := 0
	for n := 0; ; n++ {
		mem, src := start()
		changes := 0
		mem.Hook(func(op vfs.Op) error {
			if op.Kind.Changes() {
				if changes++; changes > n {
					return crashed
				}
			}
			return nil
		})
		b := opened(t, mem, "/b")
		_, err := b.Add(src, Options{Full: true})
		if changes <= n {
			require.NoError(t, err)
			points = n
			break
		}
		for _, percent := range []int{0, 50, 100} {
			left := mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: percent})
			v := verify(t, left)
			require.Empty(t, v.Problems, "crash at change %d", n)
			require.Contains(t, []proto.Zxid{0x37, 0x3e}, v.Ranges[len(v.Ranges)-1].To)
			src := Source{FS: left, SnapDir: "/s", LogDir: "/s"}
			require.NoError(t, must.Err(add(t, left, src, Options{})), "crash at change %d", n)
			v = verify(t, left)
			require.Empty(t, v.Problems)
			require.Equal(t, proto.Zxid(0x3e), v.Ranges[len(v.Ranges)-1].To)
			names := must.Do(left.List("/b"))(t)
			for _, name := range names {
				require.False(t, strings.HasPrefix(name, tmpPrefix), name)
			}
		}
		require.Empty(t, mem.OpenFiles(), "crash at change %d", n)
	}
	require.Greater(t, points, 10)
}

// A full disk loses nothing and leaves nothing.
func TestFullDisk(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	mem.SetCapacity(mem.Used() + 4096)
	require.ErrorIs(t, must.Err(add(t, mem, src, Options{})), vfs.ErrNoSpace)
	mem.SetCapacity(0)
	mustAdd(t, mem, src, Options{})
	require.Empty(t, verify(t, mem).Problems)
}

// Two runs do not write into one backup.
func TestLocked(t *testing.T) {
	mem, src := memFixture(t, "11-tiny")
	b := opened(t, mem, "/b")
	lock := must.Do(b.begin())(t)
	require.ErrorIs(t, must.Err(b.Add(src, Options{})), vfs.ErrLocked)
	require.NoError(t, lock.Close())
}

// A run that has read the manifest before another run ended does not undo what that one has added.
func TestTwoRunsInAFolder(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	late := opened(t, mem, "/b")
	mustAdd(t, mem, src, Options{Limit: 0x37})
	later := opened(t, mem, "/b")
	require.ErrorIs(t, must.Err(late.Add(src, Options{})), ErrReplaced)
	mustAdd(t, mem, src, Options{Limit: 0x39})
	require.ErrorIs(t, must.Err(later.Prune(Retention{Count: 1})), ErrReplaced)
	require.Empty(t, verify(t, mem).Problems)

	b := opened(t, mem, "/b")
	require.Equal(t, proto.Zxid(0x39), b.Manifest.Last())
	must.Do(b.Add(src, Options{}))(t)
	require.NoError(t, must.Err(b.Prune(Retention{Count: 1})), "its own changes are no others")
}

func FuzzManifest(f *testing.F) {
	mem, src := memFixture(f, "02-snapshot-and-log")
	mustAdd(f, mem, src, Options{})
	f.Add(get(f, mem, "/b/"+manifestName))
	f.Add([]byte("{}\nsha256 ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err != nil {
			require.ErrorIs(t, err, errManifest)
			return
		}
		again := must.Do(m.encode())(t)
		require.Equal(t, m, must.Do(parseManifest(again))(t))
	})
}

// A manifest with a good checksum may still contradict itself.
func TestManifestRules(t *testing.T) {
	mem, src := memFixture(t, "02-snapshot-and-log")
	mustAdd(t, mem, src, Options{})
	b := opened(t, mem, "/b")
	for name, spoil := range map[string]func(m *Manifest){
		"format 2":       func(m *Manifest) { m.Format = 2 },
		"kind":           func(m *Manifest) { m.Entries[0].Kind = "x" },
		"no name":        func(m *Manifest) { m.Entries[0].File = "../snapshot.34" },
		"comes twice":    func(m *Manifest) { m.Entries = append(m.Entries, m.Entries[0]) },
		"no checksum":    func(m *Manifest) { m.Entries[1].SHA256 = "ab" },
		"do not fit":     func(m *Manifest) { m.Entries[1].First = 3 },
		"has txns":       func(m *Manifest) { m.Entries[1].Txns = 0 },
		"exact from":     func(m *Manifest) { m.Entries[0].Exact = 1 },
		"is no name":     func(m *Manifest) { m.Entries[1].File = "snapshot.35" },
		"are more than ": func(m *Manifest) { m.Entries = make([]Entry, entriesMax+1) },
	} {
		m := b.Manifest
		m.Entries = slices.Clone(m.Entries)
		spoil(&m)
		text := must.Do(m.encode())(t)
		_, err := parseManifest(text)
		require.ErrorIs(t, err, errManifest, name)
		require.ErrorContains(t, err, name)
	}
	require.ErrorContains(t, must.Err(parseManifest([]byte("{}"))), "does not end with a checksum")
}

// A restored history begins above every epoch that its backup, the old data, and the operator know.
func TestRestoredEpoch(t *testing.T) {
	for name, tt := range map[string]struct {
		source, old string // acceptedEpoch
		known, want int64
	}{
		"none is known": {want: 1}, "of the source": {source: "6", old: "5", known: 3, want: 7},
		"of the old data": {source: "3", old: "5", known: 4, want: 6},
		"of the operator": {source: "3", old: "5", known: 9, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			mem, src := memFixture(t, "02-snapshot-and-log")
			if tt.source != "" {
				put(t, mem, "/s/acceptedEpoch", []byte(tt.source))
			}
			mustAdd(t, mem, src, Options{})
			to := Destination{FS: mem, SnapDir: "/d/r", LogDir: "/d/r", Epoch: tt.known}
			if tt.old != "" {
				put(t, mem, "/d/r/acceptedEpoch", []byte(tt.old))
				to.Replace = true
			}
			b := opened(t, mem, "/b")
			r := must.Do(b.Restore(to, Target{Zxid: 0x38}))(t)
			require.Equal(t, proto.MakeZxid(tt.want, 1), r.First)
			require.Equal(t, proto.Zxid(0x38), r.Zxid)
			for _, name := range []string{"acceptedEpoch", "currentEpoch"} {
				require.Equal(t, fmt.Sprint(tt.want), string(get(t, mem, "/d/r/"+name)))
			}

			// A later promise alone is a reason to write the manifest.
			put(t, mem, "/s/currentEpoch", []byte("20"))
			mustAdd(t, mem, src, Options{})
			b = opened(t, mem, "/b")
			r = must.Do(b.Restore(Destination{FS: mem, SnapDir: "/e/r", LogDir: "/e/r"}, Target{}))(t)
			require.Equal(t, int64(21), r.First.Epoch())
			require.Empty(t, mem.OpenFiles())
		})
	}
	mem, src := memFixture(t, "11-tiny")
	mustAdd(t, mem, src, Options{})
	b := opened(t, mem, "/b")
	_, err := b.Restore(Destination{FS: mem, SnapDir: "/d/r", LogDir: "/d/r", Epoch: 0x7fffffff}, Target{})
	require.ErrorIs(t, err, datadir.ErrEpoch)
}
