package watch

import "math/bits"

const (
	arenaChunkBits = 14
	arenaChunk     = 1 << arenaChunkBits // elements
	arenaShared    = arenaChunk / 4      // larger blocks get a chunk of their own
	arenaClasses   = 64
	// arenaPlaces is how many chunks fit into the references.
	arenaPlaces = 1 << (32 - arenaChunkBits)
	// sparesMax is how many empty chunks are kept for the next block of any size, so that a few blocks that come and
	// go take no memory from the collector again and again.
	sparesMax = 4
	// tableKept is the length of the table of chunks that an empty arena keeps.
	tableKept = 256
)

// arena hands out blocks of elements from large pointer-free chunks, so that a million blocks cost the garbage
// collector nothing. Block sizes fall into classes, four to a doubling (at most a quarter of a block is slack). A
// chunk has blocks of one class, and goes back to the collector when none of them is in use. A large block is a chunk
// of its own. Not safe for concurrent use.
//
// Invariants: a block is either in use by exactly one owner, or on the list of its chunk, or behind what its chunk has
// handed out. A list of a class has exactly the chunks of the class that have a free block; at most one of them has no
// block in use.
type arena[T byte | uint32] struct {
	chunks  []chunk[T]
	vacant  []uint32             // places in chunks without a chunk
	partial [arenaClasses]uint32 // first chunk with a free block, by class; a place plus 1, 0 is none
	spares  [][]T                // memory of chunks that are gone
	held    int                  // elements of all chunks and spares
	used    int                  // elements of blocks in use, slack included
	places  int                  // the most chunks there may be; 0 is arenaPlaces
}

// chunk is memory for blocks of one class, or one large block.
type chunk[T byte | uint32] struct {
	data       []T
	next, prev uint32 // in the list of the class; places plus 1, 0 ends it
	live       uint16 // blocks in use
	made       uint16 // elements of blocks that were handed out at least once
	free       uint16 // first of the freed blocks, which are linked: its first element plus 1, 0 is none
	class      uint8
}

// arenaClass returns the class of blocks that hold n elements, 1 <= n <= arenaShared, and their size.
func arenaClass(n int) (class, size int) {
	if n <= 8 {
		return n, n
	}
	shift := bits.Len(uint(n-1)) - 3
	top := (n - 1) >> shift // 4 to 7
	return 5 + 4*shift + (top - 4), (top + 1) << shift
}

// classOf is arenaClass, but that a block can hold a link.
func (a *arena[T]) classOf(n int) (class, size int) {
	if isByte[T]() {
		n = max(n, 2)
	}
	return arenaClass(n)
}

func isByte[T byte | uint32]() bool { return uint32(^T(0)) == 0xff }

// alloc returns a reference to n > 0 elements of value 0. REQUIRES: hasRoom.
func (a *arena[T]) alloc(n int) uint32 {
	if n > arenaShared {
		i := a.place()
		a.chunks[i].data = make([]T, n)
		a.held += n
		a.used += n
		return i << arenaChunkBits
	}
	class, size := a.classOf(n)
	if a.partial[class] == 0 {
		a.addChunk(class)
	}
	i := a.partial[class] - 1
	c := &a.chunks[i]
	off := int(c.free) - 1
	if off >= 0 {
		c.free = c.linkAt(off)
	} else {
		off = int(c.made)
		c.made += uint16(size)
	}
	clear(c.data[off : off+size])
	c.live++
	a.used += size
	if c.full(size) {
		a.unlink(i)
	}
	return i<<arenaChunkBits | uint32(off)
}

// release takes back the block of n elements at ref.
func (a *arena[T]) release(ref uint32, n int) {
	i, off := ref>>arenaChunkBits, int(ref&(arenaChunk-1))
	c := &a.chunks[i]
	if n > arenaShared {
		*c = chunk[T]{}
		a.vacant = append(a.vacant, i)
		a.held -= n
		a.used -= n
		a.begin()
		return
	}
	_, size := a.classOf(n)
	wasFull := c.full(size)
	c.setLink(off, c.free)
	c.free = uint16(off) + 1
	c.live--
	a.used -= size
	switch others := c.next != 0 || c.prev != 0 || wasFull && a.partial[c.class] != 0; {
	case c.live == 0 && others:
		if !wasFull {
			a.unlink(i)
		}
		a.dropChunk(i)
	case wasFull:
		a.link(i)
	}
	a.begin()
}

// begin gives everything back if no block is in use and the table of chunks is long.
func (a *arena[T]) begin() {
	if a.used == 0 && len(a.chunks) > tableKept {
		*a = arena[T]{places: a.places}
	}
}

// at returns the n elements at ref. They stay valid until they are released.
func (a *arena[T]) at(ref uint32, n int) []T {
	off := int(ref & (arenaChunk - 1))
	return a.chunks[ref>>arenaChunkBits].data[off : off+n : off+n]
}

// grows returns by how many elements the memory grows if n are asked for.
func (a *arena[T]) grows(n int) int {
	switch {
	case n == 0:
		return 0
	case n > arenaShared:
		return n
	}
	if class, _ := a.classOf(n); a.partial[class] != 0 || len(a.spares) > 0 {
		return 0
	}
	return arenaChunk
}

// hasRoom reports whether any n blocks may be asked for, as far as references reach.
func (a *arena[T]) hasRoom(n int) bool {
	most := a.places
	if most == 0 {
		most = arenaPlaces
	}
	return len(a.vacant)+most-len(a.chunks) >= n
}

// place returns the place of a new chunk.
func (a *arena[T]) place() uint32 {
	if last := len(a.vacant) - 1; last >= 0 {
		i := a.vacant[last]
		a.vacant = a.vacant[:last]
		return i
	}
	if !a.hasRoom(1) {
		panic("watch: watches exceed the address range of their arena")
	}
	a.chunks = append(a.chunks, chunk[T]{})
	return uint32(len(a.chunks) - 1)
}

// addChunk makes a chunk for a class that has none with a free block.
func (a *arena[T]) addChunk(class int) {
	i := a.place()
	c := &a.chunks[i]
	c.class = uint8(class)
	if last := len(a.spares) - 1; last >= 0 {
		c.data, a.spares = a.spares[last], a.spares[:last]
	} else {
		c.data = make([]T, arenaChunk)
		a.held += arenaChunk
	}
	a.link(i)
}

// dropChunk ends a chunk without a block in use, which is in no list.
func (a *arena[T]) dropChunk(i uint32) {
	c := &a.chunks[i]
	if len(a.spares) < sparesMax {
		a.spares = append(a.spares, c.data)
	} else {
		a.held -= arenaChunk
	}
	*c = chunk[T]{}
	a.vacant = append(a.vacant, i)
}

// link makes a chunk the first of the list of its class.
func (a *arena[T]) link(i uint32) {
	c := &a.chunks[i]
	first := &a.partial[c.class]
	c.next, c.prev = *first, 0
	if *first != 0 {
		a.chunks[*first-1].prev = i + 1
	}
	*first = i + 1
}

// unlink takes a chunk out of the list of its class.
func (a *arena[T]) unlink(i uint32) {
	c := &a.chunks[i]
	if c.prev != 0 {
		a.chunks[c.prev-1].next = c.next
	} else {
		a.partial[c.class] = c.next
	}
	if c.next != 0 {
		a.chunks[c.next-1].prev = c.prev
	}
	c.next, c.prev = 0, 0
}

// full reports whether no block of the chunk, of size elements each, is free.
func (c *chunk[T]) full(size int) bool { return c.free == 0 && int(c.made)+size > arenaChunk }

// linkAt returns the link in the freed block at off.
func (c *chunk[T]) linkAt(off int) uint16 {
	if isByte[T]() {
		return uint16(c.data[off]) | uint16(c.data[off+1])<<8
	}
	return uint16(c.data[off])
}

// setLink puts a link into the freed block at off.
func (c *chunk[T]) setLink(off int, link uint16) {
	c.data[off] = T(link)
	if isByte[T]() {
		c.data[off+1] = T(link >> 8)
	}
}
