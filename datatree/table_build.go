package datatree

import (
	"bytes"
	"fmt"
	"math/bits"
)

// buildTable indexes all znodes at once, which is several times as fast as one by one: it sorts the
// znodes by segment and then fills each segment while it is in the processor's cache. It fails if
// two children of a parent have one name. The table must be empty, and no znode have been freed.
func (s *State) buildTable() error {
	t := &s.table
	invariant("a table is built once", t.count == 0 && s.records.free == 0, uint64(t.count))
	n := s.records.live - 1 // all but the root
	if n == 0 {
		return nil
	}
	depth, ends := s.segmentSizes(n)
	sorted := make([]hashedNode, n)
	at := make([]uint32, len(ends)) // where the next znode of a segment goes
	copy(at[1:], ends)
	for id := Root + 1; uint32(id) < s.records.next; id++ {
		hash := s.rec(id).hash
		segment := uint64(hash) >> (32 - depth)
		sorted[at[segment]] = hashedNode{hash, id}
		at[segment]++
	}
	t.depth, t.count = depth, n
	t.directory = make([]uint32, len(ends))
	t.segments = make([]*segment, len(ends))
	t.info = make([]segmentInfo, len(ends))
	builder := &segmentBuilder{state: s}
	first := uint32(0)
	for i, end := range ends {
		builder.to = newSegment()
		for _, node := range sorted[first:end] {
			if !builder.add(node) {
				return fmt.Errorf("%w: znode %q comes twice", ErrSnapshot, s.AppendPath(nil, node.id))
			}
		}
		t.directory[i], t.segments[i] = uint32(i), builder.to
		t.info[i] = segmentInfo{live: uint16(end - first), depth: depth}
		first = end
	}
	return nil
}

type hashedNode struct {
	hash uint32
	id   NodeID
}

// segmentSizes returns the smallest depth at which every segment has room for its znodes, and where
// each one ends in a list of all znodes by segment.
func (s *State) segmentSizes(n int) (depth uint8, ends []uint32) {
	for n>>depth > segmentFull {
		depth++
	}
	for {
		if depth > depthMax {
			panic("datatree: the index of znodes is full")
		}
		ends = make([]uint32, 1<<depth)
		for id := Root + 1; uint32(id) < s.records.next; id++ {
			ends[uint64(s.rec(id).hash)>>(32-depth)]++
		}
		total, fits := uint32(0), true
		for i, size := range ends {
			fits = fits && size <= segmentFull
			total += size
			ends[i] = total
		}
		if fits {
			return depth, ends
		}
		depth++
	}
}

// segmentBuilder fills one segment.
type segmentBuilder struct {
	state  *State
	to     *segment
	hashes [segmentSlots]uint32 // of the slots in use
}

// add puts a znode into the segment; ok is false if one with its parent and name is there already. Only znodes of
// the same hash are compared: their records are not in the cache.
func (b *segmentBuilder) add(node hashedNode) (ok bool) {
	for i := groupOf(node.hash); ; i = (i + 1) & (segmentGroups - 1) {
		g := &b.to[i]
		for m := match(g.tags, tagOf(node.hash)); m != 0; m &= m - 1 {
			slot := uint32(bits.TrailingZeros64(m) / 8)
			if b.hashes[i*groupSlots+slot] == node.hash && b.state.areTwins(g.ids[slot], node.id) {
				return false
			}
		}
		if matchEmpty(g.tags) != 0 {
			at, _ := b.to.add(node.hash, node.id)
			b.hashes[at] = node.hash
			return true
		}
	}
}

// areTwins reports whether two znodes have the same parent and name.
func (s *State) areTwins(a, b NodeID) bool {
	x, y := s.rec(a), s.rec(b)
	return x.parent == y.parent && bytes.Equal(s.blocks.name(x.block), s.blocks.name(y.block))
}
