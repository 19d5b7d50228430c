package watch

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// Deliver passes one event of type t about path on to a connection. acl is that of the znode at path.
type Deliver func(id WatcherID, t proto.EventType, path []byte, acl datatree.ACLID)

// Fire calls deliver for every event that a change causes and every connection that watches for it,
// once per event and connection, in the order in which each connection must receive the events.
// One-shot watches that matched are gone afterwards, even if deliver does not send the event: the
// caller checks READ permission against the ACL given.
//
// The path is valid during the call of deliver, which must not use w. Fire returns at once if there
// is no watch, and does not allocate in steady state.
//
//	change           first                           then
//	created p        data(p): NodeCreated p          child(parent): NodeChildrenChanged parent
//	deleted p        data(p), child(p): NodeDeleted  child(parent): NodeChildrenChanged parent
//	data changed p   data(p): NodeDataChanged p
//
// data(p) includes the recursive watchers of p and of every ancestor. ZooKeeper fires data(p) and
// then child(p) of a deletion, without the connections that were in data(p). Every connection sees
// the same. Source: server-semantics 10.2, 10.4, 10.6.
func (w *Registry) Fire(c datatree.Change, deliver Deliver) {
	if w.paths.live == 0 {
		return
	}
	switch c.Type {
	case proto.EventNodeCreated:
		w.fire(c.Path, c.Type, modesData, c.ACL, deliver)
	case proto.EventNodeDeleted:
		w.fire(c.Path, c.Type, modesAll, c.ACL, deliver)
	case proto.EventNodeDataChanged:
		w.fire(c.Path, c.Type, modesData, c.ACL, deliver)
		return
	default:
		panic("watch: a change cannot be " + c.Type.String())
	}
	if len(c.Path) > 1 {
		w.fire(paths.Parent(c.Path), proto.EventNodeChildrenChanged, modesChild, c.ParentACL, deliver)
	}
}

// fire is one trigger: it delivers t to every connection that watches path in one of the modes wanted
// and, if the data table is wanted, to every connection that watches an ancestor recursively.
func (w *Registry) fire(path []byte, t proto.EventType, want mode, acl datatree.ACLID, deliver Deliver) {
	w.trigger++
	if entry := w.paths.find(path); entry != 0 {
		e := w.paths.at(entry)
		w.gone = w.gone[:0]
		words := e.watchers.words(&w.sets)
		for i, word := range words {
			m := wordModes(word)
			if m&want == 0 {
				continue
			}
			id := wordKey(word)
			slot := &w.slots[id]
			slot.told = w.trigger
			if left := m &^ (want & modesOneShot); left == 0 {
				w.gone = append(w.gone, id)
			} else if left != m {
				w.count(e, slot, m, left)
				words[i] = makeWord(id, left)
			}
			deliver(WatcherID(id), t, path, acl)
		}
		w.consume(entry, e)
	}
	if want&modeRecursive == 0 || w.recursive == 0 {
		return
	}
	w.paths.eachAncestor(path, func(entry uint32) { w.fireRecursive(entry, t, path, acl, deliver) })
}

// fireRecursive delivers t to the recursive watchers of an ancestor of path.
func (w *Registry) fireRecursive(entry uint32, t proto.EventType, path []byte, acl datatree.ACLID, deliver Deliver) {
	for _, word := range w.paths.at(entry).watchers.words(&w.sets) {
		if wordModes(word)&modeRecursive == 0 {
			continue
		}
		slot := &w.slots[wordKey(word)]
		if slot.told == w.trigger {
			continue
		}
		slot.told = w.trigger
		deliver(WatcherID(wordKey(word)), t, path, acl)
	}
}

// consume removes from entry the watchers in w.gone.
func (w *Registry) consume(entry uint32, e *watchedPath) {
	all := len(w.gone) == int(e.watchers.n)
	for _, id := range w.gone {
		slot := &w.slots[id]
		w.count(e, slot, e.watchers.get(&w.sets, id), 0)
		w.watchers -= soleOne(slot.entries.n)
		slot.entries.remove(&w.sets, entry)
		slot.bytes -= uint64(e.nameLen)
		if !all {
			e.watchers.remove(&w.sets, id)
		}
	}
	if all {
		e.watchers.drop(&w.sets)
		w.paths.remove(entry)
	}
}
