package datatree

import "math/bits"

// table is the index of all znodes but the root by (parent, name): a directory of segments, each
// an open-addressing table of segmentSlots slots in groups of eight, whose tags are compared
// eight at a time. The directory is indexed by the top bits of the hash. A segment that is full
// splits in two, so the longest pause is one split (and now and then doubling the directory, four
// bytes a segment) however many znodes there are. A slot takes five bytes; segments are between
// 7/16 and 7/8 full.
//
// The hash of a znode is kept in its record, so that a split does not look at names.
type table struct {
	directory []uint32 // by the top depth bits of the hash: segment
	segments  []*segment
	info      []segmentInfo
	gathered  *gathered // scratch of gather, nil before it is needed
	depth     uint8
	count     int
}

const (
	segmentGroups = 256
	groupSlots    = 8
	segmentSlots  = segmentGroups * groupSlots
	segmentFull   = segmentSlots * 7 / 8
	// depthMax bounds the directory: 2^22 segments hold 7.5 billion znodes, more than there are NodeIDs.
	depthMax = 22

	tagEmpty = 0x80
	tagDead  = 0xfe
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// segment is an open-addressing table of groups. It is 10,240 bytes, which is a size class of Go's
// allocator, and has no pointers.
type segment [segmentGroups]group

// group is eight slots: their tags, one a byte, and their NodeIDs. A tag is tagEmpty, tagDead or
// seven bits of the hash.
type group struct {
	tags uint64
	ids  [groupSlots]NodeID
}

type segmentInfo struct {
	live  uint16
	dead  uint16
	depth uint8 // how many top bits all its hashes share
}

func newSegment() *segment {
	g := new(segment)
	g.clear()
	return g
}

func (g *segment) clear() {
	for i := range g {
		g[i].tags = highBits // tagEmpty in every byte
	}
}

func (g *group) tag(slot int) uint8 { return uint8(g.tags >> (slot * 8)) }

func (g *group) setTag(slot int, tag uint8) {
	g.tags = g.tags&^(0xff<<(slot*8)) | uint64(tag)<<(slot*8)
}

// The bits of a 32-bit hash: the directory takes from the top, the tag the lowest seven, the
// first group the next eight.
func tagOf(hash uint32) uint8    { return uint8(hash & 0x7f) }
func groupOf(hash uint32) uint32 { return hash >> 7 & (segmentGroups - 1) }

func (t *table) segmentOf(hash uint32) uint32 {
	return t.directory[uint64(hash)>>(32-t.depth)]
}

// match returns a word with the high bit set in every byte of tags that equals tag. It may have a
// false positive above a true one, which the comparison of names sorts out.
func match(tags uint64, tag uint8) uint64 {
	x := tags ^ lowBits*uint64(tag)
	return (x - lowBits) &^ x & highBits
}

// matchEmpty returns a word with the high bit set in every byte that is tagEmpty.
func matchEmpty(tags uint64) uint64 { return tags & highBits &^ (tags << 6) }

// matchFree returns a word with the high bit set in every byte that is tagEmpty or tagDead.
func matchFree(tags uint64) uint64 { return tags & highBits }

// insert adds a znode that is not in the table. hashOf returns the hash of a znode already there.
func (t *table) insert(hash uint32, id NodeID, hashOf func(NodeID) uint32) {
	if t.directory == nil {
		t.directory = []uint32{0}
		t.segments = []*segment{newSegment()}
		t.info = []segmentInfo{{}}
	}
	at := t.segmentOf(hash)
	for int(t.info[at].live)+int(t.info[at].dead) >= segmentFull {
		if int(t.info[at].live) < segmentFull*3/4 {
			t.rebuild(at, hashOf)
		} else {
			t.split(hash, hashOf)
		}
		at = t.segmentOf(hash)
	}
	_, reusedDead := t.segments[at].add(hash, id)
	t.info[at].dead -= reusedDead
	t.info[at].live++
	t.count++
}

// add puts id into the first free slot of its probe sequence. It returns the slot, and 1 if it was
// dead. The caller has made sure that there is an empty slot.
func (t *segment) add(hash uint32, id NodeID) (at uint32, reusedDead uint16) {
	for i := groupOf(hash); ; i = (i + 1) & (segmentGroups - 1) {
		g := &t[i]
		if free := matchFree(g.tags); free != 0 {
			slot := bits.TrailingZeros64(free) / 8
			if g.tag(slot) == tagDead {
				reusedDead = 1
			}
			g.setTag(slot, tagOf(hash))
			g.ids[slot] = id
			return i*groupSlots + uint32(slot), reusedDead
		}
	}
}

// remove takes a znode out, which must be in the table.
func (t *table) remove(hash uint32, id NodeID) {
	at := t.segmentOf(hash)
	for i, n := groupOf(hash), 0; n < segmentGroups; i, n = (i+1)&(segmentGroups-1), n+1 {
		g := &t.segments[at][i]
		hasEmpty := matchEmpty(g.tags) != 0
		for m := match(g.tags, tagOf(hash)); m != 0; m &= m - 1 {
			slot := bits.TrailingZeros64(m) / 8
			if g.ids[slot] != id || g.tag(slot) != tagOf(hash) {
				continue
			}
			// No probe has gone past a group that still has an empty slot, so the slot may become empty.
			// Otherwise it must stay dead.
			if hasEmpty {
				g.setTag(slot, tagEmpty)
			} else {
				g.setTag(slot, tagDead)
				t.info[at].dead++
			}
			t.info[at].live--
			t.count--
			return
		}
		if hasEmpty {
			break
		}
	}
	invariant("a znode to remove is in the table", false, uint64(id))
}

// fetch reads the first group that a hash may be in.
func (t *table) fetch(hash uint32) uint64 {
	return t.segments[t.segmentOf(hash)][groupOf(hash)].tags
}

// gather collects the znodes of a segment and their hashes. The records are spread over the memory: fetching the
// hashes in a separate loop lets the processor wait for many at once.
func (t *table) gather(at uint32, hashOf func(NodeID) uint32) *gathered {
	if t.gathered == nil {
		t.gathered = new(gathered)
	}
	w := t.gathered
	w.n = 0
	for i := range t.segments[at] {
		g := &t.segments[at][i]
		for m := ^g.tags & highBits; m != 0; m &= m - 1 {
			w.ids[w.n] = g.ids[bits.TrailingZeros64(m)/8]
			w.n++
		}
	}
	for i, id := range w.ids[:w.n] {
		w.hashes[i] = hashOf(id)
	}
	return w
}

// gathered is the scratch of gather.
type gathered struct {
	n      int
	ids    [segmentSlots]NodeID
	hashes [segmentSlots]uint32
}

// rebuild drops the dead slots of a segment.
func (t *table) rebuild(at uint32, hashOf func(NodeID) uint32) {
	w := t.gather(at, hashOf)
	g := t.segments[at]
	g.clear()
	for i, id := range w.ids[:w.n] {
		g.add(w.hashes[i], id)
	}
	t.info[at].dead = 0
}

// split moves the upper half of the hashes of the segment of hash to a new segment.
func (t *table) split(hash uint32, hashOf func(NodeID) uint32) {
	at := t.segmentOf(hash)
	depth := t.info[at].depth
	if depth == t.depth {
		t.double()
	}
	w := t.gather(at, hashOf)
	lower, upper := t.segments[at], newSegment()
	lower.clear()
	var moved uint16
	for i, id := range w.ids[:w.n] {
		h := w.hashes[i]
		if h<<depth>>31 != 0 {
			upper.add(h, id)
			moved++
		} else {
			lower.add(h, id)
		}
	}
	t.info[at] = segmentInfo{live: t.info[at].live - moved, depth: depth + 1}
	t.segments = append(t.segments, upper)
	t.info = append(t.info, segmentInfo{live: moved, depth: depth + 1})

	// The directory entries of the old segment are consecutive; the upper half is the new one's.
	run := 1 << (t.depth - depth)
	first := int(uint64(hash)>>(32-depth)) << (t.depth - depth)
	for i := first + run/2; i < first+run; i++ {
		t.directory[i] = uint32(len(t.segments) - 1)
	}
}

// double doubles the directory.
func (t *table) double() {
	if t.depth == depthMax {
		panic("datatree: the index of znodes is full")
	}
	wider := make([]uint32, 2*len(t.directory))
	for i, s := range t.directory {
		wider[2*i], wider[2*i+1] = s, s
	}
	t.directory = wider
	t.depth++
}
