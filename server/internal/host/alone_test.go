package host

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// TestAloneUsesMemoryAgain lets a standalone server agree on txns in portions of all sizes, and looks at the txns of
// each write until the write is durable, and at each delivered txn until the next Take.
func TestAloneUsesMemoryAgain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	a := newAlone(1, 100)
	var pending []zab.Persist // not durable
	proposed, persisted, delivered := proto.Zxid(100), proto.Zxid(100), proto.Zxid(100)
	largest := 0
	for range 20_000 {
		txns := make([]zab.Txn, rnd.IntN(40))
		for i := range txns {
			proposed++
			txns[i] = zab.Txn{Zxid: proposed, Payload: []byte{byte(proposed)}}
		}
		if len(txns) > 0 {
			require.NoError(t, a.Propose(txns...))
		}
		out := a.Take()
		for _, txn := range out.Deliver {
			delivered++
			require.Equal(t, delivered, txn.Zxid)
			require.Equal(t, []byte{byte(delivered)}, txn.Payload)
		}
		require.Equal(t, persisted, delivered, "all durable txns are delivered by one Take")
		pending = append(pending, out.Persist...)
		largest = max(largest, int(proposed-delivered))
		for n := rnd.IntN(len(pending) + 1); n > 0; n-- {
			for _, txn := range pending[0].Append {
				persisted++
				require.Equal(t, persisted, txn.Zxid)
				require.Equal(t, []byte{byte(persisted)}, txn.Payload)
			}
			a.Persisted(pending[0].Seq)
			pending = pending[1:]
		}
	}
	require.Less(t, len(a.txns.all), 4*largest, "the array grows with what waits, not with all txns")
}

// Nothing is allocated for txns, wherever they lie in the ring.
func TestAloneAllocatesNothing(t *testing.T) {
	a := newAlone(1, 100)
	txns := make([]zab.Txn, 37)
	one := func() {
		for i := range txns {
			txns[i].Zxid = a.NextZxid() + proto.Zxid(i)
		}
		require.NoError(t, a.Propose(txns...))
		for range 2 {
			for _, p := range a.Take().Persist {
				a.Persisted(p.Seq)
			}
		}
	}
	lap := func() {
		for range 100 {
			one()
		}
	}
	lap()
	require.Zero(t, testing.AllocsPerRun(10, lap))
}
