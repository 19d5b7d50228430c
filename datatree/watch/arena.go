package watch

import "math/bits"

const (
	arenaChunkBits = 14
	arenaChunk     = 1 << arenaChunkBits // elements
	arenaShared    = arenaChunk / 4      // larger blocks get a chunk of their own
	arenaClasses   = 64
)

// arena hands out blocks of elements from large pointer-free chunks, so that a million blocks cost the garbage
// collector nothing. Block sizes fall into classes, four to a doubling (at most a quarter of a block is slack),
// each with a stack of freed blocks. A large block is a chunk of its own and goes back to the collector when it
// is freed. Not safe for concurrent use.
//
// Invariant: a block is either in use by exactly one owner or on exactly one stack.
type arena[T byte | uint32] struct {
	chunks [][]T
	spare  []uint32               // chunk slots whose large block was freed
	free   [arenaClasses][]uint32 // freed blocks by class
	fill   uint32                 // chunk that is being carved, if left > 0
	left   int                    // elements of it that were never used
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

// arenaClassSize returns the size of the blocks of a class.
func arenaClassSize(class int) int {
	if class <= 8 {
		return class
	}
	return ((class-5)%4 + 5) << ((class - 5) / 4)
}

// alloc returns a reference to n > 0 elements of value 0.
func (a *arena[T]) alloc(n int) uint32 {
	if n > arenaShared {
		return a.addChunk(n) << arenaChunkBits
	}
	class, size := arenaClass(n)
	if stack := a.free[class]; len(stack) > 0 {
		ref := stack[len(stack)-1]
		a.free[class] = stack[:len(stack)-1]
		clear(a.at(ref, n))
		return ref
	}
	if a.left < size {
		a.freeTail()
		a.fill, a.left = a.addChunk(arenaChunk), arenaChunk
	}
	ref := a.fill<<arenaChunkBits | uint32(arenaChunk-a.left)
	a.left -= size
	return ref
}

// freeTail gives the rest of the chunk that is being carved to the stacks.
func (a *arena[T]) freeTail() {
	for a.left > 0 {
		class, size := arenaClass(a.left)
		if size > a.left {
			class--
			size = arenaClassSize(class)
		}
		a.free[class] = append(a.free[class], a.fill<<arenaChunkBits|uint32(arenaChunk-a.left))
		a.left -= size
	}
}

// release takes back the block of n elements at ref.
func (a *arena[T]) release(ref uint32, n int) {
	if n > arenaShared {
		i := ref >> arenaChunkBits
		a.chunks[i] = nil
		a.spare = append(a.spare, i)
		return
	}
	class, _ := arenaClass(n)
	a.free[class] = append(a.free[class], ref)
}

// at returns the n elements at ref. They stay valid until they are released.
func (a *arena[T]) at(ref uint32, n int) []T {
	off := int(ref & (arenaChunk - 1))
	return a.chunks[ref>>arenaChunkBits][off : off+n : off+n]
}

func (a *arena[T]) addChunk(n int) uint32 {
	if last := len(a.spare) - 1; last >= 0 {
		i := a.spare[last]
		a.spare = a.spare[:last]
		a.chunks[i] = make([]T, n)
		return i
	}
	if len(a.chunks) == 1<<(32-arenaChunkBits) {
		panic("watch: watches exceed the address range of their arena")
	}
	a.chunks = append(a.chunks, make([]T, n))
	return uint32(len(a.chunks) - 1)
}
