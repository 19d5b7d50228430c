package meta

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server may have meta.db open, and nothing in the directory changes.
func TestPeek(t *testing.T) {
	dir := t.TempDir()
	f, err := Peek(dir)
	require.NoError(t, err)
	require.Equal(t, Facts{}, f)

	writeFile(t, dir, "acceptedEpoch", 4)
	writeFile(t, dir, "currentEpoch", 3)
	f, err = Peek(dir)
	require.NoError(t, err)
	require.Equal(t, Facts{Epochs: Epochs{Accepted: 4, Current: 3}}, f)
	require.Equal(t, []string{"acceptedEpoch", "currentEpoch"}, names(t, dir))

	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.NoError(t, db.SetAccepted(6))
	require.NoError(t, db.SetCurrent(5, "where from"))
	require.NoError(t, db.SetBlank(true))
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	require.NoError(t, err)
	f, err = Peek(dir)
	require.NoError(t, err)
	require.Equal(t, Facts{HasDB: true, Epochs: Epochs{Accepted: 6, Current: 5}, Identity: db.Identity(),
		Lineage: "where from", Blank: true}, f)
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// A server in Java may have gone on: the larger epoch counts, as at a start.
func TestPeekTakesTheLargerEpoch(t *testing.T) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir, ServerID: 3, Member: true})
	require.NoError(t, db.SetAccepted(6))
	writeFile(t, dir, "acceptedEpoch", 9)
	writeFile(t, dir, "currentEpoch", 8)
	f, err := Peek(dir)
	require.NoError(t, err)
	require.Equal(t, Epochs{Accepted: 9, Current: 8}, f.Epochs)
}

func TestPeekRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte("no database"), 0o600))
	_, err := Peek(dir)
	require.ErrorIs(t, err, ErrDamaged)

	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "currentEpoch"), []byte("x"), 0o600))
	_, err = Peek(dir)
	require.ErrorIs(t, err, ErrEpoch)
}
