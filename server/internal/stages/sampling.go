package stages

import (
	"math"

	"github.com/seed94657493/warren/proto"
)

// sampling says which operations are traced. It depends on nothing but session, xid, key and share, so that all
// servers with the same key and share choose the same operations without a word between them.
type sampling struct {
	key   uint64
	below uint64 // of all 64-bit numbers; 0: none is traced
}

// newSampling returns a sampling of a share, from 0 to 1, of all operations. Without the key a client cannot choose
// requests that are traced.
func newSampling(share float64, key uint64) sampling {
	s := sampling{key: key}
	switch {
	case share >= 1:
		s.below = math.MaxUint64
	case share > 0:
		s.below = uint64(share * (1 << 63) * 2)
	}
	return s
}

// Has reports whether an operation is traced. Requests with a special xid are not: they all have the same one.
func (s sampling) Has(session proto.SessionID, xid int32) bool {
	if s.below == 0 || xid < 0 {
		return false
	}
	x := mixed(s.key ^ uint64(session))
	return mixed(x+uint64(xid)) < s.below
}

// mixed makes each bit of the result depend on each bit of x: the finalizer of MurmurHash3 by Austin Appleby.
func mixed(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
