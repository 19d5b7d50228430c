package datatree

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/seed94657493/warren/proto"
)

// NodeID names a znode for as long as it exists; afterwards the number is used again. 0 is none.
type NodeID uint32

// Root is the znode "/". It always exists.
const Root NodeID = 1

// Node is a copy of a znode without its name and its data, as stored: Cversion counts the children ever created
// (clients see 2*Cversion-NumChildren), and Owner may be a container's or a TTL's encoding. Source:
// server-semantics 5.1, storage 8.3.
type Node struct {
	Czxid, Mzxid, Pzxid         proto.Zxid
	Ctime, Mtime                int64 // ms since 1970
	Owner                       proto.SessionID
	Version, Cversion, Aversion int32
	NumChildren                 int32
	ACL                         ACLID
	Digest                      uint32 // its part of the tree's digest; 0 below /zookeeper
}

// record is how a znode is stored: 80 bytes without pointers. Fields that only a minority of znodes need are in
// its kin: a znode without kin has a Cversion of 0, a Pzxid equal to its Czxid and no children, and is neither
// ephemeral nor container nor TTL znode. Invariant: digest is the CRC of path, data and stored Stat, or 0 if the
// znode is hidden.
type record struct {
	czxid, mzxid      proto.Zxid
	ctime, mtime      int64
	owner             proto.SessionID
	version, aversion int32
	acl               ACLID
	digest            uint32
	parent            NodeID
	next, prev        NodeID // siblings, in the order of creation; the first one's prev is the last one
	hash              uint32 // of (parent, name)
	block             blockRef
	kin               uint32 // index into State.kins, 0 is none; the top bit is hiddenFlag
}

// hiddenFlag marks the znodes below /zookeeper, which have no part in the digest.
const hiddenFlag = uint32(1) << 31

func (r *record) hidden() bool { return r.kin&hiddenFlag != 0 }

// kin holds the further fields of a znode that has or had children, or belongs to an owner's list: 32 bytes.
type kin struct {
	pzxid              proto.Zxid
	cversion, children int32
	first              NodeID // first child
	ownNext, ownPrev   NodeID // neighbours in the list of the owner (see owned.go)
}

const (
	recordSize = 80
	kinSize    = 32
)

// hashName returns the hash of a child's name under its parent. The seed keeps clients from choosing names that
// collide; no result that a client or a file can see depends on it.
func (s *State) hashName(parent NodeID, name []byte) uint32 {
	h := (maphash.Bytes(s.seed, name) ^ uint64(parent)) * 0x9e3779b97f4a7c15
	return uint32(h >> 32)
}

func (s *State) hashOf(id NodeID) uint32 { return s.rec(id).hash }

// rec returns the record of a znode that exists.
func (s *State) rec(id NodeID) *record { return s.records.at(uint32(id)) }

// kinOf returns the kin of a record, or nil.
func (s *State) kinOf(r *record) *kin {
	if i := r.kin &^ hiddenFlag; i != 0 {
		return s.kins.at(i)
	}
	return nil
}

// needKin returns the kin of a record, and makes it if there is none.
func (s *State) needKin(r *record) *kin {
	if k := s.kinOf(r); k != nil {
		return k
	}
	i := s.kins.free
	if i != 0 {
		s.kins.free = uint32(s.kins.at(i).first)
	} else {
		i = s.kins.grow()
	}
	s.kins.live++
	k := s.kins.at(i)
	*k = kin{pzxid: r.czxid}
	r.kin |= i
	return k
}

// link makes a znode with a name that its parent does not have yet, as the parent's last child. The caller sets
// Stat fields, ACL, owner's list, digest and the entry in the table.
func (s *State) link(parent NodeID, hash uint32, name, data []byte) NodeID {
	i := s.records.free
	if i != 0 {
		s.records.free = uint32(s.rec(NodeID(i)).next)
	} else {
		i = s.records.grow()
	}
	s.records.live++
	id := NodeID(i)
	r := s.rec(id)
	*r = record{parent: parent, hash: hash, block: s.blocks.put(name, data), prev: id}
	p := s.rec(parent)
	if p.hidden() || parent == s.system && parent != 0 {
		r.kin = hiddenFlag
	}
	k := s.needKin(p)
	if k.first == 0 {
		k.first = id
	} else {
		first := s.rec(k.first)
		r.prev = first.prev
		s.rec(first.prev).next = id
		first.prev = id
	}
	k.children++
	if k.children == WideChildren {
		s.wide++
	}
	if len(s.listings.live) > 0 {
		s.listings.note(parent, name)
	}
	return id
}

// unlink takes a znode without children out of the tree and frees its memory. The caller handles ACL, owner's
// list and digest.
func (s *State) unlink(id NodeID) {
	s.removals++
	r := s.rec(id)
	invariant("the root stays", r.parent != 0, uint64(id))
	k := s.kinOf(s.rec(r.parent))
	invariant("a znode to unlink has a parent that counts it", k != nil && k.children > 0, uint64(id))
	s.table.remove(r.hash, id)
	if k.first == id {
		k.first = r.next
	} else {
		s.rec(r.prev).next = r.next
	}
	if r.next != 0 {
		s.rec(r.next).prev = r.prev
	} else if k.first != 0 {
		s.rec(k.first).prev = r.prev
	}
	if k.children == WideChildren {
		s.wide--
	}
	k.children--
	s.discard(id)
}

// discard frees the memory of a znode that is in no list and not in the table.
func (s *State) discard(id NodeID) {
	r := s.rec(id)
	if i := r.kin &^ hiddenFlag; i != 0 {
		own := s.kins.at(i)
		invariant("a znode to discard has no children", own.children == 0, uint64(id))
		own.first = NodeID(s.kins.free)
		s.kins.free = i
		s.kins.live--
	}
	s.blocks.free(r.block)
	*r = record{next: NodeID(s.records.free), block: noBlock}
	s.records.free = uint32(id)
	s.records.live--
}

// find returns the child of parent with a name and the name's hash, 0 if there is none.
func (s *State) find(parent NodeID, hash uint32, name []byte) NodeID {
	t := &s.table
	if t.count == 0 {
		return 0
	}
	groups := t.segments[t.segmentOf(hash)]
	for i := groupOf(hash); ; i = (i + 1) & (segmentGroups - 1) {
		g := &groups[i]
		for m := match(g.tags, tagOf(hash)); m != 0; m &= m - 1 {
			id := g.ids[bits.TrailingZeros64(m)/8]
			r := s.rec(id)
			if r.hash == hash && r.parent == parent && bytes.Equal(s.blocks.name(r.block), name) && !s.ended.has(r) {
				return id
			}
		}
		if matchEmpty(g.tags) != 0 {
			return 0
		}
	}
}

// add makes a znode with everything except its entry in the table: Stat, ACL, owner's list, digest, size. stat's
// NumChildren, ACL and Digest are ignored; acl is counted already.
func (s *State) add(parent NodeID, hash uint32, path, name, data []byte, acl ACLID, stat *Node) NodeID {
	id := s.link(parent, hash, name, data)
	s.rec(id).acl = acl
	s.setStat(id, stat)
	s.redigest(id, path)
	s.dataSize += pathUnits(path) + int64(len(data))
	if parent == Root && string(name) == "zookeeper" {
		s.system = id
	}
	if parent == s.system && parent != 0 && string(name) == "quota" {
		s.quota = id
	}
	return id
}

// setStat sets the Stat of a new znode and enters it into its owner's list.
func (s *State) setStat(id NodeID, stat *Node) {
	r := s.rec(id)
	r.czxid, r.mzxid, r.ctime, r.mtime = stat.Czxid, stat.Mzxid, stat.Ctime, stat.Mtime
	r.owner, r.version, r.aversion = stat.Owner, stat.Version, stat.Aversion
	if stat.Cversion != 0 || stat.Pzxid != stat.Czxid {
		k := s.needKin(r)
		k.cversion, k.pzxid = stat.Cversion, stat.Pzxid
	}
	s.own(id)
}

// setACL changes a znode's ACL and returns the one it had, for the caller to release.
func (s *State) setACL(id NodeID, acl ACLID) (old ACLID) {
	r := s.rec(id)
	old, r.acl = r.acl, acl
	return old
}

// remove takes a znode without children out of everything except the ACL table. It returns the ACL, which the
// caller releases when it is no longer needed.
func (s *State) remove(id NodeID, path []byte) ACLID {
	r := s.rec(id)
	acl := r.acl
	_, data := s.blocks.get(r.block)
	s.dataSize -= pathUnits(path) + int64(len(data))
	s.digest -= int64(r.digest)
	s.walkers.leave(s, id)
	s.listings.leave(s, id)
	s.disown(id)
	switch id {
	case s.system:
		s.system = 0
	case s.quota:
		s.quota = 0
	}
	s.unlink(id)
	return acl
}

// pathUnits returns the length of a path in UTF-16 units.
func pathUnits(path []byte) int64 {
	ascii := path
	for len(ascii) >= 8 && binary.LittleEndian.Uint64(ascii)&highBits == 0 {
		ascii = ascii[8:]
	}
	n := int64(len(path) - len(ascii))
	for _, c := range ascii {
		if c&0xc0 != 0x80 {
			n++ // not a continuation byte
		}
		if c >= 0xf0 {
			n++ // first byte of a character outside the BMP
		}
	}
	return n
}
