package datatree

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// The digest of the tree, version 2: the sum, modulo 2^64, of a CRC-32 of each znode that is not
// below /zookeeper, over path (empty for the root), data and the stored Stat in an order of its own
// (pzxid third). Source: storage section 7.1.

const statBytes = 60

// digestPrefix returns the CRC of a path and data, which digestStat continues.
func digestPrefix(path, data []byte) uint32 {
	var crc uint32
	if len(path) > 1 {
		crc = crc32.ChecksumIEEE(path)
	}
	return crc32.Update(crc, crc32.IEEETable, data)
}

// digestStat appends the Stat to the CRC of path and data.
func digestStat(prefix uint32, n *Node) uint32 {
	var b [statBytes]byte
	binary.BigEndian.PutUint64(b[0:], uint64(n.Czxid))
	binary.BigEndian.PutUint64(b[8:], uint64(n.Mzxid))
	binary.BigEndian.PutUint64(b[16:], uint64(n.Pzxid))
	binary.BigEndian.PutUint64(b[24:], uint64(n.Ctime))
	binary.BigEndian.PutUint64(b[32:], uint64(n.Mtime))
	binary.BigEndian.PutUint32(b[40:], uint32(n.Version))
	binary.BigEndian.PutUint32(b[44:], uint32(n.Cversion))
	binary.BigEndian.PutUint32(b[48:], uint32(n.Aversion))
	binary.BigEndian.PutUint64(b[52:], uint64(n.Owner))
	return crc32.Update(prefix, crc32.IEEETable, b[:])
}

// digestOf returns the part of the tree's digest that a znode has. NumChildren, ACL and Digest
// of n do not matter.
func digestOf(path, data []byte, n *Node) uint32 {
	if digestHides(path) {
		return 0
	}
	return digestStat(digestPrefix(path, data), n)
}

// digestHides reports whether a path is below /zookeeper, and so outside the digest.
func digestHides(path []byte) bool { return bytes.HasPrefix(path, []byte("/zookeeper/")) }

// digestPrefixOf returns the CRC over the path and the data of a znode, to which its digest appends
// the Stat; 0 for a znode below /zookeeper. path is the znode's. With digestStat it tells
// what the digest will be when the Stat changes.
func (s *State) digestPrefixOf(id NodeID, path []byte) uint32 {
	r := s.rec(id)
	if r.hidden() {
		return 0
	}
	if k := s.kinOf(r); k != nil {
		return k.prefix
	}
	_, data := s.blocks.get(r.block)
	return digestPrefix(path, data)
}

// redigest brings the digest of a znode and of the tree up to its present Stat. The kin's prefix
// must be right already.
func (s *State) redigest(id NodeID, path []byte) {
	r := s.rec(id)
	if r.hidden() {
		return
	}
	n := s.node(r)
	digest := digestStat(s.digestPrefixOf(id, path), &n)
	s.digest += int64(digest) - int64(r.digest)
	r.digest = digest
}

// Digest returns the digest of the tree, comparable with that of a TxnDigest of version
// proto.DigestVersion.
func (s *State) Digest() int64 { return s.digest }
