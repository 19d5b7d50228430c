package visible

import (
	"bytes"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// preorder is the order in which every walk visits the znodes below one: parents first, siblings as they were created.
// It goes by the state alone, so the lock of the state is held from one call to the next.
type preorder struct {
	state *datatree.State
	under datatree.NodeID
	opens func(datatree.NodeID) bool // the children of a znode are visited; nil: of all
	left  func()                     // is called when the last znode below an opened one was visited; may be nil
}

// next returns the znode after id, 0 after the last.
func (p *preorder) next(id datatree.NodeID) datatree.NodeID {
	if first := p.state.FirstChild(id); first != 0 && (p.opens == nil || p.opens(id)) {
		return first
	}
	return p.beside(id)
}

// beside returns the first znode after id that is not below it.
func (p *preorder) beside(id datatree.NodeID) datatree.NodeID {
	for id != p.under {
		if next := p.state.NextSibling(id); next != 0 {
			return next
		}
		id = p.state.Parent(id)
		if p.left != nil {
			p.left()
		}
	}
	return 0
}

// visitsMax is how many znodes one request looks at, and visitsPerLock how many under one hold of Store.Mu.
const visitsMax, visitsPerLock = 20_000, 1000

// walk is a walk through the tree below a znode, in steps. Only what the visitor may list is walked: the children of
// znodes that it may read. Between two steps the place is kept as a path, because znodes may go meanwhile.
type walk struct {
	preorder
	n       *Shown
	ids     []auth.Identity
	path    string // of the znode below which the walk goes
	base    int    // length of path, with the slash behind it
	after   string // the last znode that was visited, or path after begun; "" before that, and after the last
	visited int
	missed  bool // the tree has changed between two steps, so that znodes may have been missed

	see   func(datatree.NodeID) // is called with each znode, under Store.Mu
	full  func() bool           // nothing more is wanted
	begun func()                // is called before the first znode of a walk, under Store.Mu; may be nil
	done  func()                // is called after each step, without Store.Mu; may be nil
}

func newWalk(n *Shown, ids []auth.Identity, path, after string) *walk {
	w := &walk{n: n, ids: ids, path: path, after: after, base: len(path) + 1}
	w.opens = func(id datatree.NodeID) bool { return n.MayRead(id, ids) }
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
	w.state = w.n.Store.State
	at, err := w.begin()
	var last datatree.NodeID
	for end := w.visited + visitsPerLock; at != 0 && w.visited < end && !w.full(); {
		w.visited++
		w.see(at)
		last, at = at, w.next(at)
	}
	switch {
	case at == 0:
		w.after = ""
	case last == 0:
		w.after = w.path // only the znode below which it goes was looked at
	default:
		w.after = string(w.state.AppendPath(nil, last))
	}
	return at != 0, err
}

// begin returns the znode with which a step begins, 0 if there is none.
func (w *walk) begin() (datatree.NodeID, error) {
	state, after := w.state, w.after
	var err error
	if w.under, err = w.n.Readable(w.path, w.ids); err != nil {
		return 0, err
	}
	if after == "" && w.begun != nil {
		w.begun()
	}
	if after == "" || after == w.path {
		return state.FirstChild(w.under), nil
	}
	if len(after) <= w.base || !strings.HasPrefix(after, w.path) || after[w.base-1] != '/' {
		return 0, proto.ErrBadArguments
	}
	at := state.Lookup([]byte(after))
	gone := at == 0
	for ; at == 0; at = state.Lookup([]byte(after)) {
		cut := strings.LastIndexByte(after, '/')
		if cut <= w.base { // what is left names no znode below
			return w.miss(0), nil // the place is lost
		}
		after = after[:cut]
	}
	for up := state.Parent(at); up != w.under; up = state.Parent(up) {
		if !w.opens(up) {
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

// Query is a search. Exactly one of Prefix, Contains and Letters is set.
type Query struct {
	Under    string // the znode below which is searched
	Prefix   string // how the name of a znode begins
	Contains string // what its path below Under contains, in any case
	Letters  string // what its path below Under contains with gaps, in this order and any case
	After    string // where an earlier search has stopped; "" at first
	Limit    int    // of the znodes found
}

// Found is the outcome of a search.
type Found struct {
	Paths   []string `json:"paths" doc:"of the znodes found"`
	Visited int      `json:"visited" doc:"znodes that were looked at"`
	After   string   `json:"after" doc:"parameter after that goes on from here; empty if the search is over"`
	Missed  bool     `json:"missed" doc:"the tree has changed between two steps, so that znodes may have been missed"`
}

// Search looks for znodes.
func (n *Shown) Search(a Actor, q Query) (*Found, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	found := &Found{Paths: []string{}}
	w := newWalk(n, a.IDs, q.Under, q.After)
	w.full = func() bool { return len(found.Paths) >= q.Limit }
	contains, letters := strings.ToLower(q.Contains), []rune(strings.ToLower(q.Letters))
	w.see = func(id datatree.NodeID) {
		state := n.Store.State
		if q.Prefix != "" {
			if bytes.HasPrefix(state.Name(id), []byte(q.Prefix)) {
				found.Paths = append(found.Paths, string(state.AppendPath(nil, id)))
			}
			return
		}
		path := string(state.AppendPath(nil, id))
		below := strings.ToLower(path[w.base:])
		if len(letters) > 0 && hasLetters(below, letters) || len(letters) == 0 && strings.Contains(below, contains) {
			found.Paths = append(found.Paths, path)
		}
	}
	err := w.run()
	found.Visited, found.After, found.Missed = w.visited, w.after, w.missed
	return found, err
}

// hasLetters reports whether a text has letters in this order, with anything between them.
func hasLetters(text string, letters []rune) bool {
	for _, r := range text {
		if r == letters[0] {
			if letters = letters[1:]; len(letters) == 0 {
				return true
			}
		}
	}
	return false
}
