package watch

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// WatcherID is the number of a connection in a Registry. The caller chooses it; after RemoveSome is done another
// connection may get the same number. The numbers should be dense, because memory (32 bytes a number)
// grows with the largest. The largest allowed is 2^28-1.
type WatcherID uint32

// Kind is a way to watch a path.
type Kind uint8

// The kinds. A connection may watch one path in several ways; each is registered once.
// Source: server-semantics 10.1.
const (
	Data       Kind = iota // getData: one-shot, data table
	Exist                  // exists: the same watch as Data once it is registered
	Child                  // getChildren: one-shot, child table
	Persistent             // addWatch mode 0: data and child table
	Recursive              // addWatch mode 1: data table, for the path and all below it
)

// kindModes are the modes that a kind registers.
var kindModes = [...]mode{
	Data: modeData, Exist: modeData, Child: modeChild, Persistent: modePersistent, Recursive: modeRecursive,
}

// selectedModes are the modes that a type selects in checkWatches and removeWatches. Source: server-semantics 10.8.
var selectedModes = map[proto.WatcherType]mode{
	proto.WatcherChildren: modeChild, proto.WatcherData: modeData, proto.WatcherAny: modesAll,
	proto.WatcherPersistent: modePersistent, proto.WatcherPersistentRecursive: modeRecursive,
}

// Registry holds the watches of one server. Paths are literal byte strings; they need neither exist
// nor be valid.
type Registry struct {
	most  uint64 // of Held; 0 is unlimited
	paths pathTable
	sets  arena[uint32] // blocks of the sets of paths and watchers
	slots []watcher     // by WatcherID

	watchers  int   // slots that watch something
	data      tally // of the data table
	child     int   // pairs in the child table
	recursive int   // pairs with modeRecursive

	trigger uint64   // number of the current trigger, see watcher.told
	gone    []uint32 // scratch of fire: watchers whose last mode was consumed

	follow func(path []byte, below datatree.Deletions, deep bool) // see Follow; nil is nobody
}

// tally counts watchers and paths that have a pair, and pairs.
type tally struct{ watchers, paths, pairs int }

// watcher is one connection.
type watcher struct {
	entries modeSet // the paths it watches
	data    uint32  // how many of them in the data table
	bytes   uint64  // sum of the lengths of these paths
	told    uint64  // the last trigger that notified it: one event a trigger
}

// New returns a Registry without watches that takes no more than most bytes. 0 is no limit but what references reach:
// some hundred thousand paths of more than 4 KiB, and 4 GiB of shorter ones.
func New(most uint64) *Registry {
	w := &Registry{most: most}
	w.paths.init()
	return w
}

// Add registers a watch; to add the same again changes nothing. It keeps no reference to path. It returns false, and
// registers nothing, if there is no room.
func (w *Registry) Add(id WatcherID, kind Kind, path []byte) bool {
	if id > keyMax {
		panic("watch: watcher id out of range")
	}
	for int(id) >= len(w.slots) {
		w.slots = append(w.slots, watcher{})
	}
	hash := w.paths.hash(path)
	entry, old := w.paths.lookup(path, hash), mode(0)
	if entry != 0 {
		old = w.paths.at(entry).watchers.get(&w.sets, uint32(id))
	}
	m := old | kindModes[kind]
	switch {
	case m == old:
		return true
	case old == 0 && !w.hasRoom(entry, id, len(path)):
		return false
	case entry == 0:
		entry = w.paths.insert(path, hash)
	}
	w.set(entry, id, old, m)
	if w.follow != nil {
		w.tellFollower(kind, path)
	}
	return true
}

// hasRoom reports whether id can begin to watch an entry, 0 for a new one with a name of so many bytes.
func (w *Registry) hasRoom(entry uint32, id WatcherID, nameLen int) bool {
	grows := w.sets.grows(w.slots[id].entries.wants()) * wordBytes
	if entry != 0 {
		grows += w.sets.grows(w.paths.at(entry).watchers.wants()) * wordBytes
	} else {
		if !w.paths.hasRoom() || !w.paths.names.hasRoom(1) {
			return false
		}
		grows += w.sets.grows(1)*wordBytes + w.paths.names.grows(nameLen) + w.paths.grows()
	}
	// Nothing that takes no memory is refused, but a set of two blocks may take more than one chunk.
	return w.sets.hasRoom(2) && (grows == 0 || w.most == 0 || w.Held()+uint64(grows) <= w.most)
}

// wordBytes is the size of an element of a set.
const wordBytes = 4

// Held returns the bytes that all watches take, and what is kept for more of them. It is constant work.
func (w *Registry) Held() uint64 {
	return uint64(w.sets.held*wordBytes + w.paths.names.held + w.paths.held())
}

// Has reports whether id has a watch of type t on exactly path. A watch on the empty path is possible, but never
// fires; as in ZooKeeper, Has does not find it. Source: client-protocol 9.6.
func (w *Registry) Has(id WatcherID, t proto.WatcherType, path []byte) bool {
	if len(path) == 0 {
		return false
	}
	_, m := w.find(id, path)
	return m&selectedModes[t] != 0
}

// Remove removes the watches of type t that id has on exactly path, and reports whether there were
// any. No event is fired. Source: client-protocol 9.6.
func (w *Registry) Remove(id WatcherID, t proto.WatcherType, path []byte) bool {
	entry, old := w.find(id, path)
	m := old &^ selectedModes[t]
	if m == old {
		return false
	}
	w.set(entry, id, old, m)
	return true
}

// RemoveSome removes watches of id, whose connection is gone. It looks at n places in which one may be, beginning with
// from, which is 0 for the first part. It returns the place to go on with and whether no watch is left. Between the
// parts watches may fire, but none of id may be added.
func (w *Registry) RemoveSome(id WatcherID, from uint32, n int) (next uint32, done bool) {
	if int(id) >= len(w.slots) {
		return 0, true
	}
	slot := &w.slots[id]
	for ; slot.entries.n > 0; n-- {
		if n == 0 {
			return from, false
		}
		// The order of the places thins the set evenly. If all remaining words were in one part of the set, that
		// part would be too full when the set shrinks to half as many places. A word that moves meanwhile is
		// found in the next round.
		words := slot.entries.words(&w.sets)
		word := words[from*scatter&uint32(len(words)-1)]
		if word == 0 {
			from++
			continue
		}
		entry := wordKey(word) // the next may move to its place
		w.set(entry, id, w.paths.at(entry).watchers.get(&w.sets, uint32(id)), 0)
	}
	*slot = watcher{}
	return 0, true
}

// scatter is an odd number whose multiples are far from each other, modulo any power of two.
const scatter = 0x9e3779b1

// Count returns how many connections watch how many paths, and the number of watches, which counts
// a path in the data table and in the child table apart. Source: server-semantics 10.9.
func (w *Registry) Count() (watchers, paths, total int) {
	return w.watchers, w.paths.live, w.data.pairs + w.child
}

// CountData is Count for the data table alone, which is what wchs shows.
func (w *Registry) CountData() (watchers, paths, total int) {
	return w.data.watchers, w.data.paths, w.data.pairs
}

// PathBytes returns the sum of the lengths of all watched paths. A path that many connections watch is stored, and
// counted, once.
func (w *Registry) PathBytes() uint64 { return w.paths.bytes }

// EachOf calls fn for every connection and path of the data table whose entry is in a page, path by path. Pages have
// numbers from 0 on; more tells whether there is one after this. The path is valid during the call; fn must not change
// w.
func (w *Registry) EachOf(page int, fn func(id WatcherID, path []byte)) (more bool) {
	if page < len(w.paths.pages) && w.paths.pages[page] != nil {
		g := w.paths.pages[page]
		for i := range g.made {
			w.eachData(&g.entries[i], fn)
		}
	}
	return page+1 < len(w.paths.pages)
}

// eachData is EachOf for one entry.
func (w *Registry) eachData(e *watchedPath, fn func(id WatcherID, path []byte)) {
	if e.data == 0 {
		return
	}
	path := w.paths.path(e)
	for _, word := range e.watchers.words(&w.sets) {
		if wordModes(word)&modesData != 0 {
			fn(WatcherID(wordKey(word)), path)
		}
	}
}

// Rewatch handles one path of a setWatches request. relative is the last zxid that the client has seen. If the
// client has missed an event since, fire is true, the caller sends the event with zxid -1 and without a check of
// ACLs, and no watch is registered. Otherwise the watch is registered, as by Add. s is read, under its lock.
// Source: client-protocol 9.5.
func (w *Registry) Rewatch(
	s *datatree.State, id WatcherID, kind Kind, path []byte, relative proto.Zxid,
) (event proto.EventType, fire, ok bool) {
	switch kind {
	case Data, Child:
		n := s.Lookup(path)
		switch {
		case n == 0:
			return proto.EventNodeDeleted, true, true
		case kind == Data && s.Node(n).Mzxid > relative:
			return proto.EventNodeDataChanged, true, true
		case kind == Child && s.Node(n).Pzxid > relative:
			return proto.EventNodeChildrenChanged, true, true
		}
	case Exist:
		if s.Lookup(path) != 0 {
			return proto.EventNodeCreated, true, true
		}
	}
	return 0, false, w.Add(id, kind, path)
}

// find returns the entry of path and the modes in which id watches it, 0 if it does not.
func (w *Registry) find(id WatcherID, path []byte) (entry uint32, m mode) {
	entry = w.paths.find(path)
	if entry == 0 || id > keyMax {
		return 0, 0
	}
	return entry, w.paths.at(entry).watchers.get(&w.sets, uint32(id))
}

// set replaces the modes old of id on an entry by m, both ways and in all counts.
func (w *Registry) set(entry uint32, id WatcherID, old, m mode) {
	e, slot := w.paths.at(entry), &w.slots[id]
	w.count(e, slot, old, m)
	if m != 0 {
		e.watchers.put(&w.sets, uint32(id), m)
		if old == 0 {
			slot.entries.put(&w.sets, entry, modesAll)
			slot.bytes += uint64(e.nameLen)
			w.watchers += soleOne(slot.entries.n)
		}
		return
	}
	e.watchers.remove(&w.sets, uint32(id))
	w.watchers -= soleOne(slot.entries.n)
	slot.entries.remove(&w.sets, entry)
	slot.bytes -= uint64(e.nameLen)
	if e.watchers.n == 0 {
		w.paths.remove(entry)
	}
}

// count keeps the counts of modes when those of slot on e change from old to m.
func (w *Registry) count(e *watchedPath, slot *watcher, old, m mode) {
	w.recursive += hasMode(m, modeRecursive) - hasMode(old, modeRecursive)
	w.child += hasMode(m, modesChild) - hasMode(old, modesChild)
	if d := hasMode(m, modesData) - hasMode(old, modesData); d != 0 {
		w.data.pairs += d
		only := uint32(max(-d, 0)) // the first watch begins, or the last ends
		if e.data == only {
			w.data.paths += d
		}
		if slot.data == only {
			w.data.watchers += d
		}
		e.data += uint32(d)
		slot.data += uint32(d)
	}
}

// soleOne returns 1 if n is 1, else 0.
func soleOne(n uint32) int {
	if n == 1 {
		return 1
	}
	return 0
}

// hasMode returns 1 if m holds one of the modes in want, else 0.
func hasMode(m, want mode) int {
	if m&want != 0 {
		return 1
	}
	return 0
}

// Use returns how many paths a connection watches, and the sum of their lengths.
func (w *Registry) Use(id WatcherID) (paths int, bytes uint64) {
	if int(id) >= len(w.slots) {
		return 0, 0
	}
	return int(w.slots[id].entries.n), w.slots[id].bytes
}
