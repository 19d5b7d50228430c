package zab

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// The window against a plain slice that is searched from end to end; and what was handed out never changes.
func TestWindowAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	var w window
	var all []Txn // the model: every txn that the window still has
	before := proto.Zxid(0)
	type handed struct{ got, want []Txn }
	var out []handed
	for range 20_000 {
		last := before
		if len(all) > 0 {
			last = all[len(all)-1].Zxid
		}
		switch rng.IntN(10) {
		case 0, 1, 2, 3, 4:
			z := last + 1
			if rng.IntN(8) == 0 || last.Counter() == 0 {
				z = proto.MakeZxid(last.Epoch()+1+int64(rng.IntN(2)), 1)
			}
			txn := Txn{z, make([]byte, rng.IntN(5))}
			w.add(txn)
			all = append(all, txn)
		case 5:
			z := last - proto.Zxid(rng.IntN(6))
			if len(all) > 0 && rng.IntN(2) == 0 {
				z = all[rng.IntN(len(all))].Zxid
			}
			if z < before {
				continue
			}
			w.cut(z)
			all = slices.DeleteFunc(slices.Clone(all), func(t Txn) bool { return t.Zxid > z })
		case 6:
			limit, keep := rng.IntN(30), last
			if len(all) > 0 && rng.IntN(2) == 0 {
				keep = all[rng.IntN(len(all))].Zxid
			}
			w.trim(limit, 1<<20, keep)
			for len(all) > limit && all[0].Zxid <= keep {
				before = all[0].Zxid
				all = all[1:]
			}
		default:
			after, upTo := last-proto.Zxid(rng.IntN(9)), last-proto.Zxid(rng.IntN(9))
			var want []Txn
			for _, txn := range all {
				if txn.Zxid > after && txn.Zxid <= upTo {
					want = append(want, txn)
				}
			}
			got := w.between(after, upTo)
			require.Equal(t, len(want), len(got))
			require.True(t, slices.EqualFunc(want, got, func(a, b Txn) bool { return a.Zxid == b.Zxid }))
			out = append(out, handed{got, want})
			held := after == before || slices.ContainsFunc(all, func(t Txn) bool { return t.Zxid == after })
			require.Equal(t, held, w.holds(after))
		}
		require.Equal(t, before, w.before)
		require.Len(t, w.txns, len(all))
	}
	for _, h := range out {
		require.True(t, slices.EqualFunc(h.want, h.got, func(a, b Txn) bool { return a.Zxid == b.Zxid }),
			"what was handed out has changed")
	}
}

func TestSucceeds(t *testing.T) {
	z := proto.MakeZxid
	for _, c := range []struct {
		last, next proto.Zxid
		want       bool
	}{
		{0, z(1, 1), true}, {z(1, 1), z(1, 2), true}, {z(1, 2), z(1, 2), false}, {z(1, 1), z(1, 3), false},
		{z(1, 5), z(2, 1), true}, {z(1, 5), z(3, 1), true}, {z(1, 5), z(2, 2), false}, {z(1, 5), z(2, 0), false},
		{z(2, 0), z(2, 1), true}, {z(2, 1), z(1, 2), false}, {z(1, 0xffffffff), z(2, 0), false}, {0, 0, false},
	} {
		require.Equal(t, c.want, succeeds(c.last, c.next), "%v after %v", c.next, c.last)
	}
}
