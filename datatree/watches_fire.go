package datatree

import "github.com/seed94657493/warren/proto"

// Fire tells the watchers of one change: it calls deliver for every event and connection, in the
// order in which each connection must receive them, each connection once per event. One-shot
// watches that matched are gone afterwards, whether or not deliver sends the event: the caller
// checks READ permission against the ACL given and drops what is not allowed.
//
// The path is valid during the call of deliver, which must not use w. Fire returns at once if
// nobody watches anything, and does not allocate in steady state.
//
//	change           first                           then
//	created p        data(p): NodeCreated p          child(parent): NodeChildrenChanged parent
//	deleted p        data(p), child(p): NodeDeleted  child(parent): NodeChildrenChanged parent
//	data changed p   data(p): NodeDataChanged p
//
// data(p) includes the recursive watchers of p and of every ancestor. ZooKeeper fires data(p) and
// child(p) of a deletion one after the other, and leaves out of the second who was in the first;
// which is the same to every connection. Source: server-semantics sections 10.2, 10.4, 10.6.
func (w *Watches) Fire(c Change, deliver func(id WatcherID, t proto.EventType, path []byte, acl ACLID)) {
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
		panic("datatree: a change cannot be " + c.Type.String())
	}
	if len(c.Path) > 1 {
		w.fire(parentPath(c.Path), proto.EventNodeChildrenChanged, modesChild, c.ParentACL, deliver)
	}
}

// fire is one trigger: everybody who watches path in one of the modes wanted hears t, and if the
// data table is wanted, so does everybody who watches an ancestor recursively.
func (w *Watches) fire(path []byte, t proto.EventType, want watchMode, acl ACLID, deliver func(WatcherID, proto.EventType, []byte, ACLID)) {
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
	for at := path; len(at) > 1; {
		at = parentPath(at)
		if entry := w.paths.find(at); entry != 0 {
			w.fireRecursive(entry, t, path, acl, deliver)
		}
	}
}

// fireRecursive tells the recursive watchers of an ancestor of path.
func (w *Watches) fireRecursive(entry uint32, t proto.EventType, path []byte, acl ACLID, deliver func(WatcherID, proto.EventType, []byte, ACLID)) {
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
func (w *Watches) consume(entry uint32, e *watchEntry) {
	all := len(w.gone) == int(e.watchers.n)
	for _, id := range w.gone {
		slot := &w.slots[id]
		w.count(e, slot, e.watchers.get(&w.sets, id), 0)
		w.watchers -= soleOne(slot.entries.n)
		slot.entries.remove(&w.sets, entry)
		if !all {
			e.watchers.remove(&w.sets, id)
		}
	}
	if all {
		e.watchers.drop(&w.sets)
		w.paths.remove(entry)
	}
}
