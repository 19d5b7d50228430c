package watch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// watchedTree is a State with the watches on it, and the events in their order.
type watchedTree struct {
	t      *testing.T
	state  *datatree.State
	zxid   proto.Zxid
	w      *Registry
	events []string
}

func (x *watchedTree) Changed(c datatree.Change) {
	x.w.Fire(c, func(id WatcherID, t proto.EventType, path []byte, _ datatree.ACLID) {
		x.events = append(x.events, fmt.Sprintf("%d: %v %s", id, t, path))
	})
}

// txn is the next txn of a session.
func (x *watchedTree) txn(session proto.SessionID, op proto.OpCode, body interface{ AppendTo([]byte) []byte }) []byte {
	x.zxid++
	h := proto.TxnHeader{ClientID: session, Zxid: x.zxid, Type: op}
	return body.AppendTo(h.AppendTo(nil))
}

func (x *watchedTree) create(session proto.SessionID, path string) {
	txn := &proto.CreateTxn{Path: proto.Text(path), Ephemeral: session != 0, ParentCVersion: int32(x.zxid)}
	_, applied := must.Do2(x.state.Apply(x.txn(session, proto.OpCreate, txn), nil, nil, false))(x.t)
	require.Equal(x.t, proto.OK, applied.Err)
}

// TestEndingTellsEveryWatch compares the events of a session that ends at once with those of one that ends in steps
// between which watches begin.
func TestEndingTellsEveryWatch(t *testing.T) {
	r := rand.New(rand.NewPCG(newSeed(t), 2))
	told := 0
	for range 200 {
		trees := [2]*watchedTree{}
		parents, znodes := 1+r.IntN(4), r.IntN(30)
		paths := []string{"/", "/a"}
		var end proto.CloseSessionTxn
		for i := range trees {
			trees[i] = &watchedTree{t: t, state: datatree.NewState(datatree.Config{}), w: New(0)}
			trees[i].create(0, "/a")
		}
		for i := range parents {
			paths = append(paths, fmt.Sprintf("/a/%d", i))
			trees[0].create(0, paths[len(paths)-1])
			trees[1].create(0, paths[len(paths)-1])
		}
		for i := range znodes {
			path := fmt.Sprintf("/a/%d/%d", r.IntN(parents), i)
			owner := proto.SessionID(1 + r.IntN(2))
			trees[0].create(owner, path)
			trees[1].create(owner, path)
			paths = append(paths, path)
			if owner == 1 && r.IntN(3) == 0 {
				end.Paths2Delete = append(end.Paths2Delete, proto.Text(path))
			}
		}
		watch := func() {
			id, kind, path := WatcherID(r.IntN(5)), Kind(r.IntN(3)), []byte(paths[r.IntN(len(paths))])
			if r.IntN(8) == 0 {
				kind = Persistent + Kind(r.IntN(2))
			}
			require.True(t, trees[0].w.Add(id, kind, path))
			require.True(t, trees[1].w.Add(id, kind, path))
		}
		for range r.IntN(10) {
			watch()
		}
		e := trees[1].state.NewEnding(trees[1].txn(1, proto.OpCloseSession, &end), 1)
		if e == nil {
			continue
		}
		e.EachSlice(1)
		trees[1].w.Follow(e.Late)
		late := r.IntN(2) == 0
		require.True(t, e.Prepare(trees[1].w, func() {
			if late && r.IntN(10) == 0 {
				watch()
			}
		}))
		trees[1].w.Follow(nil)
		e.Apply(trees[1])
		must.Do2(trees[0].state.Apply(trees[0].txn(1, proto.OpCloseSession, &end), trees[0], nil, false))(t)
		require.Equal(t, trees[0].events, trees[1].events)
		told += len(trees[1].events)
		_, _, left := trees[0].w.Count()
		_, _, other := trees[1].w.Count()
		require.Equal(t, left, other)
		require.Equal(t, trees[0].state.Digest(), trees[1].state.Digest())
	}
	require.Greater(t, told, 200)
}
