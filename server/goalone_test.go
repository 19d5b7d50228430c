package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// The mark of an epoch does not cover txns that a standalone server adds to the epoch. Another server with the same
// mark must be asked for a checksum again.
func TestStandaloneServerTakesTheMarksFromItsEpochs(t *testing.T) {
	fs, epochs := vfs.NewMem(), meta.NewMem(1)
	run := func(restores int) *zab.Lineage {
		s := started(t, memConfig(), Options{FS: fs, Meta: epochs})
		for range restores { // each begins another epoch
			must.Do(s.ops.live.Restore(bytes.NewReader(orderBytes(t, s))))(t)
		}
		c := dialWire(t, s, wire.Options{})
		c.MustCreate(t, "/x-", nil, proto.ModePersistentSequential)
		s.Stop()
		epochs.Crash() // what was closed can be used again
		if epochs.Lineage() == "" {
			return nil
		}
		l := must.Do(zab.ParseLineage([]byte(epochs.Lineage())))(t)
		return l
	}
	require.Nil(t, run(0), "a server that was always alone has none")
	require.Len(t, run(2).Reigns, 1)

	before := zab.Lineage{Ensemble: 7, Final: true, Settled: proto.MakeZxid(2, 1), Reigns: []zab.Reign{
		{Epoch: 1, Leader: 2, Mark: 5}, {Epoch: 2, Leader: 3, Mark: 6, Base: proto.MakeZxid(1, 1)},
		{Epoch: 3, Leader: 1, Mark: 7, Base: proto.MakeZxid(2, 1)}}}
	require.NoError(t, epochs.SetLineage(string(before.AppendTo(nil))))
	after := run(0) // its txns have epoch 2
	require.Equal(t, before.Reigns[:1], after.Reigns[:1])
	require.Equal(t, []zab.Reign{{Epoch: 2, Leader: -1}, {Epoch: 3, Leader: -1}}, after.Reigns[1:])
	require.Equal(t, before.Settled, after.Settled)
	require.Equal(t, before.Ensemble, after.Ensemble)
}
