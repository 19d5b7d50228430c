package datatree

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// Ending applies one txn, the closeSession of a session with very many ephemerals, so that no step keeps others out
// of the tree for long. The result of every step is that of Apply:
//
//  1. Prepare, under the read lock and in slices, looks at each znode and notes what will be different without it:
//     the lists of children, the Stats of parents, the digest, the sizes, the users of ACLs and quotas, and the
//     deletions that the sink must hear of. It changes nothing.
//  2. Apply, under the write lock, is the txn. All znodes leave the tree at once. Its time grows with the number of
//     their parents, of the runs that they are among their siblings, and of the events.
//  3. State.Reap, under the write lock and in slices, frees their memory. Until then their entries are in the table,
//     and find passes over them: an ephemeral whose owner has ended does not exist.
//
// Nothing may be applied to the State between NewEnding and Apply. Between Apply and the end of Reap anything may: a
// new znode of the same path is another entry of the table. An Ending belongs to the goroutine that applies; Late
// alone may be called by another one, and the caller keeps it and Prepare apart.
type Ending struct {
	state     *State
	header    proto.TxnHeader
	listed    []proto.Text // paths of the txn, which aliases the payload
	digest    int64        // that the txn expects
	hasDigest bool
	owned     ownedList // the znodes, oldest first
	interest  Interest
	rest      func()
	looked    int // znodes looked at since the last rest
	finder    Finder
	path      []byte
	diff      DigestScratch

	ranks    map[NodeID]int32 // places of the listed znodes in the order of events
	ownMarks map[NodeID]int32 // places in the list of the owner, of marked znodes
	parents  []bereaved
	parentAt map[NodeID]int32 // index in parents
	parent   int32            // of the last znode
	above    map[NodeID]struct{}
	runs     []run
	runMarks map[NodeID]int32 // index in runs, of marked znodes
	acls     map[ACLID]int32  // users that go, without the last ones: so many users of acl
	acl      ACLID
	users    int32
	quotas   map[NodeID]loss // by stats node
	digests  int64           // sum of the digests of the znodes, and of what the parents lose
	size     int64           // what DataSize loses
	told     []toldOf        // deletions that the sink hears of, in the order of events once Prepare has returned
	late     []toldOf
	all      bool // the sink hears of every deletion
	ranked   bool // told is complete but for late
	prepared bool
	since    moment // of NewEnding
	slice    int    // znodes between two rests
	mark     int32  // of so many znodes in a list one is marked, so that the place of any is found in as many steps
}

// bereaved is a znode that loses children. first and last are the first and the last child that stay.
type bereaved struct {
	id          NodeID
	first, last NodeID
	gone        int32
	bytes       int64 // of their data
	heads       int32 // runs, and their ends
	tails       int32
	tail        NodeID // the last end that was found
	run         int32  // index in runs, if there is only one
	units       int64  // length of its path in front of a slash
	digest      uint32
	eldest      toldOf // the first child that goes, in the order of events
	below       Deletions
	stats       NodeID // of the quota that counts its children, unless each child may have another one
	eachQuota   bool
}

// run is znodes of the session that are neighbours among their siblings: from head on, between two that stay. 0 is
// none.
type run struct {
	parent              int32
	head, before, after NodeID
}

// loss is what a quota loses.
type loss struct{ count, bytes int64 }

// toldOf is a deletion of which the sink hears.
type toldOf struct {
	rank int32
	id   NodeID
}

// moment is what changes with every txn. It stays when SetConfig and Reap change what does not matter here.
type moment struct {
	zxid     proto.Zxid
	removals uint64
}

// endingSlice is the usual Ending.slice and Ending.mark: Prepare looks at so many znodes in less than 0.3 ms.
const endingSlice = 1024

// Deletions says which deletions of children of a znode are of interest.
type Deletions uint8

// NoDeletion is of interest to nobody, FirstDeletion to watches that fire once, EveryDeletion to others.
const (
	NoDeletion Deletions = iota
	FirstDeletion
	EveryDeletion
)

// Interest says of which deletions a Sink must hear. It may hear of more.
type Interest interface {
	// Below is about the children of the znode at path, to those who are interested in it or in one above it.
	Below(path []byte) Deletions
	// At is about the znode at path itself.
	At(path []byte) bool
}

// NewEnding returns the Ending of a txn, or nil if the txn does not end a session that has at least least
// ephemerals. The caller holds the read or the write lock. The payload must not change before Ending.Apply.
func (s *State) NewEnding(payload []byte, least int) *Ending {
	var h proto.TxnHeader
	r := proto.NewReader(payload)
	if h.Decode(&r); r.Err() != nil || h.Type != proto.OpCloseSession {
		return nil
	}
	owned := s.sessions[h.ClientID].ephemerals
	if int(owned.count) < max(least, 1) {
		return nil
	}
	t := new(txnScratch)
	if t.decode(h.Type, &r) != nil {
		return nil
	}
	e := &Ending{
		state: s, header: h, listed: t.body.paths, owned: owned, since: s.moment(),
		slice: endingSlice, mark: endingSlice,
	}
	e.digest, e.hasDigest = t.digest(h.Type, &r)
	e.ranks = make(map[NodeID]int32, len(e.listed))
	e.ownMarks, e.runMarks = map[NodeID]int32{}, map[NodeID]int32{}
	e.parentAt, e.above = map[NodeID]int32{}, map[NodeID]struct{}{}
	e.acls, e.quotas = map[ACLID]int32{}, map[NodeID]loss{}
	return e
}

func (s *State) moment() moment { return moment{s.lastZxid, s.removals} }

// Session returns the session that ends.
func (e *Ending) Session() proto.SessionID { return e.header.ClientID }

// EachSlice makes Prepare rest after n znodes, and not after the usual number.
func (e *Ending) EachSlice(n int) { e.slice = n }

// Prepare is the first step. The caller holds the read lock; rest is called now and then and may release it for a
// moment. Prepare reports false if the txn must be applied by State.Apply: a leader makes no such txn of an exact
// tree, but the replay over a fuzzy snapshot may meet one that lists a path that is not there, and an ephemeral with
// children.
func (e *Ending) Prepare(in Interest, rest func()) bool {
	e.interest, e.rest = in, rest
	if !e.lookUpListed() || !e.lookAtOwned() {
		return false
	}
	e.countUsers()
	for i := range e.runs {
		e.looksAtOne()
		e.endRun(int32(i))
	}
	for i := range e.parents {
		p := &e.parents[i]
		if p.below == FirstDeletion {
			e.told = append(e.told, p.eldest)
		}
		if !p.eachQuota {
			e.countUse(p.stats, loss{int64(p.gone), p.bytes})
		}
	}
	e.told = inOrder(e.told)
	e.ranked = true
	for i := range e.parents {
		e.looksAtOne()
		e.foreseeStat(&e.parents[i])
	}
	e.prepared = true
	return true
}

// looksAtOne rests when enough znodes have been looked at.
func (e *Ending) looksAtOne() {
	if e.looked++; e.looked >= e.slice {
		e.looked = 0
		e.rest()
		e.assertSame()
	}
}

// assertSame asserts that the State is the one that was looked at.
func (e *Ending) assertSame() {
	invariant("nothing is applied while a session ends", e.state.moment() == e.since, uint64(e.header.Zxid))
}

// lookUpListed finds the znodes that the txn lists. They are deleted before the others.
func (e *Ending) lookUpListed() bool {
	s := e.state
	for i, path := range e.listed {
		e.looksAtOne()
		id := NodeID(0)
		if parentPath, name := paths.Split(path); len(name) > 0 {
			if parent := e.finder.parent(s, parentPath); parent != 0 {
				id = s.Child(parent, name)
			}
		}
		if id == 0 || id == Root || s.rec(id).owner != e.header.ClientID {
			return false
		}
		e.ranks[id] = int32(i)
	}
	return len(e.ranks) == len(e.listed)
}

// lookAtOwned goes through the list of the owner: it finds the parents, the heads of the runs, and the deletions
// that are of interest.
func (e *Ending) lookAtOwned() bool {
	s, near := e.state, 0
	place := int32(0)
	for id := e.owned.first; id != 0; place++ {
		e.looksAtOne()
		if near--; near < 0 {
			near = s.fetchOwned(id)
		}
		r := s.rec(id)
		k := s.kinOf(r)
		if r.hidden() || id == s.system || k.children != 0 {
			return false
		}
		if place%e.mark == 0 {
			e.ownMarks[id] = place
		}
		rank := int32(len(e.ranks)) + place
		if len(e.ranks) > 0 {
			if at, ok := e.ranks[id]; ok {
				rank = at
			}
		}
		at := e.parentOf(r.parent)
		p := &e.parents[at]
		if p.eldest.id == 0 || rank < p.eldest.rank {
			p.eldest = toldOf{rank, id}
		}
		if p.below == EveryDeletion || e.isWatched(id) {
			e.told = append(e.told, toldOf{rank, id})
		}
		e.lookAt(r, p, id)
		switch {
		case s.FirstChild(r.parent) == id:
			p.heads++
			e.runs = append(e.runs, run{parent: at, head: id})
		case s.rec(r.prev).owner != e.header.ClientID:
			p.heads++
			e.runs = append(e.runs, run{parent: at, head: id, before: r.prev})
		}
		if r.next == 0 || s.rec(r.next).owner != e.header.ClientID {
			p.tails++
			p.tail = id
		}
		id = k.ownNext
	}
	invariant("the ephemerals of a session are counted", place == e.owned.count, uint64(place))
	return true
}

func (e *Ending) isWatched(id NodeID) bool {
	e.path = e.state.AppendPath(e.path[:0], id)
	return e.interest.At(e.path)
}

// parentOf returns the index in parents of a znode that loses children.
func (e *Ending) parentOf(id NodeID) int32 {
	if len(e.parents) > 0 && e.parents[e.parent].id == id {
		return e.parent
	}
	at, ok := e.parentAt[id]
	if !ok {
		at = int32(len(e.parents))
		e.parents = append(e.parents, e.newParent(id))
		e.parentAt[id] = at
	}
	e.parent = at
	return at
}

func (e *Ending) newParent(id NodeID) bereaved {
	s := e.state
	p := bereaved{id: id, first: s.FirstChild(id)}
	p.last = s.rec(p.first).prev
	e.path = s.AppendPath(e.path[:0], id)
	if id != Root {
		p.units = pathUnits(e.path)
	}
	p.below = e.interest.Below(e.path)
	for at := id; at != 0; at = s.rec(at).parent {
		if _, ok := e.above[at]; ok {
			break
		}
		e.above[at] = struct{}{}
	}
	if s.quota != 0 && s.FirstChild(s.quota) != 0 {
		_, p.stats = s.deepestQuota(e.path)
		place := s.quota
		if id != Root {
			place = s.Lookup(slices.Concat(s.AppendPath(nil, s.quota), e.path))
		}
		p.eachQuota = place != 0
	}
	return p
}

// lookAt adds up what goes with a znode.
func (e *Ending) lookAt(r *record, p *bereaved, id NodeID) {
	s := e.state
	name, data := s.blocks.get(r.block)
	p.gone++
	p.bytes += int64(len(data))
	e.size += p.units + 1 + pathUnits(name) + int64(len(data))
	e.digests += int64(r.digest)
	if r.acl != e.acl {
		e.countUsers()
		e.acl = r.acl
	}
	e.users++
	if p.eachQuota {
		e.path = s.AppendPath(e.path[:0], id)
		_, stats := s.deepestQuota(e.path)
		e.countUse(stats, loss{1, int64(len(data))})
	}
}

// endRun finds the end of a run. If its parent has no other, the end is known.
func (e *Ending) endRun(at int32) {
	s, of := e.state, &e.runs[at]
	p := &e.parents[of.parent]
	invariant("a run has two ends", p.heads == p.tails && p.heads > 0, uint64(p.id))
	if p.heads == 1 {
		p.run, of.after = at, s.rec(p.tail).next
	} else {
		of.after = e.walkRun(at)
	}
	if of.before == 0 {
		p.first = of.after
	}
	if of.after == 0 {
		p.last = of.before
	}
}

// walkRun goes through a run and returns the sibling after it, 0 if there is none.
func (e *Ending) walkRun(at int32) NodeID {
	s := e.state
	id := e.runs[at].head
	for n := int32(1); id != 0 && s.rec(id).owner == e.header.ClientID; n++ {
		e.looksAtOne()
		if n%e.mark == 0 {
			e.runMarks[id] = at
		}
		id = s.rec(id).next
	}
	return id
}

// countUsers adds the last znodes, which have one ACL, to the users that ACLs lose.
func (e *Ending) countUsers() {
	if e.users > 0 && e.acl != OpenACL {
		e.acls[e.acl] += e.users
	}
	e.users = 0
}

func (e *Ending) countUse(stats NodeID, l loss) {
	if stats != 0 {
		sum := e.quotas[stats]
		e.quotas[stats] = loss{sum.count + l.count, sum.bytes + l.bytes}
	}
}

// foreseeStat computes the digest that a parent has when the session has ended. Of what the digest takes in only the
// pzxid changes.
func (e *Ending) foreseeStat(p *bereaved) {
	s := e.state
	r := s.rec(p.id)
	old := s.node(r)
	now := old
	now.Pzxid = max(old.Pzxid, e.header.Zxid)
	p.digest = r.digest
	if !r.hidden() {
		p.digest ^= DigestDifference(&e.diff, &old, &now)
	}
	e.digests += int64(r.digest) - int64(p.digest)
}

// Late tells of an interest in a path that has begun since Prepare was called: in the znode itself, in deletions of
// its children, and, if deep, in those of all znodes below it. The caller holds the read lock.
func (e *Ending) Late(path []byte, below Deletions, deep bool) {
	s := e.state
	id := s.Lookup(path)
	if id == 0 {
		return
	}
	if id != Root && s.rec(id).owner == e.header.ClientID {
		e.late = append(e.late, toldOf{id: id}) // not ranked: the places may not be known yet
		return
	}
	if _, ok := e.above[id]; ok && deep {
		e.all = true
	}
	at, ok := e.parentAt[id]
	switch {
	case !ok, below == NoDeletion:
	case below == EveryDeletion:
		e.all = true
	case e.ranked:
		e.late = append(e.late, e.parents[at].eldest)
	default:
		p := &e.parents[at]
		p.below = max(p.below, below)
	}
}

// rank returns the place of a znode in the order of events: first those that the txn lists, then the others, oldest
// first.
func (e *Ending) rank(id NodeID) int32 {
	if at, ok := e.ranks[id]; ok {
		return at
	}
	s, steps := e.state, int32(0)
	for ; id != 0; id = s.kinOf(s.rec(id)).ownNext {
		if at, ok := e.ownMarks[id]; ok {
			return int32(len(e.ranks)) + at - steps
		}
		steps++
	}
	return int32(len(e.ranks)) + e.owned.count - steps
}

// inOrder sorts deletions into the order of events, and leaves out what occurs twice.
func inOrder(told []toldOf) []toldOf {
	byRank := func(a, b toldOf) int { return cmp.Compare(a.rank, b.rank) }
	if !slices.IsSortedFunc(told, byRank) {
		slices.SortFunc(told, byRank)
	}
	return slices.Compact(told)
}
