package datatree

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// A tree whose data become larger and larger takes no more memory than compaction leaves, though a few znodes of every
// size stay: without it each of them would keep a page.
func TestMemoryOfOtherSizesIsUsedAgain(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	const each = 4 << 20 // bytes of all znodes of one size
	x.s.compaction.least = each
	for size := 100; size < 3000; size += size / 4 {
		n := each / size
		for i := range n {
			x.create(fmt.Sprintf("/%d-%d", size, i), make([]byte, size))
		}
		for i := range n {
			if i%50 != 0 {
				path := fmt.Appendf(nil, "/%d-%d", size, i)
				require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: path}))
			}
		}
	}
	x.s.check()
	require.Less(t, x.s.blocks.bytes(), int64(4*each))
}

// Blocks that are moved stay what they were, beside txns that make, change and remove others. So do pages.
func TestCompactionKeepsZnodes(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.s.compaction.least = 0
	r := rand.New(rand.NewPCG(1, 2))
	model := map[string][]byte{}
	var paths []string
	data := func() []byte {
		size := r.IntN(400)
		if r.IntN(40) == 0 {
			size = r.IntN(2 * smallMax)
		}
		return bytes.Repeat([]byte{byte(r.IntN(256))}, size)
	}
	passes, moving := 0, false
	for step := range 60_000 {
		grows := step/6000%2 == 0
		switch {
		case len(paths) == 0 || r.IntN(10) < 2 || grows && r.IntN(2) == 0:
			path := fmt.Sprintf("/n%d", step)
			model[path] = data()
			x.create(path, model[path])
			paths = append(paths, path)
		case r.IntN(4) == 0:
			path := paths[r.IntN(len(paths))]
			model[path] = data()
			require.Equal(t, proto.OK, x.apply(proto.OpSetData,
				&proto.SetDataTxn{Path: proto.Text(path), Data: model[path], Version: 1}))
		default:
			i := r.IntN(len(paths))
			require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(paths[i])}))
			delete(model, paths[i])
			paths[i] = paths[len(paths)-1]
			paths = paths[:len(paths)-1]
		}
		if moving && x.s.compaction.next == 0 {
			passes++
			for page := range x.s.blocks.info {
				require.False(t, x.s.blocks.info[page].leaving, "page %d", page)
			}
		}
		moving = x.s.compaction.next != 0
		if step%3000 == 0 {
			x.s.check()
			for path, want := range model {
				require.Equal(t, string(want), x.data(path), path)
			}
		}
	}
	require.Greater(t, passes, 10)
	for _, path := range slices.Sorted(maps.Keys(model)) {
		require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)}))
	}
	x.s.check()
}
