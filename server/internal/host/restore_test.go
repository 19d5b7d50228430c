package host

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// A restore begins when the state has all txns of the log, so that a server whose disk has no room for the new state
// goes on behind them and gives no zxid twice.
func TestRestoreWaitsForTheState(t *testing.T) {
	fs := vfs.NewMem()
	s, _ := must.Do2(recovered(fs, meta.NewMem(1)))(t)
	defer s.release()
	m, a := s.member, newAlone(1, 0)
	m.core = a
	h := proto.TxnHeader{ClientID: 7, Cxid: 1, Zxid: 1, Type: proto.OpCreateSession}
	require.NoError(t, a.Propose(zab.Txn{Zxid: 1, Payload: proto.AppendInt32(h.AppendTo(nil), 1000)}))
	a.Persisted(a.Take().Persist[0].Seq)
	m.deliver(a.Take().Deliver)

	var image bytes.Buffer
	walker := datatree.NewState(datatree.Config{}).NewWalker()
	require.NoError(t, snapshot.WriteStream(&image, durable.WholeSource(walker)))
	walker.Close()
	re := &restoration{h: m, loader: datatree.NewLoader(datatree.Config{}), done: make(chan error, 1)}
	require.NoError(t, snapshot.ReadStream(&image, re.loader))
	fs.SetCapacity(fs.Used() + 1)
	re.begin()
	for range 2 {
		a.Take()
	}
	replace := func() {
		jobs, _ := m.journal.Jobs.Take(nil)
		m.journal.Do(jobs)
	}
	replace()
	m.applier.Come(true)
	replace()
	for _, e := range m.takeEvents() {
		e.call()
	}
	m.opening.then()
	require.ErrorIs(t, <-re.done, vfs.ErrNoSpace)
	require.EqualValues(t, 2, a.NextZxid())
	require.True(t, a.Serves())
}

// A restore that fails leaves a directory with which the server starts again, whatever the zxid of the snapshot.
func TestRestoreThatFailsLeavesEpochsThatAreCredible(t *testing.T) {
	fs, store := vfs.NewMem(), meta.NewMem(1)
	require.NoError(t, store.SetAccepted(5))
	require.NoError(t, store.SetCurrent(5, ""))
	s, _ := must.Do2(recovered(fs, store))(t)
	defer s.release()
	fs.SetCapacity(fs.Used() + 1)
	state := datatree.NewState(datatree.Config{})
	require.Error(t, s.member.journal.BeginAnew(state, datadir.Origin{Last: proto.MakeZxid(6+meta.EpochLeap, 1)}))
	must.Do(store.Again().Reconcile(0))(t)
}
