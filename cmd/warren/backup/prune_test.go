package backup

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// day is the beginning of a day of the backups of these tests.
func day(n int) time.Time { return time.UnixMilli(0).UTC().AddDate(0, 0, n) }

// addDays adds three snapshots on three days, with txns between them: at 0, at 0x34, and at 0x38 one that our own
// code writes. The last txn is 0x3e.
func addDays(t *testing.T, open func() *Backup, mem *vfs.Mem) {
	t.Helper()
	later, _ := memFixture(t, "02-snapshot-and-log")
	src := Source{FS: mem, SnapDir: "/days", LogDir: "/days"}
	for n, files := range [][]string{{"snapshot.0", "log.1"}, {"snapshot.34", "log.35"}} {
		for _, name := range files {
			put(t, mem, "/days/"+name, get(t, later, "/s/"+name))
		}
		_, err := open().Add(src,
			Options{FullEvery: 24 * time.Hour, Limit: proto.Zxid(0x38), Now: func() time.Time { return day(n) }})
		require.NoError(t, err)
	}
	b := open()
	state := must.Do(b.reach(Target{Zxid: 0x38}))(t)
	put(t, mem, "/days/snapshot.38", snapshotOf(t, state.State))
	must.Do(b.Add(src, Options{FullEvery: 24 * time.Hour, Now: func() time.Time { return day(2) }}))(t)
	_, err := open().Add(src,
		Options{FullEvery: 24 * time.Hour, Now: func() time.Time { return day(2).Add(time.Hour) }})
	require.NoError(t, err)
}

// snapshotOf is the file of a snapshot of a state.
func snapshotOf(t *testing.T, state *datatree.State) []byte {
	t.Helper()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/w"))
	store := must.Do(snapshot.NewStore(snapshot.Options{FS: mem, Dir: "/w"}))(t)
	w := state.NewWalker()
	defer w.Close()
	m := must.Do(store.Write(state.LastZxid(), walkerSource{w}))(t)
	return get(t, mem, "/w/"+m.Name)
}

// TestPrune keeps by number and by age, in a folder and in a bucket. What stays can be restored, what does not is
// gone.
func TestPrune(t *testing.T) {
	for name, tt := range map[string]struct {
		rules Retention
		now   time.Time
		first proto.Zxid // snapshot that stays
	}{
		"one":                               {Retention{Count: 1}, day(2), 0x38},
		"two":                               {Retention{Count: 2}, day(2), 0x34},
		"three":                             {Retention{Count: 3}, day(2), 0},
		"more than there are":               {Retention{Count: 9}, day(2), 0},
		"a moment before the last snapshot": {Retention{Age: 24 * time.Hour}, day(2).Add(time.Hour), 0x34},
		"the number keeps more":             {Retention{Count: 3, Age: time.Hour}, day(9), 0},
		"the age keeps more":                {Retention{Count: 1, Age: 240 * time.Hour}, day(9), 0},
		"all are old":                       {Retention{Age: time.Hour}, day(900), 0x38},
		"a clock that is behind":            {Retention{Age: time.Hour}, day(-900), 0},
	} {
		for _, where := range []string{"folder", "bucket"} {
			t.Run(name+" in a "+where, func(t *testing.T) {
				mem, store := vfs.NewMem(), newBucket()
				open := func() *Backup {
					if where == "bucket" {
						return mustOpen(t, store, mem, Keys{})
					}
					b := opened(t, mem, "/b")
					return b
				}
				addDays(t, open, mem)
				before := open()
				require.Len(t, before.Verify().Ranges, 3)
				tt.rules.Now = func() time.Time { return tt.now }
				p := must.Do(open().Prune(tt.rules))(t)
				require.Empty(t, p.Strays)
				after := open()
				require.Len(t, after.Manifest.Entries, len(before.Manifest.Entries)-len(p.Removed))
				v := after.Verify()
				require.Empty(t, v.Problems)
				require.Equal(t, tt.first, v.Ranges[0].From)
				require.Len(t, must.Do(after.store.list())(t), len(after.Manifest.Entries))
				for _, z := range []proto.Zxid{tt.first, 0x3a, 0x3e} {
					require.NoError(t, check(after, Target{Zxid: max(z, 1)}), "%v", z)
				}
				if tt.first > 0 {
					require.Error(t, check(after, Target{Zxid: tt.first - 1}))
				}
			})
		}
	}
}

// TestPruneKeepsWhatIsGood removes nothing if what would stay is damaged, in a bucket also without a key.
func TestPruneKeepsWhatIsGood(t *testing.T) {
	_, public := newKeys(t)
	for name, keys := range map[string]Keys{"in the clear": {}, "encrypted": public} {
		t.Run(name, func(t *testing.T) {
			mem, store := vfs.NewMem(), newBucket()
			both := keys
			if keys.seals() {
				both, keys = newKeys(t)
			}
			addDays(t, func() *Backup { return mustOpen(t, store, mem, both) }, mem)
			good := maps.Clone(store.objects)
			for _, spoilt := range []string{"snapshot.38.", "log.39."} {
				store.objects = maps.Clone(good)
				object := store.named(t, spoilt)
				store.objects[object] = append([]byte{1}, good[object][1:]...)
				_, err := mustOpen(t, store, mem, keys).Prune(Retention{Count: 1})
				require.ErrorIs(t, err, errNothingGood, spoilt)
				require.Len(t, store.objects, len(good))
				require.Equal(t, good[manifestName], store.objects[manifestName])
			}
			store.objects = maps.Clone(good)
			p := must.Do(mustOpen(t, store, mem, keys).Prune(Retention{Count: 1}))(t)
			require.NotEmpty(t, p.Removed)
			require.Empty(t, mustOpen(t, store, mem, both).Verify().Problems)
		})
	}
}

// TestInterruptedPrune fails each request once. The backup is whole, and what is too much is a stray, which is
// removed when it is old.
func TestInterruptedPrune(t *testing.T) {
	failed := errors.New("no")
	for n := range 3 {
		mem, store := vfs.NewMem(), newBucket()
		open := func() *Backup { return mustOpen(t, store, mem, Keys{}) }
		addDays(t, open, mem)
		asked := 0
		store.fail = func(op, name string) error {
			if asked++; asked > n {
				return failed
			}
			return nil
		}
		require.ErrorIs(t, must.Err(open().Prune(Retention{Count: 1})), failed)
		store.fail = nil
		require.Empty(t, open().Verify().Problems)
		store.objects["manifest.json.old"], store.objects["sub/log.1.00000000000000000000000000000000"] = nil, nil
		p := must.Do(open().Prune(Retention{Count: 1}))(t)
		require.Equal(t, n > 0, len(p.Strays) > 0, "%d", n)
		gone := must.Do(open().RemoveStrays())(t)
		require.Empty(t, gone, "a run that goes on may be about to name them")
		for name := range store.changed {
			store.changed[name] = time.Now().Add(-2 * recent)
		}
		gone = must.Do(open().RemoveStrays())(t)
		require.Len(t, gone, len(p.Strays))
		require.Contains(t, store.objects, "manifest.json.old", "what is not ours stays")
		require.Contains(t, store.objects, "sub/log.1.00000000000000000000000000000000")
		require.Empty(t, open().Verify().Problems)
	}
}
