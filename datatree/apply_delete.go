package datatree

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// applyDelete applies delete and deleteContainer, and one path of a closeSession. If a znode has children they
// are deleted with it: they belong to its next incarnation, which a fuzzy snapshot has seen and which later txns
// create again. Source: storage 5.7 and 6.4.
func (s *State) applyDelete(path []byte, zxid proto.Zxid, sink Sink) proto.ErrCode {
	parentPath, name := paths.Split(path)
	if len(name) == 0 {
		return proto.ErrNoNode
	}
	parent := s.txn.finder.parent(s, parentPath)
	if parent == 0 {
		return proto.ErrNoNode
	}
	s.raisePzxid(parent, zxid)
	id := s.Child(parent, name)
	if id == 0 {
		return proto.ErrNoNode
	}
	s.deleteTree(id, path, zxid, sink)
	return proto.OK
}

// deleteTree deletes a znode with what is below it. The pzxid of its parent is raised already.
func (s *State) deleteTree(id NodeID, path []byte, zxid proto.Zxid, sink Sink) {
	for s.FirstChild(id) != 0 {
		s.deleteLeafBelow(id, path, zxid, sink)
	}
	s.deleteLeaf(id, path, zxid, sink)
}

// deleteLeafBelow deletes a first child of a first child of ... a znode.
func (s *State) deleteLeafBelow(id NodeID, path []byte, zxid proto.Zxid, sink Sink) {
	below := append(s.txn.path[:0], path...)
	for c := s.FirstChild(id); c != 0; c = s.FirstChild(id) {
		id = c
		below = append(append(below, '/'), s.Name(id)...)
	}
	s.txn.path = below
	s.deleteLeaf(id, below, zxid, sink)
}

// deleteLeaf deletes a znode without children.
func (s *State) deleteLeaf(id NodeID, path []byte, zxid proto.Zxid, sink Sink) {
	parentACL := s.rec(s.rec(id).parent).acl
	bytesGone := len(s.Data(id))
	owner := s.rec(id).owner
	acl := s.remove(id, path)
	s.account(path, -int64(bytesGone), -1)
	fire(sink, proto.EventNodeDeleted, path, zxid, owner, acl, parentACL)
	s.acls.release(acl) // not before: the sink may ask which connections may know of the deletion
}

// raisePzxid gives a parent the pzxid of a delete, unless it has a higher one.
func (s *State) raisePzxid(parent NodeID, zxid proto.Zxid) {
	if k := s.kinOf(s.rec(parent)); k != nil && zxid <= k.pzxid {
		return // as for all but one of the siblings that go with one session
	}
	old := s.Node(parent)
	if zxid <= old.Pzxid {
		return
	}
	s.needKin(s.rec(parent)).pzxid = zxid
	s.digestStat(parent, &old)
}

// applyCloseSession ends a session: it deletes the listed paths in their order, then the znodes that the session
// still owns, oldest first. Source: server-semantics 5.9.
func (s *State) applyCloseSession(h *proto.TxnHeader, paths []proto.Text, sink Sink) {
	for _, path := range paths {
		s.applyDelete(path, h.Zxid, sink)
	}
	s.deleteEphemerals(h.ClientID, h.Zxid, sink)
	s.dropSession(h.ClientID)
}

// deleteEphemerals deletes the znodes of a session and returns how many there were.
func (s *State) deleteEphemerals(id proto.SessionID, zxid proto.Zxid, sink Sink) int {
	n, near := 0, 0
	for {
		node := s.sessions[id].ephemerals.first
		if node == 0 {
			return n
		}
		if near--; near < 0 {
			near = s.fetchOwned(node)
		}
		s.txn.ephemeral = s.AppendPath(s.txn.ephemeral[:0], node)
		s.raisePzxid(s.rec(node).parent, zxid)
		s.deleteTree(node, s.txn.ephemeral, zxid, sink)
		n++
	}
}

// fetchOwned reads what the deletion of a znode and of the next ones in its owner's list will change, and returns how
// many the next ones are. Records, names and index of a large tree are not in the processor's caches: here, where
// nothing depends on what is read, it waits for many at once.
func (s *State) fetchOwned(id NodeID) int {
	const batch = 64
	n, read := 0, uint64(0)
	for ; id != 0 && n < batch; n++ {
		r := s.rec(id)
		read += s.table.fetch(r.hash) + uint64(s.blocks.fetch(r.block))
		id = s.kinOf(r).ownNext
	}
	s.txn.fetched = read
	return n - 1
}

// DropOrphanEphemerals deletes the ephemerals of sessions that are not in the session table and
// returns how many there were. The server calls it once, after the snapshot is loaded and the log
// replayed: a session that ended while a fuzzy snapshot was written may have left some behind. No
// txn says so; every server that loads the same files does the same. Source: storage 6.1
// step 7. It must run alone.
func (s *State) DropOrphanEphemerals() int {
	n := 0
	for _, id := range s.sessionIDs() {
		if !s.sessions[id].inTable {
			n += s.deleteEphemerals(id, s.lastZxid, nil)
		}
	}
	return n
}

// EndSessions ends every session, as a txn at zxid would that closes all of them, and returns how many there
// were. Ephemerals of sessions that are not in the table go too. zxid is later than LastZxid, and is the last one
// after that. It must run alone.
func (s *State) EndSessions(zxid proto.Zxid) int {
	n := s.inTable
	for _, id := range s.sessionIDs() {
		s.deleteEphemerals(id, zxid, nil)
		s.dropSession(id)
	}
	s.lastZxid = zxid
	return n
}
