package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// directoryOf makes the data directory of a server, with a lineage in meta.db unless it is nil.
func directoryOf(t *testing.T, lineage *zab.Lineage) (dataDir string) {
	t.Helper()
	dataDir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dataDir, env.Format), 0o755))
	if lineage != nil {
		db := must.Do(meta.Open(meta.Options{Dir: filepath.Join(dataDir, env.Format), ServerID: 3, Member: true}))(t)
		require.NoError(t, db.SetAccepted(5))
		require.NoError(t, db.SetCurrent(4, durable.Encoded(lineage)))
		require.NoError(t, db.Close())
	}
	return dataDir
}

func TestProvenance(t *testing.T) {
	lineage := &zab.Lineage{Ensemble: 0xabc, Final: true, Settled: proto.MakeZxid(4, 7),
		Reigns: []zab.Reign{{Epoch: 3, Leader: 2, Mark: 8},
			{Epoch: 4, Leader: 1, Mark: 9, Base: proto.MakeZxid(3, 5)}}}
	p := must.Do(ReadProvenance(vfs.OS(), directoryOf(t, lineage), ""))(t)
	require.EqualValues(t, 3, p.ServerID)
	require.Len(t, p.Instance, 32)
	require.EqualValues(t, 5, p.Accepted)
	require.EqualValues(t, 4, p.Current)
	require.Equal(t, lineage.String(), p.History())

	other := *lineage
	other.Reigns = []zab.Reign{lineage.Reigns[0], {Epoch: 4, Leader: 3, Mark: 10, Base: proto.MakeZxid(3, 5)}}
	q := must.Do(ReadProvenance(vfs.OS(), directoryOf(t, &other), ""))(t)
	require.Equal(t, "epoch 4, led by 3, is not epoch 4, led by 1", p.Differs(q))
	require.Empty(t, p.Differs(p))
}

// A restored directory has no meta.db: its snapshot says where it comes from.
func TestProvenanceOfASnapshot(t *testing.T) {
	dir := directoryOf(t, nil)
	store, err := snapshot.NewStore(snapshot.Options{FS: vfs.OS(), Dir: filepath.Join(dir, env.Format),
		Compression: snapshot.Gzip, Ensemble: func() uint64 { return 0xabc }})
	require.NoError(t, err)
	state := datatree.NewState(datatree.Config{})
	state.EndSessions(7)
	w := state.NewWalker()
	defer w.Close()
	m := must.Do(store.Write(7, durable.WholeSource(w)))(t)
	newest := filepath.Join(dir, env.Format, m.Name)
	p := must.Do(ReadProvenance(vfs.OS(), dir, newest))(t)
	require.Contains(t, p.History(), "ensemble 0000000000000abc, no epoch")

	foreign := must.Do(ReadProvenance(vfs.OS(), directoryOf(t, &zab.Lineage{Ensemble: 0xdef, Final: true}), ""))(t)
	require.Equal(t, "ensemble 0000000000000def is not ensemble 0000000000000abc", p.Differs(foreign))

	require.NoError(t, os.WriteFile(newest, []byte("no snapshot"), 0o644))
	require.ErrorIs(t, must.Err(ReadProvenance(vfs.OS(), dir, newest)), snapshot.ErrCorrupt)
}
