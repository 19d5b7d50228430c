package meta

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// A server may have meta.db open, and nothing in the directory changes.
func TestPeek(t *testing.T) {
	dir := t.TempDir()
	f := must.Do(Peek(vfs.OS(), dir))(t)
	require.Equal(t, Facts{Identity: Identity{ServerID: NoServer}}, f)

	writeFile(t, dir, "acceptedEpoch", 4)
	writeFile(t, dir, "currentEpoch", 3)
	f = must.Do(Peek(vfs.OS(), dir))(t)
	require.Equal(t, Facts{Epochs: Epochs{Accepted: 4, Current: 3}, Identity: Identity{ServerID: NoServer}}, f)
	require.Equal(t, []string{"acceptedEpoch", "currentEpoch"}, names(t, dir))

	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.NoError(t, db.SetAccepted(6))
	require.NoError(t, db.SetCurrent(5, "where from"))
	require.NoError(t, db.SetBlank(true))
	before := must.ReadFile(t, filepath.Join(dir, FileName))
	f = must.Do(Peek(vfs.OS(), dir))(t)
	require.Equal(t, Facts{HasDB: true, Epochs: Epochs{Accepted: 6, Current: 5}, Identity: db.Identity(),
		Lineage: "where from", Blank: true, Catalogue: Catalogue{}}, f)
	require.Equal(t, before, must.ReadFile(t, filepath.Join(dir, FileName)))
}

// A server in Java may have gone on: the larger epoch counts, as at a start.
func TestPeekTakesTheLargerEpoch(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.NoError(t, db.SetAccepted(6))
	writeFile(t, dir, "acceptedEpoch", 9)
	writeFile(t, dir, "currentEpoch", 8)
	require.Equal(t, Epochs{Accepted: 9, Current: 8}, must.Do(Peek(vfs.OS(), dir))(t).Epochs)
}

func TestPeekRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte("no database"), 0o600))
	require.ErrorIs(t, must.Err(Peek(vfs.OS(), dir)), ErrDamaged)

	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "currentEpoch"), []byte("x"), 0o600))
	require.ErrorIs(t, must.Err(Peek(vfs.OS(), dir)), ErrEpoch)

	// Each of the two counts although the other is damaged.
	writeFile(t, dir, "currentEpoch", 4)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte("no database"), 0o600))
	f, err := Peek(vfs.OS(), dir)
	require.ErrorIs(t, err, ErrDamaged)
	require.Equal(t, Epochs{Current: 4}, f.Epochs)
}

// A directory is begun on any filesystem, and any server may open it.
func TestBegin(t *testing.T) {
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/d"))
	require.NoError(t, Begin(mem, "/d", 7, "where from"))
	f := must.Do(Peek(mem.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{}), "/d"))(t)
	require.True(t, f.HasDB)
	require.Equal(t, Epochs{Accepted: 7, Current: 7}, f.Epochs)
	require.Equal(t, "where from", f.Lineage)

	dir := t.TempDir()
	require.NoError(t, Begin(vfs.OS(), dir, 7, "where from"))
	require.Equal(t, []string{"acceptedEpoch", "currentEpoch", FileName}, names(t, dir))
	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.Equal(t, proto.ServerID(3), db.Identity().ServerID)
	require.Equal(t, Epochs{Accepted: 7, Current: 7}, db.Epochs())
	require.Equal(t, "where from", db.Lineage())
	require.False(t, db.Blank())
}

// The catalogue is that of the server, and the directory its own, until ZooKeeper raises an epoch.
func TestPeekReadsTheCatalogue(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.NoError(t, db.SetAccepted(1))
	require.NoError(t, db.PutSnapshot("snapshot.5", 5, 100, 7))
	f := must.Do(Peek(vfs.OS(), dir))(t)
	require.True(t, f.Own)
	size, sum, ok := f.Catalogue.Snapshot("snapshot.5")
	require.Equal(t, []any{int64(100), uint32(7), true}, []any{size, sum, ok})
	_, _, ok = f.Catalogue.Snapshot("snapshot.6")
	require.False(t, ok)
	zxid, ok := f.Catalogue.SnapshotOf(100, 7)
	require.Equal(t, []any{proto.Zxid(5), true}, []any{zxid, ok})

	writeFile(t, dir, "acceptedEpoch", 9)
	f = must.Do(Peek(vfs.OS(), dir))(t)
	require.False(t, f.Own)
}
