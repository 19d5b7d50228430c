package watch

import (
	"bytes"
	"hash/maphash"
)

const (
	entryChunkBits = 9
	entryChunk     = 1 << entryChunkBits
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
// grows by one bucket at a time, in step with the entries, so that no insertion pays for a rehash of
// them all. Entries are numbered from 1 and keep their number for life.
//
// Invariants: bucket i holds the entries e with bucketOf(e.hash) == i; there are at least as many
// buckets as entries; buckets are never given back (4 bytes for each path of the busiest moment).
type pathTable struct {
	seed    maphash.Seed // hides the placement from clients; nothing visible depends on it
	growing maphash.Hash // scratch of eachAncestor, with the same seed
	chunks  []*[entryChunk]watchedPath
	made    uint32 // entries handed out so far, entry 0 included
	free    uint32 // first of the freed entries
	live    int
	bytes   uint64 // sum of the lengths of the names
	buckets []uint32
	mask    uint32 // 2^k-1, where buckets 0 to 2^k-1 are the ones of the current round
	split   uint32 // next bucket to split: len(buckets) == mask+1+split
	names   arena[byte]
}

func (p *pathTable) init() {
	p.seed = maphash.MakeSeed()
	p.growing.SetSeed(p.seed)
	p.made = 1
	p.buckets = make([]uint32, 1)
}

// at returns entry id, which stays at its place for life.
func (p *pathTable) at(id uint32) *watchedPath {
	return &p.chunks[id>>entryChunkBits][id&(entryChunk-1)]
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
func (p *pathTable) find(path []byte) uint32 {
	return p.lookup(path, uint32(maphash.Bytes(p.seed, path)))
}

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

// insert returns the entry of path, which it makes if there is none.
func (p *pathTable) insert(path []byte) uint32 {
	hash := uint32(maphash.Bytes(p.seed, path))
	if id := p.lookup(path, hash); id != 0 {
		return id
	}
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
	*e = watchedPath{next: p.free}
	p.free = id
	p.live--
	p.bytes -= uint64(nameLen)
}

// take returns the number of an unused entry.
func (p *pathTable) take() uint32 {
	if id := p.free; id != 0 {
		p.free = p.at(id).next
		return id
	}
	id := p.made
	if id > keyMax {
		panic("watch: too many watched paths")
	}
	if int(id>>entryChunkBits) == len(p.chunks) {
		p.chunks = append(p.chunks, new([entryChunk]watchedPath))
	}
	p.made++
	return id
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
