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
		require.Equal(t, size, arenaClassSize(class))
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
	require.Zero(t, arenaUsed(&a))
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
	require.Zero(t, arenaUsed(&a))
}
