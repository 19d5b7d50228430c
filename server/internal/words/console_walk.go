package words

import (
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Bounds of a walk.
const (
	// visitsMax is how many znodes one request looks at, and visitsPerLock how many under one hold of Store.Mu.
	visitsMax, visitsPerLock = 20_000, 1000
)

// walk is a walk through the tree below a znode, parents first, in the order of creation. Only what the visitor may
// list is walked: the children of znodes that it may read. Between two steps the place is kept as a path, because
// znodes may go meanwhile.
type walk struct {
	n       shown
	ids     []auth.Identity
	path    string // of the znode below which the walk goes
	under   datatree.NodeID
	base    int    // length of path, with the slash behind it
	after   string // the last znode that was visited, "" before the first and after the last
	visited int
	missed  bool // the tree has changed between two steps, so that znodes may have been missed

	see   func(datatree.NodeID) // is called with each znode, under Store.Mu
	full  func() bool           // nothing more is wanted
	begun func()                // is called before the first znode of a walk, under Store.Mu; may be nil
	done  func()                // is called after each step, without Store.Mu; may be nil
}

func newWalk(n shown, ids []auth.Identity, path, after string) *walk {
	w := &walk{n: n, ids: ids, path: path, after: after, base: len(path) + 1}
	if path == "/" {
		w.base = 1
	}
	return w
}

// run walks until visitsMax znodes were visited, nothing more is wanted, or the walk is over.
func (w *walk) run() error {
	for w.visited < visitsMax && !w.full() {
		more, err := w.step()
		if w.done != nil {
			w.done()
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// step visits visitsPerLock znodes after the last one. It reports whether there are more.
func (w *walk) step() (more bool, err error) {
	w.n.Store.Mu.RLock()
	defer w.n.Store.Mu.RUnlock()
	state := w.n.Store.State
	at, err := w.begin()
	var last datatree.NodeID
	for end := w.visited + visitsPerLock; at != 0 && w.visited < end && !w.full(); {
		w.visited++
		w.see(at)
		last, at = at, w.next(at)
	}
	if w.after = ""; at != 0 && last != 0 {
		w.after = string(state.AppendPath(nil, last))
	}
	return at != 0, err
}

// begin returns the znode with which a step begins, 0 if there is none.
func (w *walk) begin() (datatree.NodeID, error) {
	state := w.n.Store.State
	if w.under = state.Lookup([]byte(w.path)); w.under == 0 {
		return 0, proto.ErrNoNode
	}
	if !w.n.allows(w.under, w.ids) {
		return 0, proto.ErrNoAuth
	}
	after := w.after
	if after == "" {
		if w.begun != nil {
			w.begun()
		}
		return state.FirstChild(w.under), nil
	}
	if len(after) <= w.base || !strings.HasPrefix(after, w.path) || after[w.base-1] != '/' {
		return 0, proto.ErrBadArguments
	}
	at := state.Lookup([]byte(after))
	gone := at == 0
	for ; at == 0; at = state.Lookup([]byte(after)) {
		cut := strings.LastIndexByte(after, '/')
		if cut < w.base {
			return w.miss(0), nil // the place is lost
		}
		after = after[:cut]
	}
	for up := state.Parent(at); up != w.under; up = state.Parent(up) {
		if !w.n.allows(up, w.ids) {
			return 0, proto.ErrNoAuth
		}
	}
	if gone {
		return w.miss(w.beside(at)), nil
	}
	return w.next(at), nil
}

// miss notes that znodes may have been missed.
func (w *walk) miss(at datatree.NodeID) datatree.NodeID {
	w.missed = true
	return at
}

// next returns the znode after id in the walk, 0 after the last.
func (w *walk) next(id datatree.NodeID) datatree.NodeID {
	if first := w.n.Store.State.FirstChild(id); first != 0 && w.n.allows(id, w.ids) {
		return first
	}
	return w.beside(id)
}

// beside returns the first znode of the walk that is neither id nor below it.
func (w *walk) beside(id datatree.NodeID) datatree.NodeID {
	state := w.n.Store.State
	for ; id != w.under; id = state.Parent(id) {
		if next := state.NextSibling(id); next != 0 {
			return next
		}
	}
	return 0
}
