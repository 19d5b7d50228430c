package datatree

import (
	"math"

	"github.com/seed94657493/warren/proto"
)

// WatcherID is a connection as Watches knows it: a slot number chosen by the server, free for
// another connection after RemoveAll. Slots should be dense, because memory (24 bytes a slot) grows
// with the largest; the largest allowed is 2^28-1.
type WatcherID uint32

// WatchKind is a way to watch a path.
type WatchKind uint8

// The kinds. A connection may watch one path in several ways; each is registered once.
// Source: server-semantics section 10.1.
const (
	WatchData       WatchKind = iota // getData: one-shot, data table
	WatchExist                       // exists: the same watch as WatchData once it is registered
	WatchChild                       // getChildren: one-shot, child table
	WatchPersistent                  // addWatch mode 0: data and child table
	WatchRecursive                   // addWatch mode 1: data table, for the path and all below it
)

// modes returns the modes that kind registers.
func (k WatchKind) modes() watchMode {
	switch k {
	case WatchData, WatchExist:
		return modeData
	case WatchChild:
		return modeChild
	case WatchPersistent:
		return modePersistent
	case WatchRecursive:
		return modeRecursive
	}
	panic("datatree: unknown kind of watch")
}

// selectedModes returns the modes that checkWatches and removeWatches mean by t, 0 if t is unknown.
// Source: server-semantics section 10.8.
func selectedModes(t proto.WatcherType) watchMode {
	switch t {
	case proto.WatcherChildren:
		return modeChild
	case proto.WatcherData:
		return modeData
	case proto.WatcherAny:
		return modesAll
	case proto.WatcherPersistent:
		return modePersistent
	case proto.WatcherPersistentRecursive:
		return modeRecursive
	}
	return 0
}

// Watches holds who watches what on one server. It is not replicated: a watch lives with its
// connection. Paths are literal byte strings; they need neither exist nor be valid.
//
// Memory: 11 to 22 bytes a watch while sets grow, at most 64 after most were removed, and 36 bytes a
// watched path beside its name, all free of pointers. What is freed is used again. There is no limit
// on the number of watches: that is the server's.
//
// Watches does not lock. Has, Count, CountData, PathsOf and Each only read; everything else writes, also
// the registration of a watch by a read request.
type Watches struct {
	paths watchPaths
	sets  arena[uint32] // blocks of the sets of paths and watchers
	slots []watcherSlot // by WatcherID

	watchers  int   // slots that watch something
	data      tally // of the data table
	child     int   // pairs in the child table
	recursive int   // pairs with modeRecursive

	trigger uint64   // number of the current trigger, see watcherSlot.told
	gone    []uint32 // scratch of fire: watchers whose last mode was consumed
}

// tally counts watchers and paths that have a pair, and pairs.
type tally struct{ watchers, paths, pairs int }

// watcherSlot is one connection.
type watcherSlot struct {
	entries watchSet // the paths it watches
	data    uint32   // how many of them in the data table
	told    uint64   // the last trigger that notified it: one event a trigger
}

// NewWatches returns an empty table.
func NewWatches() *Watches {
	w := &Watches{}
	w.paths.init()
	return w
}

// Add registers a watch; to add the same again changes nothing. It keeps no reference to path.
func (w *Watches) Add(id WatcherID, kind WatchKind, path []byte) {
	if id > watchKeyMax {
		panic("datatree: watcher id out of range")
	}
	for int(id) >= len(w.slots) {
		w.slots = append(w.slots, watcherSlot{})
	}
	entry := w.paths.insert(path)
	old := w.paths.at(entry).watchers.get(&w.sets, uint32(id))
	if m := old | kind.modes(); m != old {
		w.set(entry, id, old, m)
	}
}

// Has reports whether id has a watch of type t on exactly path. As in ZooKeeper, nobody is found on the empty path, where a watch can be
// and never fires. Source: client-protocol section 9.6.
func (w *Watches) Has(id WatcherID, t proto.WatcherType, path []byte) bool {
	if len(path) == 0 {
		return false
	}
	_, m := w.find(id, path)
	return m&selectedModes(t) != 0
}

// Remove removes the watches of type t that id has on exactly path, and reports whether there were
// any. Nobody is told. Source: client-protocol section 9.6.
func (w *Watches) Remove(id WatcherID, t proto.WatcherType, path []byte) bool {
	entry, old := w.find(id, path)
	m := old &^ selectedModes(t)
	if m == old {
		return false
	}
	w.set(entry, id, old, m)
	return true
}

// RemoveAll removes every watch of id: its connection is gone and the slot is free. It takes time
// in proportion to them.
func (w *Watches) RemoveAll(id WatcherID) { w.RemoveSome(id, 0, math.MaxInt) }

// RemoveSome is a part of RemoveAll: it looks at n places in which a watch of id may be, from a place on, 0 the first time, and returns
// the next and whether no watch is left. Watches may fire between the parts, but none of id may be added.
func (w *Watches) RemoveSome(id WatcherID, from uint32, n int) (next uint32, done bool) {
	if int(id) >= len(w.slots) {
		return 0, true
	}
	slot := &w.slots[id]
	for ; slot.entries.n > 0; n-- {
		if n == 0 {
			return from, false
		}
		// The places are looked at in an order that thins the set evenly: if all that is left were in one part of it, that would
		// be too full for half as many places when the set becomes smaller. What moves meanwhile is found in the next round.
		words := slot.entries.words(&w.sets)
		word := words[from*scatter&uint32(len(words)-1)]
		if word == 0 {
			from++
			continue
		}
		entry := wordKey(word) // the next may move to its place
		w.set(entry, id, w.paths.at(entry).watchers.get(&w.sets, uint32(id)), 0)
	}
	*slot = watcherSlot{}
	return 0, true
}

// scatter is an odd number whose multiples are far from each other, modulo any power of two.
const scatter = 0x9e3779b1

// Count returns how many connections watch how many paths, and the number of watches, which counts
// a path in the data table and in the child table apart. Source: server-semantics section 10.9.
func (w *Watches) Count() (watchers, paths, total int) {
	return w.watchers, w.paths.live, w.data.pairs + w.child
}

// CountData is Count for the data table alone, which is what wchs shows.
func (w *Watches) CountData() (watchers, paths, total int) {
	return w.data.watchers, w.data.paths, w.data.pairs
}

// Each calls fn for every connection and path of the data table, path by path. The path is valid
// during the call; fn must not change w.
func (w *Watches) Each(fn func(id WatcherID, path []byte)) {
	for i := uint32(1); i < w.paths.made; i++ {
		e := w.paths.at(i)
		if e.data == 0 {
			continue
		}
		path := w.paths.path(e)
		for _, word := range e.watchers.words(&w.sets) {
			if wordModes(word)&modesData != 0 {
				fn(WatcherID(wordKey(word)), path)
			}
		}
	}
}

// Rewatch decides for one path of a setWatches request: fire says that the client missed an event,
// which is to be sent now, and nothing is registered; otherwise the watch is registered. relative
// is the last zxid the client saw. No ACL is consulted for the event, and its zxid is -1.
// Source: client-protocol section 9.5.
func (w *Watches) Rewatch(s *State, id WatcherID, kind WatchKind, path []byte, relative proto.Zxid) (event proto.EventType, fire bool) {
	switch kind {
	case WatchData, WatchChild:
		n := s.Lookup(path)
		switch {
		case n == 0:
			return proto.EventNodeDeleted, true
		case kind == WatchData && s.Node(n).Mzxid > relative:
			return proto.EventNodeDataChanged, true
		case kind == WatchChild && s.Node(n).Pzxid > relative:
			return proto.EventNodeChildrenChanged, true
		}
	case WatchExist:
		if s.Lookup(path) != 0 {
			return proto.EventNodeCreated, true
		}
	}
	w.Add(id, kind, path)
	return 0, false
}

// find returns the entry of path and the modes in which id watches it, 0 if it does not.
func (w *Watches) find(id WatcherID, path []byte) (entry uint32, m watchMode) {
	entry = w.paths.find(path)
	if entry == 0 || id > watchKeyMax {
		return 0, 0
	}
	return entry, w.paths.at(entry).watchers.get(&w.sets, uint32(id))
}

// set replaces the modes old of id on an entry by m, both ways and in all counts.
func (w *Watches) set(entry uint32, id WatcherID, old, m watchMode) {
	e, slot := w.paths.at(entry), &w.slots[id]
	w.count(e, slot, old, m)
	if m != 0 {
		e.watchers.put(&w.sets, uint32(id), m)
		if old == 0 {
			slot.entries.put(&w.sets, entry, modesAll)
			w.watchers += soleOne(slot.entries.n)
		}
		return
	}
	e.watchers.remove(&w.sets, uint32(id))
	w.watchers -= soleOne(slot.entries.n)
	slot.entries.remove(&w.sets, entry)
	if e.watchers.n == 0 {
		w.paths.remove(entry)
	}
}

// count keeps the counts of modes when those of slot on e change from old to m.
func (w *Watches) count(e *watchEntry, slot *watcherSlot, old, m watchMode) {
	w.recursive += hasMode(m, modeRecursive) - hasMode(old, modeRecursive)
	w.child += hasMode(m, modesChild) - hasMode(old, modesChild)
	if d := hasMode(m, modesData) - hasMode(old, modesData); d != 0 {
		w.data.pairs += d
		only := uint32(max(-d, 0)) // the first begins, or the last ends
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

// soleOne returns 1 if n is 1, else 0: the count of a slot that watches one path.
func soleOne(n uint32) int {
	if n == 1 {
		return 1
	}
	return 0
}

// hasMode returns 1 if m holds one of the modes in want, else 0.
func hasMode(m, want watchMode) int {
	if m&want != 0 {
		return 1
	}
	return 0
}

// parentPath returns the path of the parent of a znode other than the root, without a copy.
func parentPath(path []byte) []byte {
	i := lastSlash(path)
	return path[:max(i, 1)]
}

// PathsOf returns how many paths a connection watches.
func (w *Watches) PathsOf(id WatcherID) int {
	if int(id) >= len(w.slots) {
		return 0
	}
	return int(w.slots[id].entries.n)
}
