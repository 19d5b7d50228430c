package watch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArenaClassesHoldWhatTheyPromise(t *testing.T) {
	last := 0
	for n := 1; n <= arenaShared; n++ {
		class, size := arenaClass(n)
		require.GreaterOrEqual(t, size, n)
		require.LessOrEqual(t, size, n+n/4+1, "slack of a block of %d", n)
		require.True(t, class == last || class == last+1 && class < arenaClasses, "class %d after %d", class, last)
		last = class
	}
}

// TestArenaBlocksDoNotOverlap takes and returns blocks of random sizes, each filled with its own
// mark, and finds every mark intact.
func TestArenaBlocksDoNotOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(newSeed(t), 2))
	type block struct {
		ref, mark uint32
		n         int
	}
	var a arena[uint32]
	var held []block
	for mark := uint32(1); mark < 20_000; mark++ {
		if len(held) > 0 && r.IntN(5) < 2 {
			i := r.IntN(len(held))
			b := held[i]
			for _, v := range a.at(b.ref, b.n) {
				if v != b.mark {
					t.Fatalf("block of %d holds the mark %d of another", b.mark, v)
				}
			}
			a.release(b.ref, b.n)
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		n := 1 + r.IntN(40)
		if r.IntN(50) == 0 {
			n = 1 + r.IntN(2*arenaChunk)
		}
		b := block{a.alloc(n), mark, n}
		words := a.at(b.ref, n)
		for i := range words {
			if words[i] != 0 {
				t.Fatalf("a new block is not zero but %d", words[i])
			}
			words[i] = mark
		}
		held = append(held, b)
	}
	for _, b := range held {
		a.release(b.ref, b.n)
	}
	requireEmpty(t, &a)
}

// requireEmpty checks an arena of which every block was given back: it keeps a chunk for each class at most.
func requireEmpty[T byte | uint32](t *testing.T, a *arena[T]) {
	t.Helper()
	require.Zero(t, a.used)
	held := len(a.spares) * arenaChunk
	for i, c := range a.chunks {
		require.Zero(t, c.live)
		held += len(c.data)
		if c.data != nil {
			require.EqualValues(t, i+1, a.partial[c.class], "the only chunk of its class")
			require.Zero(t, c.next)
		}
	}
	require.Equal(t, held, a.held)
	require.LessOrEqual(t, len(a.spares), sparesMax)
}

// A chunk is given back when its last block is, whatever the order.
func TestArenaGivesItsMemoryBack(t *testing.T) {
	t.Run("names", func(t *testing.T) { giveBack(t, new(arena[byte])) })
	t.Run("sets", func(t *testing.T) { giveBack(t, new(arena[uint32])) })
}

func giveBack[T byte | uint32](t *testing.T, a *arena[T]) {
	r := rand.New(rand.NewPCG(newSeed(t), 4))
	type block struct {
		ref uint32
		n   int
	}
	var blocks []block
	for range 3 {
		for range 50_000 {
			n := 1 + r.IntN(100)
			if r.IntN(1000) == 0 {
				n = 1 + r.IntN(arenaChunk)
			}
			before, grows := a.held, a.grows(n)
			blocks = append(blocks, block{a.alloc(n), n})
			require.Equal(t, before+grows, a.held)
		}
		most := a.held
		require.Less(t, most, a.used*3/2+arenaClasses*arenaChunk)
		r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		for _, b := range blocks[50:] {
			a.release(b.ref, b.n)
		}
		blocks = blocks[:50]
		require.Less(t, a.held, (50+arenaClasses+sparesMax)*arenaChunk)
	}
	for _, b := range blocks {
		a.release(b.ref, b.n)
	}
	requireEmpty(t, a)
	require.LessOrEqual(t, len(a.chunks), tableKept)
}

// When no reference is left, a set still shrinks as far as that takes none.
func TestSetWithoutRoomKeepsItsBlock(t *testing.T) {
	a := arena[uint32]{places: 20}
	var s modeSet
	for key := range uint32(2000) {
		s.put(&a, key, modeData)
	}
	for a.hasRoom(1) {
		a.alloc(arenaChunk)
	}
	for key := range uint32(1999) {
		s.remove(&a, key)
		require.Equal(t, modeData, s.get(&a, 1999))
	}
	require.Greater(t, s.log, uint8(8))
	s.remove(&a, 1999)
}

// TestWatchSetEqualsMap compares a set with a map over random operations that grow and shrink it.
func TestWatchSetEqualsMap(t *testing.T) {
	r := rand.New(rand.NewPCG(newSeed(t), 3))
	var a arena[uint32]
	var s modeSet
	want := map[uint32]mode{}
	for i := range 200_000 {
		limit := []uint32{3, 9, 20, 700, 5000}[i/40_000]
		key := uint32(r.Uint32N(limit)) << (r.Uint32N(2) * 14)
		if m, ok := want[key]; ok && r.IntN(2) == 0 {
			if got := s.get(&a, key); got != m {
				t.Fatalf("get %d: got %d, want %d", key, got, m)
			}
			s.remove(&a, key)
			delete(want, key)
		} else {
			m := mode(1 + r.IntN(int(modesAll)))
			s.put(&a, key, m)
			want[key] = m
		}
		if got := s.get(&a, key^1); got != want[key^1] || int(s.n) != len(want) {
			t.Fatalf("get %d: got %d, want %d; size: got %d, want %d", key^1, got, want[key^1], s.n, len(want))
		}
		if size := 1 << s.log; size > 8 && (len(want) > size/4*3 || len(want) <= size/8) {
			t.Fatalf("%d words in a block of %d", len(want), size)
		}
		if i%5000 == 0 {
			seen := map[uint32]mode{}
			for _, word := range s.words(&a) {
				if word != 0 {
					seen[wordKey(word)] = wordModes(word)
				}
			}
			require.Equal(t, want, seen)
		}
	}
	for key := range want {
		s.remove(&a, key)
	}
	requireEmpty(t, &a)
}
