package datatree

import (
	"slices"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// Walker serialises a State in slices, while txns go on between them, in the format of a snapshot file without
// its header and seals: sessions, ACL table, znodes parents first, "/". It belongs to one goroutine, which holds
// the read lock in every call. Source: storage 5.1.
//
// Its output is fuzzy: txns after Zxid may show in it or not, and replay of them makes it exact. It leaves out
// znodes created after Zxid, which replay creates, so that no replayed create meets its own znode. The ACL table
// is the one of the beginning. A znode that has got a newer ACL is written with one that grants no permission,
// until the replayed setACL corrects it.
//
// Invariant: cursor is the next znode in the walk that is not written yet, or 0. New znodes are last among their
// siblings and State moves the cursor on when the znode under it is deleted, so the walk meets every znode that
// is there all the time exactly once.
type Walker struct {
	state *State
	zxid  proto.Zxid
	phase walkPhase

	sessions []walkedSession
	acls     []walkedACL
	denyKey  ACLID
	known    []uint64 // set of the ACLIDs in acls

	counted bool // the count of this phase's sessions or acls is written
	written int  // sessions or acls written so far
	cursor  NodeID
	closed  bool
}

type walkPhase int

const (
	walkSessions walkPhase = iota
	walkACLs
	walkNodes
	walkDone
)

type walkedSession struct {
	id        proto.SessionID
	timeoutMs int32
}

type walkedACL struct {
	key  ACLID
	list []proto.ACL
}

// skipCost is how many bytes of the budget a znode that is left out costs, so that a slice also takes a short
// time when there is nothing to write.
const skipCost = 32

// walkers are the snapshots in progress. They begin and end under the read lock, so mu guards the list, and the
// state that the ACLTable keeps for them, against each other. The writer needs no mu.
type walkers struct {
	mu   sync.Mutex
	live []*Walker
}

// leave tells all walkers that a znode without children is about to be deleted.
func (w *walkers) leave(s *State, id NodeID) {
	for _, walker := range w.live {
		if walker.cursor == id {
			walker.cursor = s.beyond(id, Root)
		}
	}
}

// NewWalker begins a snapshot of the present state. The caller holds the read lock, and must Close
// the Walker in the end.
func (s *State) NewWalker() *Walker {
	w := &Walker{state: s, zxid: s.lastZxid, cursor: Root}
	w.sessions = make([]walkedSession, 0, s.inTable)
	s.EachSession(func(id proto.SessionID, timeoutMs int32) {
		w.sessions = append(w.sessions, walkedSession{id, timeoutMs})
	})
	s.walkers.mu.Lock()
	defer s.walkers.mu.Unlock()
	s.walkers.live = append(s.walkers.live, w)
	w.acls, w.denyKey = s.acls.hold()
	w.known = make([]uint64, len(s.acls.entries)/64+1)
	for _, e := range w.acls {
		if e.key != w.denyKey {
			w.known[e.key/64] |= 1 << (e.key % 64)
		}
	}
	return w
}

// Zxid returns the zxid that the snapshot is named for: replay must begin after it.
func (w *Walker) Zxid() proto.Zxid { return w.zxid }

// Next appends about budget bytes, whole records only, and reports whether that was all. It may
// append nothing when it has left out many znodes. The caller holds the read lock.
func (w *Walker) Next(b []byte, budget int) (out []byte, done bool) {
	invariant("a closed walker is not used", !w.closed, uint64(w.zxid))
	limit := len(b) + max(budget, 1)
	if w.phase == walkSessions {
		b = w.nextSessions(b, limit)
	}
	if w.phase == walkACLs {
		b = w.nextACLs(b, limit)
	}
	if w.phase == walkNodes {
		b = w.nextNodes(b, limit)
	}
	return b, w.phase == walkDone
}

func (w *Walker) nextSessions(b []byte, limit int) []byte {
	if !w.counted {
		b = proto.AppendInt32(b, int32(len(w.sessions)))
		w.counted = true
	}
	for w.written < len(w.sessions) && len(b) < limit {
		e := w.sessions[w.written]
		b = proto.AppendInt32(proto.AppendInt64(b, int64(e.id)), e.timeoutMs)
		w.written++
	}
	if w.written == len(w.sessions) {
		w.phase, w.counted, w.written, w.sessions = walkACLs, false, 0, nil
	}
	return b
}

func (w *Walker) nextACLs(b []byte, limit int) []byte {
	if len(b) >= limit {
		return b
	}
	if !w.counted {
		b = proto.AppendInt32(b, int32(len(w.acls)))
		w.counted = true
	}
	for w.written < len(w.acls) && len(b) < limit {
		e := w.acls[w.written]
		b = proto.AppendInt64(b, int64(e.key))
		b = proto.AppendInt32(b, int32(len(e.list)))
		for i := range e.list {
			b = e.list[i].AppendTo(b)
		}
		w.written++
	}
	if w.written == len(w.acls) {
		w.phase, w.acls = walkNodes, nil
	}
	return b
}

func (w *Walker) nextNodes(b []byte, limit int) []byte {
	s := w.state
	for len(b) < limit {
		if w.cursor == 0 {
			w.phase = walkDone
			return proto.AppendString(b, "/")
		}
		if s.rec(w.cursor).czxid > w.zxid {
			w.cursor = s.beyond(w.cursor, Root)
			limit -= skipCost
			continue
		}
		b = w.appendNode(b, w.cursor)
		w.cursor = s.following(w.cursor, Root)
	}
	return b
}

// appendNode appends the record of a znode. The root's path is empty.
func (w *Walker) appendNode(b []byte, id NodeID) []byte {
	s := w.state
	r := s.rec(id)
	n := s.node(r)
	start := len(b)
	b = proto.AppendInt32(b, 0)
	if id != Root {
		b = s.AppendPath(b, id)
		proto.AppendInt32(b[start:start], int32(len(b)-start-4))
	}
	b = proto.AppendBuffer(b, s.Data(id))
	b = proto.AppendInt64(b, int64(w.aclKey(r.acl)))
	st := proto.StatPersisted{
		Czxid: n.Czxid, Mzxid: n.Mzxid, Ctime: n.Ctime, Mtime: n.Mtime, Version: n.Version,
		Cversion: n.Cversion, Aversion: n.Aversion, EphemeralOwner: n.Owner, Pzxid: n.Pzxid,
	}
	return st.AppendTo(b)
}

// aclKey returns the key of an ACL in the table that was written.
func (w *Walker) aclKey(id ACLID) ACLID {
	if id == OpenACL || int(id/64) < len(w.known) && w.known[id/64]>>(id%64)&1 != 0 {
		return id
	}
	return w.denyKey
}

// End returns the zxid up to which the State has applied txns, and its digest, for the sections after the walk:
// replay up to that zxid must arrive at that digest. The caller holds the read lock.
func (w *Walker) End() (lastZxid proto.Zxid, digest int64) {
	return w.state.lastZxid, w.state.digest
}

// Close ends the snapshot, complete or not. It may be called again. The caller holds the read or
// the write lock.
func (w *Walker) Close() {
	s := w.state
	s.walkers.mu.Lock()
	defer s.walkers.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	at := slices.Index(s.walkers.live, w)
	s.walkers.live = slices.Delete(s.walkers.live, at, at+1)
	s.acls.letGo()
}
