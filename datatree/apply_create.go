package datatree

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// applyCreate applies the four kinds of create. Source: server-semantics 5.2 to 5.4,
// storage 6.4.
func (s *State) applyCreate(h *proto.TxnHeader, b *txnBody, sink Sink) (NodeID, proto.ErrCode) {
	var owner proto.SessionID
	switch {
	case b.op == proto.OpCreateContainer:
		owner = proto.OwnerContainer
	case b.op == proto.OpCreateTTL:
		if b.ttl < 1 || b.ttl > proto.MaxTTL {
			return 0, proto.ErrBadArguments // a record that Java logs and then cannot apply
		}
		owner = proto.TTLOwner(b.ttl)
	case b.owner:
		owner = h.ClientID
		if s.ended.session == owner {
			s.reapAll() // what it owned does not exist any more, what it owns now does
		}
	}
	parentPath, name := paths.Split(b.path)
	if len(name) == 0 {
		return 0, proto.ErrNoNode
	}
	parent := s.txn.finder.parent(s, parentPath)
	if parent == 0 {
		return 0, proto.ErrNoNode
	}
	hash := s.hashName(parent, name)
	if id := s.find(parent, hash, name); id != 0 {
		s.adopt(id, b.acl)
		if b.op == proto.OpCreate {
			s.raiseCversion(parent, b, h.Zxid)
		}
		return 0, proto.ErrNodeExists
	}

	s.raiseCversion(parent, b, h.Zxid)
	id := s.add(parent, hash, b.path, name, b.data, s.acls.acquire(b.acl), &Node{
		Czxid: h.Zxid, Mzxid: h.Zxid, Pzxid: h.Zxid, Ctime: h.Time, Mtime: h.Time, Owner: owner,
	})
	s.table.insert(hash, id, s.hashOfFn)
	s.accountCreated(id, parentPath, b.path, len(b.data))
	fire(sink, proto.EventNodeCreated, b.path, h.Zxid, owner, s.rec(id).acl, s.rec(parent).acl)
	return id, proto.OK
}

// adopt gives a znode that a replayed create finds the ACL of the txn: the snapshot may have lost the ACL that
// the znode names (ZOOKEEPER-4846).
func (s *State) adopt(id NodeID, acl []proto.ACL) {
	s.acls.release(s.setACL(id, s.acls.acquire(acl)))
}

// raiseCversion gives a parent the cversion and pzxid of a create. If its cversion is that high already, a fuzzy
// snapshot has seen this create, and nothing changes.
func (s *State) raiseCversion(parent NodeID, b *txnBody, zxid proto.Zxid) {
	old := s.Node(parent)
	cversion := b.parentCversion
	if b.countsUp {
		cversion = old.Cversion + 1
	}
	if cversion <= old.Cversion {
		return
	}
	k := s.needKin(s.rec(parent))
	k.cversion, k.pzxid = cversion, zxid
	s.digestStat(parent, &old)
}
