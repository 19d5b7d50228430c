package prepare

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// fixup turns the ACL of a request into the list that is stored: without duplicates, and with entries of scheme
// auth replaced by the identities of the connection. It is kept and used again for every request.
type fixup struct {
	encoded []byte  // the list, encoded as a vector
	open    bool    // the list is exactly world:anyone with all permissions
	seen    []int32 // hash table of entry numbers + 1, for long lists
	seed    maphash.Seed
	scratch []byte
}

// fixupQuadratic is the longest list whose duplicates are found by comparing all pairs.
const fixupQuadratic = 16

// run fixes up acl for a connection with the identities ids. The result is in f.encoded and stays valid until the
// next run. It returns ErrInvalidACL for a list that is empty, malformed, or made longer than bytesMax by the
// identities: a client multiplies them, and a txn has a limit. Source: server-semantics 9.4.
func (f *fixup) run(acl []proto.ACL, ids []auth.Identity, providers auth.Providers, bytesMax int) proto.ErrCode {
	f.open = len(acl) == 1 && acl[0].Perms == proto.PermAll && auth.IsAnyone(&acl[0].Id)
	f.encoded = append(f.encoded[:0], 0, 0, 0, 0)
	if len(acl) > fixupQuadratic {
		f.resetSeen(len(acl))
	}
	count := 0
	for i := range acl {
		if f.isDuplicate(acl, i) {
			continue
		}
		n := f.appendEntry(&acl[i], ids, providers, bytesMax)
		if n == 0 {
			return proto.ErrInvalidACL
		}
		count += n
	}
	if count == 0 {
		return proto.ErrInvalidACL
	}
	binary.BigEndian.PutUint32(f.encoded, uint32(count))
	return proto.OK
}

// appendEntry appends the stored form of e and returns how many entries that is; 0 if e is invalid, or the identities
// make the list longer than bytesMax. The null id is valid with scheme auth only.
func (f *fixup) appendEntry(e *proto.ACL, ids []auth.Identity, providers auth.Providers, bytesMax int) int {
	if string(e.Id.Scheme) == auth.SchemeAuth {
		n := 0
		for i := range ids {
			if ids[i].ExpandsAuth() {
				f.encoded = proto.AppendInt32(f.encoded, e.Perms)
				f.encoded = proto.AppendString(f.encoded, ids[i].Scheme)
				f.encoded = proto.AppendString(f.encoded, ids[i].ID)
				n++
			}
		}
		if len(f.encoded) > bytesMax {
			return 0
		}
		return n
	}
	if e.Id.Scheme == nil || e.Id.Id == nil {
		return 0
	}
	if !auth.IsAnyone(&e.Id) && !providers.Accepts(e.Id.Scheme, e.Id.Id) {
		return 0
	}
	f.encoded = e.AppendTo(f.encoded)
	return 1
}

// isDuplicate reports whether an entry equal to acl[i] comes before it.
func (f *fixup) isDuplicate(acl []proto.ACL, i int) bool {
	if len(acl) > fixupQuadratic {
		return f.isSeen(acl, i)
	}
	for j := range i {
		if equalEntries(&acl[i], &acl[j]) {
			return true
		}
	}
	return false
}

// resetSeen empties the hash table and makes it at least twice as large as n.
func (f *fixup) resetSeen(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(f.seen) < size {
		f.seen = make([]int32, size)
		f.seed = maphash.MakeSeed()
	}
	f.seen = f.seen[:size]
	clear(f.seen)
}

// isSeen looks acl[i] up in the hash table and adds it if it is not there.
func (f *fixup) isSeen(acl []proto.ACL, i int) bool {
	f.scratch = acl[i].AppendTo(f.scratch[:0])
	mask := uint64(len(f.seen) - 1)
	for at := maphash.Bytes(f.seed, f.scratch) & mask; ; at = (at + 1) & mask {
		if f.seen[at] == 0 {
			f.seen[at] = int32(i) + 1
			return false
		}
		if equalEntries(&acl[f.seen[at]-1], &acl[i]) {
			return true
		}
	}
}

// equalEntries compares two entries; null and empty are different.
func equalEntries(a, b *proto.ACL) bool {
	return a.Perms == b.Perms &&
		bytes.Equal(a.Id.Id, b.Id.Id) && (a.Id.Id == nil) == (b.Id.Id == nil) &&
		bytes.Equal(a.Id.Scheme, b.Id.Scheme) && (a.Id.Scheme == nil) == (b.Id.Scheme == nil)
}
