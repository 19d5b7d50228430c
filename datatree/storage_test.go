package datatree

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var seedFlag = flag.Int64("datatree.seed", 0, "seed of the random tests; 0 takes a new one")

// newRand returns a source of random numbers and logs its seed.
func newRand(tb testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	tb.Logf("go test -run '^%s$' ./datatree -datatree.seed=%d", tb.Name(), seed)
	return rand.New(rand.NewSource(seed))
}

func TestSizeClasses(t *testing.T) {
	require.Equal(t, slotMin, sizeOf(0))
	require.Equal(t, smallMax, sizeOf(classCount-1))
	for c := 1; c < classCount; c++ {
		require.Less(t, sizeOf(c-1), sizeOf(c))
	}
	for n := range smallMax + 1 {
		c := classOf(n)
		if sizeOf(c) < n || c > 0 && sizeOf(c-1) >= n {
			t.Fatalf("class %d of %d bytes for %d", c, sizeOf(c), n)
		}
		if slots := pageSize / sizeOf(c); slots > 1<<slotBits {
			t.Fatalf("%d slots of class %d", slots, c)
		}
	}
}

// Blocks against a map, with sizes that are small, at the borders of classes, and large.
func TestBlocksModel(t *testing.T) {
	r := newRand(t)
	type content struct{ name, data []byte }
	var b blocks
	model := map[blockRef]content{}
	var refs []blockRef
	random := func(n int) []byte {
		out := make([]byte, n)
		r.Read(out)
		return out
	}
	size := func() int {
		switch r.Intn(10) {
		case 0:
			return smallMax - 40 + r.Intn(80)
		case 1:
			return r.Intn(3 * smallMax)
		}
		return r.Intn(600)
	}
	data := func() []byte {
		if r.Intn(5) == 0 {
			return nil
		}
		return random(size())
	}
	for step := range 20000 {
		switch {
		case len(refs) == 0 || r.Intn(5) < 2 && step < 15000:
			c := content{random(r.Intn(60)), data()}
			ref := b.put(c.name, c.data)
			_, isTaken := model[ref]
			require.False(t, isTaken)
			model[ref] = c
			refs = append(refs, ref)
		case r.Intn(3) == 0 || step >= 15000:
			i := r.Intn(len(refs))
			b.free(refs[i])
			delete(model, refs[i])
			refs[i] = refs[len(refs)-1]
			refs = refs[:len(refs)-1]
		default:
			i := r.Intn(len(refs))
			c := model[refs[i]]
			delete(model, refs[i])
			c.data = data()
			refs[i] = b.setData(refs[i], c.data)
			_, isTaken := model[refs[i]]
			require.False(t, isTaken)
			model[refs[i]] = c
		}
		if step%500 == 0 {
			for ref, want := range model {
				name, got := b.get(ref)
				require.True(t, bytes.Equal(want.name, name) && bytes.Equal(want.name, b.name(ref)))
				require.True(t, bytes.Equal(want.data, got) && (want.data == nil) == (got == nil))
			}
		}
	}
	for _, ref := range refs {
		b.free(ref)
	}
	require.Zero(t, b.smallBytes)
	require.Zero(t, b.largeBytes)
	require.Equal(t, len(b.pages), len(b.spare)+len(b.gone))
	require.LessOrEqual(t, len(b.spare), 17+len(b.pages)/8)
	require.Panics(t, func() {
		ref := b.put([]byte("x"), nil)
		b.free(ref)
		b.free(ref)
	})
}

// Memory that is freed is used again, whatever its size was.
func TestBlocksDoNotLeak(t *testing.T) {
	var b blocks
	peak := int64(0)
	for round := range 20 {
		var refs []blockRef
		for range 4000 {
			refs = append(refs, b.put([]byte("name"), make([]byte, 100+round*50)))
		}
		if round == 0 {
			peak = b.bytes()
		}
		for _, ref := range refs {
			b.free(ref)
		}
	}
	require.Less(t, b.bytes(), peak*15)
	require.Less(t, int64(len(b.pages)), int64(4000*1100/pageSize)+10)
}

// The table against a map, with hashes that share bits, through growth and shrinking.
func TestTableModel(t *testing.T) {
	r := newRand(t)
	var tab table
	hashes := map[NodeID]uint32{}
	hashOf := func(id NodeID) uint32 { return hashes[id] }
	has := func(id NodeID) bool {
		if tab.count == 0 {
			return false
		}
		g := tab.segments[tab.segmentOf(hashes[id])]
		for i, n := groupOf(hashes[id]), 0; n < segmentGroups; i, n = (i+1)%segmentGroups, n+1 {
			for slot := range groupSlots {
				if g[i].tag(slot) == tagOf(hashes[id]) && g[i].ids[slot] == id {
					return true
				}
			}
			if matchEmpty(g[i].tags) != 0 {
				return false
			}
		}
		return false
	}
	live := map[NodeID]bool{}
	var ids []NodeID
	next := NodeID(2)
	for step := range 48000 {
		growing := step/12000%2 == 0
		if len(ids) == 0 || growing && r.Intn(4) > 0 || !growing && r.Intn(4) == 0 {
			id := next
			next++
			hashes[id] = r.Uint32()
			if r.Intn(3) == 0 {
				hashes[id] &= 0xffff00ff // few groups
			}
			tab.insert(hashes[id], id, hashOf)
			live[id] = true
			ids = append(ids, id)
		} else {
			i := r.Intn(len(ids))
			tab.remove(hashes[ids[i]], ids[i])
			delete(live, ids[i])
			require.False(t, has(ids[i]))
			ids[i] = ids[len(ids)-1]
			ids = ids[:len(ids)-1]
		}
		if step%10000 == 0 {
			for id := NodeID(2); id < next; id++ {
				if live[id] != has(id) {
					t.Fatalf("znode %d: live is %v", id, live[id])
				}
			}
		}
	}
	require.Equal(t, len(live), tab.count)
	total := 0
	for i, info := range tab.info {
		used := 0
		for g := range tab.segments[i] {
			for slot := range groupSlots {
				if tab.segments[i][g].tag(slot) < tagEmpty {
					used++
				}
			}
		}
		require.Equal(t, int(info.live), used)
		require.LessOrEqual(t, int(info.live)+int(info.dead), segmentFull)
		total += used
	}
	require.Equal(t, tab.count, total)
	require.Panics(t, func() { tab.remove(1, 1) })
}

func TestACLTable(t *testing.T) {
	table := newACLTable(false)
	require.Equal(t, OpenACL, table.acquire(nil))
	require.Equal(t, OpenACL, table.acquire(openList))
	require.Zero(t, table.Len())
	first := table.acquire(readList)
	require.Equal(t, ACLID(1), first)
	// Thousands of equal lists are one entry, which goes with the last of them (server-semantics 16.5 scenario 68).
	for range 5000 {
		require.Equal(t, first, table.acquire(readList))
	}
	empty := table.acquire(denyList[:0])
	require.NotEqual(t, OpenACL, empty)
	require.Equal(t, 2, table.Len())
	require.Empty(t, table.List(empty))
	for range 5001 {
		require.Equal(t, readList, table.List(first))
		table.release(first)
	}
	require.Equal(t, 1, table.Len())
	require.Equal(t, denyList, table.List(first), "a forgotten number allows nothing")
	require.Zero(t, table.Anyone(first))

	// While a walker is about, a number is not given to another list.
	_, deny := table.hold()
	table.release(empty)
	require.Equal(t, first, table.acquire(denyList), "was free before")
	fresh := table.acquire(append(readList[:1:1], readList...))
	require.NotEqual(t, empty, fresh)
	require.Equal(t, deny, fresh, "a number the walker has used only for what allows nothing")
	table.letGo()
	require.Equal(t, empty, table.acquire(readList))
	require.Panics(t, func() { table.release(999) })
}

func TestPathUnits(t *testing.T) {
	for path, want := range map[string]int64{
		"": 0, "/": 1, "/abcdefghijk": 12, "/\u00e9": 2, "/\u4e2d\u6587": 3, "/\U0001f600": 3,
		"/12345678\u00e9abcdefghi\U0001f600": 21,
	} {
		require.Equal(t, want, pathUnits([]byte(path)), path)
	}
}

func TestManyChildren(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/p", nil)
	const n = 20000
	for i := range n {
		x.create(fmt.Sprintf("/p/%d", i), nil)
	}
	require.Equal(t, int32(n), x.node("/p").NumChildren)
	x.s.check()
	for i := n - 1; i >= 0; i -= 3 { // from behind, the middle and the front
		for _, k := range []int{i, i / 2, n - 1 - i} {
			if id := x.s.Lookup(fmt.Appendf(nil, "/p/%d", k)); id != 0 {
				require.Zero(t, x.s.applyDelete(fmt.Appendf(nil, "/p/%d", k), 1<<30, nil))
			}
		}
	}
	x.s.check()
}

// bytes returns the memory of pages and large blocks.
func (b *blocks) bytes() int64 {
	return int64(len(b.pages)-len(b.gone))*pageSize + int64(len(b.info))*24 + b.largeBytes
}

// bytes returns the memory of the chunks, given the size of a record.
func (s *slab[T]) bytes(recordSize int) int { return len(s.chunks) * slabLen * recordSize }

// bytes returns the memory of the table.
func (t *table) bytes() int64 {
	return int64(len(t.segments))*(segmentSlots*5+16) + int64(cap(t.directory))*4
}
