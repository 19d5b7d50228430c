package facts

import (
	"bytes"
	"strings"

	"github.com/seed94657493/warren/datatree"
)

// Query is a search. Exactly one of Prefix and Contains is set.
type Query struct {
	Under    string // the znode below which is searched
	Prefix   string // how the name of a znode begins
	Contains string // what its path below Under contains
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
	w.see = func(id datatree.NodeID) {
		state := n.Store.State
		if q.Prefix != "" {
			if bytes.HasPrefix(state.Name(id), []byte(q.Prefix)) {
				found.Paths = append(found.Paths, string(state.AppendPath(nil, id)))
			}
			return
		}
		if path := state.AppendPath(nil, id); strings.Contains(string(path[w.base:]), q.Contains) {
			found.Paths = append(found.Paths, string(path))
		}
	}
	err := w.run()
	found.Visited, found.After, found.Missed = w.visited, w.after, w.missed
	return found, err
}
