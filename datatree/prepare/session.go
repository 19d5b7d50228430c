package prepare

import (
	"encoding/binary"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// sessions holds the sessions that outstanding txns open or close.
type sessions struct {
	newest  map[proto.SessionID]sessionChange
	changes queue[sessionChange]
	// closing has the newest outstanding closeSession of each session. The ephemerals that the session has in the
	// applied tree are in no slot of the overlay for it: by this they are known not to exist any more.
	closing map[proto.SessionID]proto.Zxid
}

// sessionChange says that the txn zxid opens or closes a session.
type sessionChange struct {
	zxid    proto.Zxid
	session proto.SessionID
	closed  bool
}

func newSessions() sessions {
	return sessions{newest: map[proto.SessionID]sessionChange{}, closing: map[proto.SessionID]proto.Zxid{}}
}

func (s *sessions) add(c sessionChange) {
	s.newest[c.session] = c
	s.changes.push(c)
	if c.closed {
		s.closing[c.session] = c.zxid
	}
}

// ends reports whether an outstanding closeSession deletes a znode of the applied tree.
func (s *sessions) ends(n *datatree.Node) bool {
	return len(s.closing) > 0 && n.Czxid < s.closing[n.Owner]
}

// drop forgets the changes that have been applied.
func (s *sessions) drop(applied proto.Zxid) {
	for s.changes.len() > 0 && s.changes.front().zxid <= applied {
		c := *s.changes.front()
		s.changes.pop()
		if s.newest[c.session].zxid == c.zxid {
			delete(s.newest, c.session)
		}
		if s.closing[c.session] == c.zxid {
			delete(s.closing, c.session)
		}
	}
}

// checkSession returns ErrSessionExpired if the session of the request is closing or unknown. A
// local session is known to the server that takes its requests, and only there.
func (p *Preparer) checkSession() proto.ErrCode {
	if c, ok := p.opened.newest[p.req.Session]; ok {
		if c.closed {
			return proto.ErrSessionExpired
		}
		return proto.OK
	}
	if _, ok := p.state.Session(p.req.Session); ok || p.req.LocalSession {
		return proto.OK
	}
	return proto.ErrSessionExpired
}

func (p *Preparer) createSession(b []byte, timeoutMs int32) []byte {
	p.opened.add(sessionChange{zxid: p.zxid, session: p.req.Session})
	txn := proto.CreateSessionTxn{TimeOut: timeoutMs}
	return txn.AppendTo(b)
}

// closeListBytesMax bounds the list in a closeSession txn, in bytes: Java can not read a longer
// record back. Source: server-semantics 5.9. The second half of it is for parents that have no child in the first:
// the replay over a fuzzy snapshot that lacks an ephemeral already raises the pzxid of its parent only if the list
// names a child of it.
const (
	closeListBytesMax  = 1 << 20
	closeListBytesMost = closeListBytesMax / 2
)

// closeList appends paths to the body of a closeSession txn.
type closeList struct {
	b     []byte
	start int
	count uint32
	full  bool // the first half is
	// parents are those of the listed znodes that outstanding txns have changed.
	parents map[string]bool
}

// add appends a path if there is room. Paths that are left out are found when the txn is applied: every server
// deletes all other znodes that its session owns. first says that the list has no other child of the parent.
func (l *closeList) add(path []byte, first bool) {
	size := len(l.b) - l.start + 4 + len(path)
	l.full = l.full || size > closeListBytesMost
	if l.full && !first || size > closeListBytesMax {
		return
	}
	l.b = proto.AppendBuffer(l.b, path)
	l.count++
}

// closeSession lists the ephemerals that the session will have by then: first those in the tree that no
// outstanding txn deletes, then those that outstanding txns create. From here on the session is closing. Source:
// server-semantics 7.5.
//
// A session may have millions of ephemerals, and all writes wait while they are looked at. So those that no
// outstanding txn has changed get no slot in the overlay (see sessions.closing): for them only the digest and the
// parents change.
func (p *Preparer) closeSession(b []byte) []byte {
	session := p.req.Session
	list := closeList{b: append(b, 0, 0, 0, 0), start: len(b), parents: map[string]bool{}}
	changed, left := p.changedEphemerals(session), childrenGone{at: map[datatree.NodeID]int{}}
	p.state.EachEphemeral(session, func(id datatree.NodeID) {
		n := p.state.Node(id)
		if p.opened.ends(&n) {
			return // by an earlier closeSession
		}
		if len(changed) > 0 && changed[id] {
			p.path = p.state.AppendPath(p.path[:0], id)
			p.closeEphemeral(&list, p.path)
			return
		}
		p.digest -= int64(n.Digest)
		if first := left.count(p.state.Parent(id)); first || !list.full {
			p.path = p.state.AppendPath(p.path[:0], id)
			list.add(p.path, first)
		}
	})
	p.takeFromParents(&left)
	births := &p.overlay.births
	for i := births.head; i != births.tail; i++ {
		if birth := *births.at(i); birth.session == session {
			p.path = append(p.path[:0], p.overlay.slots[birth.slot].path...)
			p.closeEphemeral(&list, p.path)
		}
	}
	p.opened.add(sessionChange{zxid: p.zxid, session: session, closed: true})
	if p.cfg.EmptyClose {
		return b
	}
	binary.BigEndian.PutUint32(list.b[list.start:], list.count)
	return list.b
}

// changedEphemerals returns the ephemerals of a session in the applied tree whose paths outstanding txns change.
func (p *Preparer) changedEphemerals(session proto.SessionID) map[datatree.NodeID]bool {
	var found map[datatree.NodeID]bool
	changes := &p.overlay.changes
	for i := changes.head; i != changes.tail; i++ {
		slot := &p.overlay.slots[changes.at(i).slot]
		if slot.zxid != changes.at(i).zxid {
			continue // a later change of the path follows
		}
		id := p.finder.Lookup(p.state, slot.path)
		if id != 0 && p.state.Node(id).Owner == session {
			if found == nil {
				found = map[datatree.NodeID]bool{}
			}
			found[id] = true
		}
	}
	return found
}

// childrenGone counts children that parents lose, in the order in which the parents have come up.
type childrenGone struct {
	parents []parentOf
	at      map[datatree.NodeID]int // index in parents
	last    int                     // of the parent that was counted last: most znodes of a session are neighbours
}

type parentOf struct {
	id   datatree.NodeID
	gone int32
}

// count counts one child. It reports whether it is the first one of its parent.
func (c *childrenGone) count(parent datatree.NodeID) (first bool) {
	if len(c.parents) == 0 || c.parents[c.last].id != parent {
		at, ok := c.at[parent]
		if !ok {
			at, first = len(c.parents), true
			c.parents = append(c.parents, parentOf{id: parent})
			c.at[parent] = at
		}
		c.last = at
	}
	c.parents[c.last].gone++
	return first
}

// takeFromParents counts deletions in the parents, as removeChild does for one.
func (p *Preparer) takeFromParents(left *childrenGone) {
	for _, of := range left.parents {
		p.path = p.state.AppendPath(p.path[:0], of.id)
		var parent target
		p.load(&parent, p.path)
		p.loseChildren(&parent, of.gone)
	}
}

// closeEphemeral puts a path into the list if it will be an ephemeral of the session, and removes
// it from the future. So a path that comes up twice is listed once.
func (p *Preparer) closeEphemeral(list *closeList, path []byte) {
	var node, parent target
	p.load(&node, path)
	if !node.exists || node.Owner != p.req.Session {
		return
	}
	parentPath, _, _ := paths.SplitParent(path)
	list.add(path, !list.parents[string(parentPath)])
	list.parents[string(parentPath)] = true
	p.load(&parent, parentPath)
	p.removeChild(&parent, &node)
}
