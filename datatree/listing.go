package datatree

import (
	"bytes"
	"slices"
	"sync"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Listing answers getChildren and getChildren2 of a znode with very many children in slices, while txns go on
// between them. When Next reports that it is done, the Listing has exactly the children of that moment. It
// belongs to one goroutine.
//
// It walks the present children, and notes the names of children that are created and deleted meanwhile. A child
// without a note was there all the time, and the walk has met it once. A name with a note is removed wherever the
// walk has met it, and added again if such a child exists now. Since more children may change meanwhile, these
// steps are repeated until no name is noted: a few times without the lock, and then under it.
//
// Invariant: cursor is the next child that the walk has not met, or 0. New children are last, and State moves the
// cursor on when the znode under it is deleted. When an Ending has taken children away at once, none of this holds,
// and the walk begins again.
type Listing struct {
	state   *State
	parent  NodeID
	sorted  bool // few children: they are answered in the order of their names
	hint    int  // size of the first chunk
	cursor  NodeID
	walked  bool                // cursor stays 0
	chunks  [][]byte            // names as they are encoded; one chunk if sorted
	count   int32               // of the names in chunks
	noted   map[string]struct{} // names of children created or deleted since the beginning, or since the last take
	stale   map[string]struct{} // noted names that Sift removes
	fresh   [][]byte            // noted names that Sift adds
	rounds  int                 // how often noted names were taken
	settled bool                // Sift has turned the names of the walk into the answer
	again   bool                // very many children have gone at once: Next begins again
	gone    bool                // the znode was deleted
	closed  bool
}

const (
	// WideChildren is how many children make a znode wide: to read them takes more than about a tenth of a
	// millisecond.
	WideChildren = 2048
	// listingChunk is the size of a chunk in bytes, unless a name is longer.
	listingChunk = 128 << 10
	// listingRounds is how often noted names are processed without the lock.
	listingRounds = 3
)

// listings are the Listings in progress. They begin and end under the read lock, so mu guards the list; the
// writer needs no mu.
type listings struct {
	mu   sync.Mutex
	live []*Listing
}

// note tells all listings that a child of parent is created or deleted.
func (ls *listings) note(parent NodeID, name []byte) {
	for _, l := range ls.live {
		if l.parent == parent {
			l.noted[string(name)] = struct{}{}
		}
	}
}

// leave tells all listings that a znode without children is about to be deleted.
func (ls *listings) leave(s *State, id NodeID) {
	if len(ls.live) == 0 {
		return
	}
	r := s.rec(id)
	ls.note(r.parent, s.blocks.name(r.block))
	for _, l := range ls.live {
		if l.cursor == id {
			l.cursor = r.next
		}
		l.gone = l.gone || l.parent == id
	}
}

// Wide returns how many znodes have at least WideChildren children.
func (s *State) Wide() int { return s.wide }

// IsWide reports whether a path is that of a znode with at least WideChildren children.
func (s *State) IsWide(path []byte) bool {
	id := s.Lookup(path)
	if id == 0 {
		return false
	}
	k := s.kinOf(s.rec(id))
	return k != nil && k.children >= WideChildren
}

// NewListing begins to read the children of a znode, or returns the error why that is not allowed. The caller
// holds the read lock, and must Close the Listing in the end.
func (s *State) NewListing(path []byte, ids []auth.Identity) (*Listing, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return nil, err
	}
	l := &Listing{state: s, parent: id}
	l.begin()
	s.listings.mu.Lock()
	defer s.listings.mu.Unlock()
	s.listings.live = append(s.listings.live, l)
	return l, proto.OK
}

// begin begins with the first child.
func (l *Listing) begin() {
	s := l.state
	n := s.Node(l.parent).NumChildren
	*l = Listing{
		state: s, parent: l.parent, cursor: s.FirstChild(l.parent), noted: map[string]struct{}{},
		sorted: n <= sortedMax, hint: min(listingChunk, 24*int(n)),
	}
}

// Of reports whether the Listing is of s, and its znode still exists. The caller holds the read lock.
func (l *Listing) Of(s *State) bool { return l.state == s && !l.gone }

// Next reads at most n more children, and reports whether that is all and nothing has changed since. If not, the
// caller releases the read lock, which it holds, calls Sift, and then Next again. It may be called only while Of
// is true.
func (l *Listing) Next(n int) (done bool) {
	invariant("a closed listing is not used", !l.closed && !l.gone, uint64(l.parent))
	s := l.state
	if l.again {
		l.begin()
	}
	for ; n > 0 && l.cursor != 0; n-- {
		r := s.rec(l.cursor)
		l.add(s.blocks.name(r.block))
		l.cursor = r.next
	}
	l.walked = l.cursor == 0
	switch {
	case !l.walked:
		return false
	case l.settled && len(l.noted) == 0:
		return true
	}
	l.take()
	if l.rounds++; l.rounds > listingRounds {
		l.Sift()
		return true
	}
	return false
}

// take takes over the noted names, and looks up which of them exist now.
func (l *Listing) take() {
	l.settled = false
	l.stale, l.fresh = l.noted, nil
	l.noted = map[string]struct{}{}
	for name := range l.stale {
		if l.state.Child(l.parent, []byte(name)) != 0 {
			l.fresh = append(l.fresh, []byte(name))
		}
	}
	slices.SortFunc(l.fresh, bytes.Compare) // the order of a map must not be visible
}

// Sift removes and adds the names that Next has taken. It needs no lock.
func (l *Listing) Sift() {
	if !l.walked || l.settled {
		return
	}
	if len(l.stale) > 0 {
		marks := newNameMarks(l.stale)
		for i, chunk := range l.chunks {
			l.chunks[i] = l.without(chunk, marks)
		}
		for _, name := range l.fresh {
			l.add(name)
		}
	}
	if l.sorted && l.count > 0 {
		sortNames(l.chunks[0], int(l.count))
	}
	l.stale, l.fresh, l.settled = nil, nil, true
}

// without removes the stale names from a chunk.
func (l *Listing) without(chunk []byte, marks *nameMarks) []byte {
	kept := 0
	for off := 0; off < len(chunk); {
		name := encodedName(chunk, off)
		size := 4 + len(name)
		if marks.has(name) {
			if _, stale := l.stale[string(name)]; stale {
				l.count--
				off += size
				continue
			}
		}
		if kept != off {
			copy(chunk[kept:], chunk[off:off+size])
		}
		kept += size
		off += size
	}
	return chunk[:kept]
}

func (l *Listing) add(name []byte) {
	last := len(l.chunks) - 1
	if last < 0 || !l.sorted && len(l.chunks[last])+4+len(name) > cap(l.chunks[last]) {
		size := listingChunk
		if last < 0 {
			size = l.hint
		}
		l.chunks = append(l.chunks, make([]byte, 0, max(size, 4+len(name))))
		last++
	}
	l.chunks[last] = proto.AppendBuffer(l.chunks[last], name)
	l.count++
}

// Children returns the number of names, and the names, one encoded after the other, in pieces that the caller may
// keep. The caller holds the read lock under which Next has reported that it is done. The permission of ids is
// checked again.
func (l *Listing) Children(ids []auth.Identity) (count int32, names [][]byte, err proto.ErrCode) {
	if !l.state.acls.Allows(l.state.rec(l.parent).acl, proto.PermRead, ids) {
		return 0, nil, proto.ErrNoAuth
	}
	return l.count, l.chunks, proto.OK
}

// AppendStat appends the Stat of the znode. The caller holds the read lock as for Children.
func (l *Listing) AppendStat(b []byte) []byte { return l.state.appendStat(b, l.parent) }

// Close ends the Listing. It may be called again. The caller holds the read or the write lock.
func (l *Listing) Close() {
	s := l.state
	s.listings.mu.Lock()
	defer s.listings.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	at := slices.Index(s.listings.live, l)
	s.listings.live = slices.Delete(s.listings.live, at, at+1)
}

// nameMarks shows for most names that are not in a set, in a few nanoseconds, that they are not.
type nameMarks [1 << 10]uint64

func newNameMarks(names map[string]struct{}) *nameMarks {
	m := &nameMarks{}
	for name := range names {
		word, bit := markOf([]byte(name))
		m[word] |= bit
	}
	return m
}

func (m *nameMarks) has(name []byte) bool {
	word, bit := markOf(name)
	return m[word]&bit != 0
}

// markOf mixes the length of a name with its last bytes, which differ most often.
func markOf(name []byte) (word int, bit uint64) {
	h := uint32(len(name))
	for _, c := range name[max(0, len(name)-8):] {
		h = (h ^ uint32(c)) * 0x01000193
	}
	h ^= h >> 15
	return int(h>>6) & (len(nameMarks{}) - 1), 1 << (h & 63)
}
