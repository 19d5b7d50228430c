package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

func put(t *testing.T, fsys vfs.FS, name, text string) {
	t.Helper()
	require.NoError(t, fsys.MkdirAll(filepath.Dir(name)))
	f := must.Do(fsys.Create(name))(t)
	_, err := f.Write([]byte(text))
	require.NoError(t, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir(filepath.Dir(name))))
}

// A folder is refused from the mark on until the change has ended, and the mark says what to do.
func TestChange(t *testing.T) {
	mem := vfs.NewMem()
	put(t, mem, "/d/version-2/snapshot.0", "old")
	put(t, mem, "/l/version-2/tmp.x", "nothing that counts")
	folders := []string{"/d/version-2", "/l/version-2"}
	c := must.Do(Begin(mem, folders...))(t)
	_, err := Begin(mem, "/l/version-2")
	require.ErrorIs(t, err, vfs.ErrLocked)
	require.ErrorContains(t, err, "stop the server first")
	require.NoError(t, Check(mem, folders...))
	require.NoError(t, c.Mark("a test", "do nothing"))
	for _, folder := range folders {
		err := Check(mem, folder)
		var unfinished *Unfinished
		require.ErrorAs(t, err, &unfinished)
		require.Equal(t, "a test", unfinished.Command)
		require.ErrorContains(t, err, "a test was interrupted, and what it has left must not be served: do nothing")
	}
	require.Equal(t, folders[:1], must.Do(c.SetAside(".old"))(t))
	require.ErrorIs(t, must.Err(mem.Stat("/l/version-2")), os.ErrNotExist, "a folder without data is removed")
	built := must.Do(Build(mem, "/d/version-2"))(t)
	put(t, mem, built+"/snapshot.1", "new")
	require.NoError(t, c.Place(built, "/d/version-2"))
	require.Error(t, Check(mem, folders...))
	require.NoError(t, c.Finish())
	require.NoError(t, Check(mem, folders...))
	require.Empty(t, mem.OpenFiles())
	require.Equal(t, []string{"version-2", "version-2.old"}, must.Do(mem.List("/d"))(t))
}

// What goes wrong in the middle is taken back, and marks that were there before stay.
func TestAbandon(t *testing.T) {
	for name, marked := range map[string]bool{"first": false, "again": true} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			put(t, mem, "/d/version-2/snapshot.0", "old")
			put(t, mem, "/l/version-2/log.1", "old")
			if marked {
				put(t, mem, "/d/"+MarkFile, "an earlier one\ndo it")
			}
			c := must.Do(Begin(mem, "/d/version-2", "/l/version-2"))(t)
			require.NoError(t, c.Mark("a test", "do nothing"))
			cause := errors.New("no more renames")
			mem.FailNth(vfs.OpRename, 1, cause)
			require.ErrorIs(t, must.Err(c.SetAside(".old")), cause)
			require.Equal(t, cause, c.Abandon(cause).(interface{ Unwrap() []error }).Unwrap()[0])
			for _, file := range []string{"/d/version-2/snapshot.0", "/l/version-2/log.1"} {
				must.Do(mem.Stat(file))(t)
			}
			require.Equal(t, marked, Check(mem, "/d/version-2") != nil)
			require.Empty(t, mem.OpenFiles())
		})
	}
}

func TestHistory(t *testing.T) {
	origin := Origin{Ensemble: 7, Last: proto.MakeZxid(4, 9), Digest: -5}
	at := func(known int64, o Origin) (History, *zab.Lineage) {
		h := must.Do(After(known, o))(t)
		l := must.Do(zab.ParseLineage([]byte(h.Lineage)))(t)
		return h, l
	}
	h, l := at(6, origin)
	require.Equal(t, proto.MakeZxid(7, 1), h.First)
	again, _ := at(6, origin)
	require.Equal(t, h, again, "every server makes the same")
	other := origin
	other.Digest++
	_, stranger := at(6, other)
	require.NotNil(t, l.Differs(stranger))
	_, later := at(9, origin)
	require.Nil(t, l.Differs(later), "servers whose directories knew other epochs belong together")

	// What was served since is missing in the later one.
	served := *l
	served.Reigns = append(served.Reigns, zab.Reign{Epoch: 8, Leader: 1, Mark: 3, Base: h.First})
	served.Settled = proto.MakeZxid(8, 5)
	require.NotNil(t, served.Differs(later))
	require.Nil(t, served.Differs(l), "the same, further on")

	// The old history, identified or not, has what the new one has left behind.
	old := &zab.Lineage{Ensemble: 7, Final: true, Settled: proto.MakeZxid(4, 12),
		Reigns: []zab.Reign{{Epoch: 4, Leader: 2, Mark: 1, Base: proto.MakeZxid(3, 1)}}}
	require.NotNil(t, old.Differs(l))
	old.Ensemble, old.Final = 0, false
	require.NotNil(t, old.Differs(l))

	for known, origin := range map[int64]Origin{-1: {}, 3: origin, epochMax: {}, epochMax - 1: {}} {
		require.ErrorIs(t, must.Err(After(known, origin)), ErrEpoch, "%d", known)
	}
}

// Every trace of an epoch counts, also in what was set aside.
func TestEpoch(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, mem *vfs.Mem){
		"acceptedEpoch": func(t *testing.T, mem *vfs.Mem) { put(t, mem, "/d/version-2/acceptedEpoch", "5") },
		"currentEpoch":  func(t *testing.T, mem *vfs.Mem) { put(t, mem, "/d/version-2/currentEpoch", "5") },
		"meta.db":       func(t *testing.T, mem *vfs.Mem) { begun(t, mem, "/d/version-2") },
		"snapshot": func(t *testing.T, mem *vfs.Mem) {
			put(t, mem, "/d/version-2/snapshot.500000001", "damaged")
		},
		"log": func(t *testing.T, mem *vfs.Mem) {
			put(t, mem, "/l/version-2/log.500000001", "damaged")
		},
		"set aside": func(t *testing.T, mem *vfs.Mem) {
			put(t, mem, "/d/version-2.before-x/acceptedEpoch", "5")
		},
		"beside a damaged one": func(t *testing.T, mem *vfs.Mem) {
			damaged(t, mem, "meta.db")
			begun(t, mem, "/d/version-2.x")
		},
		"what was built is built": func(t *testing.T, mem *vfs.Mem) {
			begun(t, mem, "/d/version-2.x")
			put(t, mem, "/d/version-2.new/acceptedEpoch", "9")
		},
		"damaged epoch file": func(t *testing.T, mem *vfs.Mem) {
			damaged(t, mem, "currentEpoch")
			put(t, mem, "/d/version-2/snapshot.500000001", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			put(t, mem, "/d/version-2/acceptedEpoch", "1")
			make(t, mem)
			require.Equal(t, int64(5), must.Do(Epoch(mem, "/d/version-2", "/l/version-2"))(t))
		})
	}
	require.Zero(t, must.Do(Epoch(vfs.NewMem(), "/d/version-2"))(t))
}

func begun(t *testing.T, mem *vfs.Mem, folder string) {
	require.NoError(t, mem.MkdirAll(folder))
	require.NoError(t, meta.Begin(mem, folder, 5, "x"))
	for _, name := range []string{"acceptedEpoch", "currentEpoch"} {
		require.NoError(t, mem.Remove(filepath.Join(folder, name)))
	}
}

func damaged(t *testing.T, mem *vfs.Mem, name string) {
	put(t, mem, "/d/version-2/"+name, "no number and no database")
}
