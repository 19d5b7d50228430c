package datatree

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// check verifies from scratch everything that is kept incrementally, and panics at the first
// difference.
func (s *State) check() {
	var nodes, ephemerals, kins, wide int
	var digest, size int64
	users := map[ACLID]int{}
	var path []byte
	for id := Root; id != 0; id = s.following(id, Root) {
		nodes++
		r := s.rec(id)
		k := s.kinOf(r)
		if k != nil {
			kins++
			if k.children >= WideChildren {
				wide++
			}
			s.checkChildren(id)
		}
		path = s.AppendPath(path[:0], id)
		invariant("a znode is found by its path", s.Lookup(path) == id, uint64(id))
		n := s.node(r)
		digestWant := uint32(0)
		if !paths.Hidden(path) {
			digestWant = DigestOf(&s.txn.digestIn, path, s.Data(id), &n)
		}
		invariant("a digest is that of path, data and Stat", r.digest == digestWant, uint64(id))
		invariant("a znode is hidden if it is below /zookeeper", r.hidden() == paths.Hidden(path), uint64(id))
		digest += int64(r.digest)
		size += pathUnits(path) + int64(len(s.Data(id)))
		users[r.acl]++
		if proto.IsSessionOwner(r.owner) && id != Root {
			ephemerals++
		}
	}
	left := s.checkEnded()
	invariant("every record is a znode", nodes+left == s.records.live, uint64(nodes))
	invariant("every kin is a znode's", kins+left == s.kins.live, uint64(kins))
	invariant("wide znodes are counted", wide == s.wide, uint64(s.wide))
	invariant("the table has every znode but the root", s.table.count == nodes-1+left, uint64(s.table.count))
	invariant("the digest is the sum of digests", digest == s.digest, uint64(s.digest))
	invariant("the size is the sum of sizes", size == s.dataSize, uint64(s.dataSize))
	invariant("ephemerals are counted", ephemerals == s.ephemerals, uint64(s.ephemerals))
	s.checkACLs(users)
	s.checkOwned()
}

// checkEnded verifies what Reap has to free, and returns how many znodes that is.
func (s *State) checkEnded() (n int) {
	for id := s.ended.next; n < s.ended.left; n++ {
		r := s.rec(id)
		invariant("a znode to reap is of the session that has ended", r.owner == s.ended.session, uint64(id))
		id = s.kinOf(r).ownNext
	}
	owns := s.sessions[s.ended.session].ephemerals.count
	invariant("a session that has ended owns nothing", n == 0 || owns == 0, uint64(n))
	return n
}

func (s *State) checkACLs(users map[ACLID]int) {
	delete(users, OpenACL)
	for id, n := range users {
		e := s.acls.entry(id)
		invariant("an ACL that is used is in the table", e != nil, uint64(id))
		invariant("users of an ACL are counted", e.refs == n, uint64(id))
		invariant("an ACL is found by its bytes", s.acls.byBytes[e.key] == id, uint64(id))
	}
	invariant("an ACL without users is not in the table", len(users) == len(s.acls.byBytes), uint64(len(users)))
}

func (s *State) checkOwned() {
	lists := map[proto.SessionID]ownedList{}
	inTable := 0
	for id, e := range s.sessions {
		lists[id] = e.ephemerals
		if e.inTable {
			inTable++
		}
		invariant("a session is in the table or owns a znode", e.inTable || e.ephemerals.count > 0, uint64(id))
	}
	invariant("sessions are counted", inTable == s.inTable, uint64(inTable))
	check := func(l ownedList, belongs func(proto.SessionID) bool) (n int32) {
		last := NodeID(0)
		for id := range s.each(l) {
			k := s.kinOf(s.rec(id))
			invariant("a znode is in the list of its owner", belongs(s.rec(id).owner), uint64(id))
			invariant("an owned znode names the one before", id == l.first || k.ownPrev == last, uint64(id))
			n, last = n+1, id
		}
		invariant("the first owned znode names the last", l.first == 0 || s.kinOf(s.rec(l.first)).ownPrev == last,
			uint64(last))
		invariant("owned znodes are counted", n == l.count, uint64(n))
		return n
	}
	total := int32(0)
	for id, l := range lists {
		total += check(l, func(owner proto.SessionID) bool { return owner == id })
	}
	invariant("all ephemerals are in lists", int(total) == s.ephemerals, uint64(total))
	check(s.containers, func(owner proto.SessionID) bool { return owner == proto.OwnerContainer })
	check(s.ttls, func(owner proto.SessionID) bool { _, ok := proto.TTLOf(owner); return ok })
}
