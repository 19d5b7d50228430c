package watch

import (
	"bytes"
	"hash/maphash"
)

const (
	entryPageBits = 9
	entryPage     = 1 << entryPageBits
	// entryBytes is the size of a watchedPath.
	entryBytes = 36
	// bucketsLeast is the number of buckets below which none is given back.
	bucketsLeast = 1024
)

// watchedPath is a path with its watchers. It exists while it has any.
type watchedPath struct {
	name     uint32  // bytes in the arena of names
	nameLen  uint32  // 0: no block
	hash     uint32  // of the name
	next     uint32  // next entry of the bucket, or of the free list; 0 ends it
	watchers modeSet // WatcherID -> modes
	data     uint32  // how many of the watchers are in the data table
}

// pathTable finds watched paths, called entries here, by their text. It is a linear hash table: it
// grows and shrinks by one bucket at a time, in step with the entries, so that no insertion pays for a rehash of
// them all. Entries are numbered from 1 and keep their number for life.
//
// Invariants: bucket i holds the entries e with bucketOf(e.hash) == i; there are at least as many
// buckets as entries, and at most four times as many and bucketsLeast more.
type pathTable struct {
	seed    maphash.Seed // hides the placement from clients; nothing visible depends on it
	growing maphash.Hash // scratch of eachAncestor, with the same seed
	pages   []*page      // nil: no entry of the page exists
	vacant  []uint32     // pages that are nil
	partial uint32       // first page with a free entry; its number plus 1, 0 is none
	spare   *page        // an empty one, so that entries that come and go take no memory again and again
	places  int          // the most pages there may be; 0 is what the numbers reach
	live    int
	bytes   uint64 // sum of the lengths of the names
	buckets []uint32
	mask    uint32 // 2^k-1, where buckets 0 to 2^k-1 are the ones of the current round
	split   uint32 // next bucket to split: len(buckets) == mask+1+split
	names   arena[byte]
}

// page is entries with neighbouring numbers.
type page struct {
	entries    [entryPage]watchedPath
	next, prev uint32 // in the list of those with a free entry; numbers plus 1, 0 ends it
	live       int    // entries that exist
	made       int    // entries that existed at least once
	free       uint32 // first of the others of them, which are linked by next; its place plus 1, 0 is none
}

func (p *pathTable) init() {
	p.seed = maphash.MakeSeed()
	p.growing.SetSeed(p.seed)
	p.buckets = make([]uint32, 1)
}

// at returns entry id, which stays at its place for life.
func (p *pathTable) at(id uint32) *watchedPath {
	return &p.pages[id>>entryPageBits].entries[id&(entryPage-1)]
}

// path returns the path of e, valid while e lives.
func (p *pathTable) path(e *watchedPath) []byte {
	if e.nameLen == 0 {
		return nil
	}
	return p.names.at(e.name, int(e.nameLen))
}

func (p *pathTable) bucketOf(hash uint32) uint32 {
	b := hash & p.mask
	if b < p.split {
		b = hash & (p.mask<<1 | 1)
	}
	return b
}

// find returns the entry of path, 0 if it has no watcher.
func (p *pathTable) find(path []byte) uint32 { return p.lookup(path, p.hash(path)) }

func (p *pathTable) hash(path []byte) uint32 { return uint32(maphash.Bytes(p.seed, path)) }

func (p *pathTable) lookup(path []byte, hash uint32) uint32 {
	id := p.buckets[p.bucketOf(hash)]
	for id != 0 {
		e := p.at(id)
		if e.hash == hash && bytes.Equal(p.path(e), path) {
			return id
		}
		id = e.next
	}
	return 0
}

// eachAncestor calls fn for the entry of each proper ancestor of path that has one, from the root down. Its time is
// linear in the length of path: the hash of an ancestor is the hash of its parent, continued. (A maphash.Hash gives
// the hash of what was written so far in constant time.) To hash each ancestor by itself would take the square.
func (p *pathTable) eachAncestor(path []byte, fn func(entry uint32)) {
	p.growing.Reset()
	hashed := 0
	for end := 1; end < len(path); end++ {
		if end > 1 && path[end] != '/' {
			continue
		}
		p.growing.Write(path[hashed:end])
		hashed = end
		if entry := p.lookup(path[:end], uint32(p.growing.Sum64())); entry != 0 {
			fn(entry)
		}
	}
}

// insert makes the entry of path, which has none.
func (p *pathTable) insert(path []byte, hash uint32) uint32 {
	if p.live == len(p.buckets) {
		p.grow()
	}
	id := p.take()
	e := p.at(id)
	*e = watchedPath{hash: hash, nameLen: uint32(len(path))}
	if len(path) > 0 {
		e.name = p.names.alloc(len(path))
		copy(p.names.at(e.name, len(path)), path)
	}
	bucket := &p.buckets[p.bucketOf(hash)]
	e.next, *bucket = *bucket, id
	p.live++
	p.bytes += uint64(len(path))
	return id
}

// remove ends entry id, which has no watcher any more.
func (p *pathTable) remove(id uint32) {
	e := p.at(id)
	nameLen := e.nameLen
	link := &p.buckets[p.bucketOf(e.hash)]
	for *link != id {
		link = &p.at(*link).next
	}
	*link = e.next
	if nameLen > 0 {
		p.names.release(e.name, int(nameLen))
	}
	p.give(id)
	p.live--
	p.bytes -= uint64(nameLen)
	for n := 0; n < 4 && p.live*4 < len(p.buckets)-bucketsLeast; n++ {
		p.shrink()
	}
}

// take returns the number of an unused entry. REQUIRES: hasRoom.
func (p *pathTable) take() uint32 {
	if p.partial == 0 {
		p.addPage()
	}
	place := p.partial - 1
	g := p.pages[place]
	i := g.free - 1
	if g.free != 0 {
		g.free = g.entries[i].next
	} else {
		i = uint32(g.made)
		g.made++
	}
	g.live++
	if g.full() {
		p.unlink(place)
	}
	return place<<entryPageBits | i
}

// give takes back entry id.
func (p *pathTable) give(id uint32) {
	place, i := id>>entryPageBits, id&(entryPage-1)
	g := p.pages[place]
	if g.full() {
		p.link(place)
	}
	g.entries[i] = watchedPath{next: g.free}
	g.free = i + 1
	g.live--
	if g.live > 0 || g.next == 0 && g.prev == 0 { // the last page with a free entry stays
		return
	}
	p.unlink(place)
	p.pages[place] = nil
	p.vacant = append(p.vacant, place)
	p.spare = g
}

func (g *page) full() bool { return g.free == 0 && g.made == entryPage }

// addPage makes a page, when no other has a free entry.
func (p *pathTable) addPage() {
	if !p.hasRoom() {
		panic("watch: too many watched paths")
	}
	g := p.spare
	p.spare = nil
	if g == nil {
		g = new(page)
	}
	*g = page{}
	place := uint32(len(p.pages))
	if last := len(p.vacant) - 1; last >= 0 {
		place, p.vacant = p.vacant[last], p.vacant[:last]
		p.pages[place] = g
	} else {
		p.pages = append(p.pages, g)
	}
	if place == 0 {
		g.made = 1 // no entry has the number 0
	}
	p.link(place)
}

// hasRoom reports whether one more entry can have a number.
func (p *pathTable) hasRoom() bool {
	most := p.places
	if most == 0 {
		most = (keyMax + 1) >> entryPageBits
	}
	return p.partial != 0 || len(p.vacant) > 0 || len(p.pages) < most
}

// grows returns by how many bytes the memory grows with one more entry, besides its name.
func (p *pathTable) grows() int {
	if p.partial != 0 || p.spare != nil {
		return 0
	}
	return entryPage * entryBytes
}

// held returns the bytes of the memory, besides the names.
func (p *pathTable) held() int {
	pages := len(p.pages) - len(p.vacant)
	if p.spare != nil {
		pages++
	}
	return pages*entryPage*entryBytes + 4*cap(p.buckets)
}

func (p *pathTable) link(place uint32) {
	g := p.pages[place]
	g.next, g.prev = p.partial, 0
	if p.partial != 0 {
		p.pages[p.partial-1].prev = place + 1
	}
	p.partial = place + 1
}

func (p *pathTable) unlink(place uint32) {
	g := p.pages[place]
	if g.prev != 0 {
		p.pages[g.prev-1].next = g.next
	} else {
		p.partial = g.next
	}
	if g.next != 0 {
		p.pages[g.next-1].prev = g.prev
	}
	g.next, g.prev = 0, 0
}

// shrink undoes the last grow: it moves the entries of the last bucket into the one from which they came.
func (p *pathTable) shrink() {
	if p.split == 0 {
		p.mask >>= 1
		p.split = p.mask + 1
	}
	p.split--
	last := len(p.buckets) - 1
	id := p.buckets[last]
	p.buckets = p.buckets[:last]
	for id != 0 {
		e := p.at(id)
		next := e.next
		e.next, p.buckets[p.split] = p.buckets[p.split], id
		id = next
	}
	if cap(p.buckets) > 4*(len(p.buckets)+bucketsLeast) {
		p.buckets = append(make([]uint32, 0, 2*len(p.buckets)), p.buckets...)
	}
}

// grow adds a bucket and moves into it the entries of bucket split that belong there.
func (p *pathTable) grow() {
	from := p.split
	p.buckets = append(p.buckets, 0)
	to := uint32(len(p.buckets) - 1)
	if p.split++; p.split > p.mask {
		p.mask, p.split = p.mask<<1|1, 0
	}
	id := p.buckets[from]
	p.buckets[from] = 0
	for id != 0 {
		e := p.at(id)
		next := e.next
		b := p.bucketOf(e.hash)
		if b != from && b != to {
			panic("watch: watched path in the wrong bucket")
		}
		e.next, p.buckets[b] = p.buckets[b], id
		id = next
	}
}
