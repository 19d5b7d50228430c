package datatree

import (
	"iter"

	"github.com/seed94657493/warren/proto"
)

// Znodes that end by themselves are in lists by the cause of their end: the ephemerals of each session, the
// containers, the TTL znodes. The lists run through the znodes' kin, oldest first; the first one's ownPrev is the
// last one.

// ownedList is a list of znodes with one owner.
type ownedList struct {
	first NodeID
	count int32
}

// session is the entry of a session in the session table, its ephemerals, or both. Ephemerals without an entry
// are orphans (see DropOrphanEphemerals).
type session struct {
	ephemerals ownedList
	timeoutMs  int32
	inTable    bool
}

// own puts a znode, whose owner is set, into the list of its owner, if its owner has one. The root is in no list,
// whatever owner a snapshot gives it: it never ends.
func (s *State) own(id NodeID) {
	r := s.rec(id)
	switch {
	case r.owner == 0 || id == Root:
	case proto.IsSessionOwner(r.owner):
		e := s.sessions[r.owner]
		s.append(&e.ephemerals, id)
		s.sessions[r.owner] = e
		s.ephemerals++
	case r.owner == proto.OwnerContainer:
		s.append(&s.containers, id)
	default:
		s.append(&s.ttls, id)
	}
}

// disown takes a znode out of the list of its owner.
func (s *State) disown(id NodeID) {
	r := s.rec(id)
	switch {
	case r.owner == 0 || id == Root:
	case proto.IsSessionOwner(r.owner):
		e := s.sessions[r.owner]
		s.take(&e.ephemerals, id)
		if e.ephemerals.count == 0 && !e.inTable {
			delete(s.sessions, r.owner)
		} else {
			s.sessions[r.owner] = e
		}
		s.ephemerals--
	case r.owner == proto.OwnerContainer:
		s.take(&s.containers, id)
	default:
		s.take(&s.ttls, id)
	}
}

func (s *State) append(l *ownedList, id NodeID) {
	k := s.needKin(s.rec(id))
	l.count++
	if l.first == 0 {
		l.first, k.ownPrev = id, id
		return
	}
	first := s.kinOf(s.rec(l.first))
	k.ownPrev = first.ownPrev
	s.kinOf(s.rec(first.ownPrev)).ownNext = id
	first.ownPrev = id
}

func (s *State) take(l *ownedList, id NodeID) {
	invariant("an owned znode is in a list", l.count > 0, uint64(id))
	k := s.kinOf(s.rec(id))
	if l.first == id {
		l.first = k.ownNext
	} else {
		s.kinOf(s.rec(k.ownPrev)).ownNext = k.ownNext
	}
	if k.ownNext != 0 {
		s.kinOf(s.rec(k.ownNext)).ownPrev = k.ownPrev
	} else if l.first != 0 {
		s.kinOf(s.rec(l.first)).ownPrev = k.ownPrev
	}
	k.ownNext, k.ownPrev = 0, 0
	l.count--
}

// each yields the znodes of a list. The list must not change meanwhile.
func (s *State) each(l ownedList) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for id := l.first; id != 0; id = s.kinOf(s.rec(id)).ownNext {
			if !yield(id) {
				return
			}
		}
	}
}
