package datatree

import (
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
)

// Apply is the second step: it applies the txn, and tells sink the deletions that are of interest, in the order in
// which State.Apply tells them. It must run alone, after Prepare has reported true. If an earlier Ending is not
// reaped, it is reaped first.
func (e *Ending) Apply(sink Sink) Applied {
	s := e.state
	e.assertSame()
	invariant("a session that ends was prepared", e.prepared, uint64(e.header.Zxid))
	s.reapAll()
	if sink != nil {
		e.tell(sink)
	}
	for i := range e.runs {
		e.cutOut(&e.runs[i])
	}
	for i := range e.parents {
		e.bereave(&e.parents[i])
	}
	e.passReaders()
	for stats, l := range e.quotas {
		used := quota.Parse(s.Data(stats))
		used.Count -= l.count
		used.Bytes -= l.bytes
		s.setStats(stats, used)
	}
	for acl, n := range e.acls {
		s.acls.releaseSome(acl, n)
	}
	return e.finish()
}

// tell tells sink the deletions that are of interest.
func (e *Ending) tell(sink Sink) {
	if e.all {
		e.tellAll(sink)
		return
	}
	for _, of := range e.late {
		e.told = append(e.told, toldOf{e.rank(of.id), of.id})
	}
	if len(e.late) > 0 {
		e.told = inOrder(e.told)
	}
	for _, of := range e.told {
		e.tellOf(sink, of.id)
	}
}

// tellAll tells sink every deletion. It is slow, and happens only if somebody becomes interested in all deletions
// below a parent while Prepare runs.
func (e *Ending) tellAll(sink Sink) {
	s := e.state
	listed := make([]NodeID, len(e.ranks))
	for id, at := range e.ranks {
		listed[at] = id
	}
	for _, id := range listed {
		e.tellOf(sink, id)
	}
	for id := range s.each(e.owned) {
		if _, ok := e.ranks[id]; !ok {
			e.tellOf(sink, id)
		}
	}
}

func (e *Ending) tellOf(sink Sink, id NodeID) {
	s := e.state
	r := s.rec(id)
	e.path = s.AppendPath(e.path[:0], id)
	fire(sink, proto.EventNodeDeleted, e.path, e.header.Zxid, r.owner, r.acl, s.rec(r.parent).acl)
}

// cutOut takes a run out of the list of siblings. If it was at an end of the list, bereave does the rest.
func (e *Ending) cutOut(of *run) {
	s := e.state
	if of.before != 0 {
		s.rec(of.before).next = of.after
	}
	if of.after != 0 {
		s.rec(of.after).prev = of.before
	}
}

// bereave gives a parent what it has without the children that go.
func (e *Ending) bereave(p *bereaved) {
	s := e.state
	r := s.rec(p.id)
	k := s.kinOf(r)
	if k.children >= WideChildren && k.children-p.gone < WideChildren {
		s.wide--
	}
	k.children -= p.gone
	k.pzxid = max(k.pzxid, e.header.Zxid)
	r.digest = p.digest
	if k.first = p.first; p.first != 0 {
		s.rec(p.first).prev = p.last
	}
}

// passReaders moves those on who go through the tree in slices.
func (e *Ending) passReaders() {
	s := e.state
	for _, w := range s.walkers.live {
		if w.cursor == 0 || w.cursor == Root || s.rec(w.cursor).owner != e.header.ClientID {
			continue
		}
		parent := s.rec(w.cursor).parent
		if w.cursor = e.afterRun(w.cursor); w.cursor == 0 {
			w.cursor = s.beyond(parent, Root)
		}
	}
	for _, l := range s.listings.live {
		if _, ok := e.parentAt[l.parent]; ok {
			l.again = true
		}
		l.gone = l.gone || l.parent != Root && s.rec(l.parent).owner == e.header.ClientID
	}
}

// afterRun returns the sibling that follows the run in which a znode is, 0 if there is none.
func (e *Ending) afterRun(id NodeID) NodeID {
	s := e.state
	if p := &e.parents[e.parentAt[s.rec(id).parent]]; p.heads == 1 {
		return e.runs[p.run].after
	}
	for id != 0 && s.rec(id).owner == e.header.ClientID {
		if at, ok := e.runMarks[id]; ok {
			return e.runs[at].after
		}
		id = s.rec(id).next
	}
	return id
}

// finish takes the session and its znodes out of the sums, and leaves the znodes to Reap.
func (e *Ending) finish() Applied {
	s, h := e.state, &e.header
	s.digest -= e.digests
	s.dataSize -= e.size
	s.ephemerals -= int(e.owned.count)
	s.removals += uint64(e.owned.count)
	of := s.sessions[h.ClientID]
	of.ephemerals = ownedList{}
	s.sessions[h.ClientID] = of
	s.dropSession(h.ClientID)
	s.lastZxid = max(s.lastZxid, h.Zxid)
	s.ended = ended{session: h.ClientID, next: e.owned.first, left: int(e.owned.count)}
	e.checkCostly()
	return Applied{
		Header:         e.header,
		DigestMismatch: e.hasDigest && e.digest != s.digest, DigestMatch: e.hasDigest && e.digest == s.digest,
	}
}

// ended is what Reap has to free: left ephemerals of a session that has ended. They are in no list but that of their
// owner, which begins at next. Invariant: the session owns no other znode.
type ended struct {
	session proto.SessionID
	next    NodeID
	left    int
}

// has reports whether a record is that of a znode that does not exist any more.
func (e *ended) has(r *record) bool { return e.left > 0 && r.owner == e.session }

// Reap frees the memory of at most n znodes that an Ending has taken out of the tree, and reports whether there are
// more. Nothing that a client can see changes. It must run alone.
func (s *State) Reap(n int) (more bool) {
	for near := 0; n > 0 && s.ended.left > 0; n-- {
		id := s.ended.next
		if near--; near < 0 {
			near = s.fetchOwned(id)
		}
		r := s.rec(id)
		s.ended.next = s.kinOf(r).ownNext
		s.ended.left--
		s.table.remove(r.hash, id)
		s.discard(id)
	}
	return s.ended.left > 0
}

// reapAll ends what Reap has begun.
func (s *State) reapAll() {
	for s.Reap(endingSlice) {
	}
}
