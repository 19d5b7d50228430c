package datatree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// sortedMax is how many children are answered in the order of their names. Clients expect no order, so sorting
// must not hold the lock for long. Beyond sortedMax the order is that of creation.
const sortedMax = 1 << 14

// ReadChildren answers getChildren: a GetChildrenResponse, the names of the children.
func (s *State) ReadChildren(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	return s.appendChildren(b, id), proto.OK
}

// ReadChildren2 answers getChildren2: the names of the children and the parent's Stat.
func (s *State) ReadChildren2(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	return s.appendStat(s.appendChildren(b, id), id), proto.OK
}

// appendChildren appends the vector of the names of a znode's children. In many trees creation order is the order
// of the names already, so it checks before it sorts.
func (s *State) appendChildren(b []byte, id NodeID) []byte {
	n := s.node(s.rec(id)).NumChildren
	b = proto.AppendInt32(b, n)
	start, last, isSorted := len(b), []byte(nil), true
	for c := s.FirstChild(id); c != 0; {
		r := s.rec(c)
		name := s.blocks.name(r.block)
		isSorted = isSorted && bytes.Compare(last, name) <= 0
		last = name
		b = proto.AppendBuffer(b, name)
		c = r.next
	}
	if !isSorted && n <= sortedMax {
		sortNames(b[start:], int(n))
	}
	return b
}

// nameKey is where an encoded name begins, and its first bytes after the common prefix of all names.
type nameKey struct {
	key uint64
	off int
}

// nameSorter is the scratch of sortNames.
type nameSorter struct {
	keys []nameKey
	out  []byte
}

var nameSorters = sync.Pool{New: func() any { return new(nameSorter) }}

// sortNames sorts the n length-prefixed names that vector consists of.
func sortNames(vector []byte, n int) {
	w := nameSorters.Get().(*nameSorter)
	defer nameSorters.Put(w)
	w.keys = slices.Grow(w.keys[:0], n)
	common := encodedName(vector, 0)
	for off := 0; off < len(vector); {
		name := encodedName(vector, off)
		w.keys = append(w.keys, nameKey{off: off})
		common = commonPrefix(common, name)
		off += 4 + len(name)
	}
	for i := range w.keys {
		var key [8]byte
		copy(key[:], encodedName(vector, w.keys[i].off)[len(common):])
		w.keys[i].key = binary.BigEndian.Uint64(key[:])
	}
	slices.SortFunc(w.keys, func(a, b nameKey) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return bytes.Compare(encodedName(vector, a.off), encodedName(vector, b.off))
	})
	w.out = w.out[:0]
	for _, k := range w.keys {
		w.out = append(w.out, vector[k.off:k.off+4+len(encodedName(vector, k.off))]...)
	}
	copy(vector, w.out)
}

// encodedName returns the name whose length is at off.
func encodedName(vector []byte, off int) []byte {
	n := int(binary.BigEndian.Uint32(vector[off:]))
	return vector[off+4 : off+4+n]
}

func commonPrefix(a, b []byte) []byte {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return a[:i]
		}
	}
	return a[:n]
}
