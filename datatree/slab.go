package datatree

// slabBits sets how many records a chunk of a slab holds: few enough that a small tree is small
// and that clearing a new chunk is no pause, enough that ten million records are ten thousand chunks.
const slabBits = 10

const slabLen = 1 << slabBits

// slab is an array of pointer-free records that grows by chunks: a record never moves, and
// growing copies nothing but the list of chunks. Record 0 is never handed out, so that 0 is none.
type slab[T any] struct {
	chunks []*[slabLen]T
	// next is the first record that was never handed out.
	next uint32
	// free is the head of the list of returned records; the list runs through the records. The owner keeps it,
	// because it knows which field to use.
	free uint32
	// live counts the records in use.
	live int
}

// at returns record id, which must have been handed out.
func (s *slab[T]) at(id uint32) *T { return &s.chunks[id>>slabBits][id&(slabLen-1)] }

// grow hands out a record that was never in use. Its contents are zero.
func (s *slab[T]) grow() uint32 {
	id := max(s.next, 1)
	if id == ^uint32(0) {
		panic("datatree: more than 2^32-2 records")
	}
	if int(id>>slabBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([slabLen]T))
	}
	s.next = id + 1
	return id
}
