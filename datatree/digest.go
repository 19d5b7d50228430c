package datatree

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/seed94657493/warren/proto"
)

// The digest of the tree, version 2: the sum, modulo 2^64, of a CRC-32 of each znode that is not
// below /zookeeper, over path (empty for the root), data and the stored Stat in an order of its own
// (pzxid third). Source: storage 7.1.

// Digest returns the digest of the tree, comparable with that of a TxnDigest of version
// proto.DigestVersion.
func (s *State) Digest() int64 { return s.digest }

// redigest computes the digest of a znode that is new or has new data, and corrects that of the
// tree.
func (s *State) redigest(id NodeID, path []byte) {
	r := s.rec(id)
	if r.hidden() {
		return
	}
	_, data := s.blocks.get(r.block)
	n := s.node(r)
	s.digestBecomes(r, DigestOf(&s.txn.digestIn, path, data, &n))
}

// digestStat corrects the digest of a znode and that of the tree after a change of its Stat alone.
// It needs neither path nor data: a CRC is linear, so those of two messages of one length differ
// by the CRC, without its initial and final complement, of their difference, in which leading
// zeros do not count.
func (s *State) digestStat(id NodeID, old *Node) {
	r := s.rec(id)
	if r.hidden() {
		return
	}
	n := s.node(r)
	s.digestBecomes(r, r.digest^DigestDifference(&s.txn.digestIn, old, &n))
}

// DigestDifference returns the difference, by exclusive or, of the digests of a znode with two Stats.
func DigestDifference(scratch *DigestScratch, old, n *Node) uint32 {
	diff := Node{
		Czxid: old.Czxid ^ n.Czxid, Mzxid: old.Mzxid ^ n.Mzxid, Pzxid: old.Pzxid ^ n.Pzxid,
		Ctime: old.Ctime ^ n.Ctime, Mtime: old.Mtime ^ n.Mtime, Owner: old.Owner ^ n.Owner,
		Version: old.Version ^ n.Version, Cversion: old.Cversion ^ n.Cversion, Aversion: old.Aversion ^ n.Aversion,
	}
	in := scratch[:digestAlign]
	clear(in[:digestAlign-proto.StatPersistedSize])
	putDigestStat(in[digestAlign-proto.StatPersistedSize:], &diff)
	return ^crc32.Update(^uint32(0), crc32.IEEETable, in)
}

func (s *State) digestBecomes(r *record, digest uint32) {
	s.digest += int64(digest) - int64(r.digest)
	r.digest = digest
}

// DigestScratch is memory for the input of a CRC. The CRC of one piece of memory is several times as fast as that
// of three, and of a multiple of digestAlign bytes faster still, so small znodes are put together first.
type DigestScratch [1024]byte

const digestAlign = 64

// DigestOf returns the part of the tree's digest that a znode has which is not below /zookeeper.
// NumChildren, ACL and Digest of n do not matter.
func DigestOf(scratch *DigestScratch, path, data []byte, n *Node) uint32 {
	if len(path) == 1 {
		path = nil
	}
	if size := len(path) + len(data) + proto.StatPersistedSize; size <= len(scratch) {
		copy(scratch[copy(scratch[:], path):], data)
		putDigestStat(scratch[size-proto.StatPersistedSize:size], n)
		return crc32.ChecksumIEEE(scratch[:size])
	}
	crc := crc32.Update(crc32.ChecksumIEEE(path), crc32.IEEETable, data)
	stat := scratch[:proto.StatPersistedSize]
	putDigestStat(stat, n)
	return crc32.Update(crc, crc32.IEEETable, stat)
}

// putDigestStat encodes the stored Stat as the digest takes it in.
func putDigestStat(b []byte, n *Node) {
	_ = b[proto.StatPersistedSize-1]
	binary.BigEndian.PutUint64(b[0:], uint64(n.Czxid))
	binary.BigEndian.PutUint64(b[8:], uint64(n.Mzxid))
	binary.BigEndian.PutUint64(b[16:], uint64(n.Pzxid))
	binary.BigEndian.PutUint64(b[24:], uint64(n.Ctime))
	binary.BigEndian.PutUint64(b[32:], uint64(n.Mtime))
	binary.BigEndian.PutUint32(b[40:], uint32(n.Version))
	binary.BigEndian.PutUint32(b[44:], uint32(n.Cversion))
	binary.BigEndian.PutUint32(b[48:], uint32(n.Aversion))
	binary.BigEndian.PutUint64(b[52:], uint64(n.Owner))
}
