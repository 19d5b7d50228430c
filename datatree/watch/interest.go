package watch

import "github.com/seed94657493/warren/datatree"

// What an Ending of package datatree asks: a Registry is its Interest.

// At reports whether the deletion of the znode at path fires a watch on it.
func (w *Registry) At(path []byte) bool { return w.paths.live > 0 && w.paths.find(path) != 0 }

// Below says which deletions of children of the znode at path fire watches on it or on an ancestor.
func (w *Registry) Below(path []byte) datatree.Deletions {
	if w.paths.live == 0 {
		return datatree.NoDeletion
	}
	below := w.deletionsBelow(w.paths.find(path))
	if below == datatree.EveryDeletion || w.recursive == 0 {
		return below
	}
	w.paths.eachAncestor(path, func(entry uint32) {
		for _, word := range w.paths.at(entry).watchers.words(&w.sets) {
			if wordModes(word)&modeRecursive != 0 {
				below = datatree.EveryDeletion
			}
		}
	})
	return below
}

// deletionsBelow is Below for the watches on an entry itself; 0 is none.
func (w *Registry) deletionsBelow(entry uint32) datatree.Deletions {
	below := datatree.NoDeletion
	if entry == 0 {
		return below
	}
	for _, word := range w.paths.at(entry).watchers.words(&w.sets) {
		switch m := wordModes(word); {
		case m&(modePersistent|modeRecursive) != 0:
			return datatree.EveryDeletion
		case m&modeChild != 0:
			below = datatree.FirstDeletion
		}
	}
	return below
}

// Follow makes w call fn for every watch that is added from now on, with what it is interested in: in the deletion of
// the znode at path, in those of its children, and, if deep, in those of all znodes below. fn must not use w. A nil fn
// ends that.
func (w *Registry) Follow(fn func(path []byte, below datatree.Deletions, deep bool)) { w.follow = fn }

// tellFollower tells who follows w of a watch that was added.
func (w *Registry) tellFollower(kind Kind, path []byte) {
	switch kind {
	case Data, Exist:
		w.follow(path, datatree.NoDeletion, false)
	case Child:
		w.follow(path, datatree.FirstDeletion, false)
	case Persistent, Recursive:
		w.follow(path, datatree.EveryDeletion, kind == Recursive)
	}
}
