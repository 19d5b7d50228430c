package visible

import (
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/internal/coordination"
)

// Recipes are znodes by which programs coordinate.
type Recipes struct {
	Recipes []coordination.Recipe `json:"recipes" doc:"what was found"`
	Visited int                   `json:"visited" doc:"znodes that were looked at"`
	After   string                `json:"after" doc:"parameter after that goes on from here; empty if the search is over"`
	Missed  bool                  `json:"missed" doc:"the tree has changed between two steps, so that znodes may have been missed"`
}

// recipeWalk gathers what may be recipes while a walk goes on, under Store.Mu, and decodes it afterwards. One
// goroutine uses it.
type recipeWalk struct {
	*walk
	found   *Recipes
	pending []*coordination.Group // of the present step
	seen    int                   // znodes that were looked at, each once
	path    []byte                // a buffer
}

// Recipes looks for znodes below a path by which programs coordinate, and says what they mean. after is where an
// earlier search has stopped. The znodes that are copied count as visits of the walk, so that a step is as long as one
// of a search.
func (n *Shown) Recipes(a Actor, under, after string, limit int) (*Recipes, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	r := &recipeWalk{walk: newWalk(n, a.IDs, under, after), found: &Recipes{Recipes: []coordination.Recipe{}}}
	r.full = func() bool { return len(r.found.Recipes)+len(r.pending) >= limit }
	r.begun = func() { r.look(r.under) }
	r.see, r.done = r.look, r.decode
	err := r.run()
	r.found.Visited, r.found.After, r.found.Missed = r.seen, r.after, r.missed
	return r.found, err
}

// look notes a znode that may be a recipe.
func (r *recipeWalk) look(id datatree.NodeID) {
	r.seen++
	state := r.n.Store.State
	parent := state.Parent(id)
	if !r.n.MayRead(id, r.ids) {
		return
	}
	total := int(state.Node(id).NumChildren)
	var lines []string
	if total > 0 {
		lines = r.linesOf(id)
	}
	if total == 0 && !r.isSingle(id) || total > 0 && lines == nil && !r.mayBe(id) || r.isBeside(id) ||
		parent != 0 && slices.Contains(r.linesOf(parent), string(state.Name(id))) {
		return
	}
	r.path = state.AppendPath(r.path[:0], id)
	g := &coordination.Group{Path: string(r.path), Self: r.znode(id), Total: total}
	if lines == nil {
		g.Children = r.children(id)
		beside := state.Child(parent, []byte(coordination.BesideOf(g.Self.Name)))
		if beside != 0 && r.n.MayRead(beside, r.ids) {
			g.Beside = r.children(beside)
		}
	} else {
		g.Lines = map[string][]coordination.Znode{}
		for _, name := range lines {
			if line := state.Child(id, []byte(name)); r.n.MayRead(line, r.ids) {
				g.Lines[name] = r.children(line)
			}
		}
		g.Total = 0
	}
	r.pending = append(r.pending, g)
}

// linesOf returns the names of the children of a znode that are lines of one recipe.
func (r *recipeWalk) linesOf(id datatree.NodeID) []string {
	return coordination.LinesOf(func(name string) bool { return r.n.Store.State.Child(id, []byte(name)) != 0 })
}

// isBeside reports whether a znode has a line of the semaphore beside it, which shows that line, too.
func (r *recipeWalk) isBeside(id datatree.NodeID) bool {
	state := r.n.Store.State
	of, ok := coordination.IsBeside(string(state.Name(id)))
	if !ok {
		return false
	}
	semaphore := state.Child(state.Parent(id), []byte(of))
	return semaphore != 0 && r.n.MayRead(semaphore, r.ids) && coordination.IsSemaphore(state.Data(semaphore)) &&
		r.mayBe(semaphore)
}

func (r *recipeWalk) isSingle(id datatree.NodeID) bool {
	state := r.n.Store.State
	if state.Stat(id).EphemeralOwner != 0 {
		return coordination.IsSimpleLock(state.Data(id))
	}
	return coordination.IsBarrier(state.Name(id))
}

// mayBe reports whether the first children of a znode are those of a recipe.
func (r *recipeWalk) mayBe(id datatree.NodeID) bool {
	const looked = 16
	state := r.n.Store.State
	ephemerals, seen := 0, 0
	for child := state.FirstChild(id); child != 0 && seen < looked; child = state.NextSibling(child) {
		seen++
		r.visited++
		if coordination.IsMarked(state.Name(child)) {
			return true
		}
		if !r.n.MayRead(child, r.ids) {
			continue
		}
		if coordination.IsService(state.Data(child)) {
			return true
		}
		if state.Stat(child).EphemeralOwner != 0 {
			ephemerals++
		}
	}
	return ephemerals > 0 && ephemerals >= seen-1 // a double barrier has a znode that is none
}

func (r *recipeWalk) children(id datatree.NodeID) (all []coordination.Znode) {
	state := r.n.Store.State
	for at := state.FirstChild(id); at != 0 && len(all) < coordination.MembersMax; at = state.NextSibling(at) {
		r.visited++
		all = append(all, r.znode(at))
	}
	return all
}

func (r *recipeWalk) znode(id datatree.NodeID) coordination.Znode {
	state := r.n.Store.State
	z := coordination.Znode{Name: string(state.Name(id)), Readable: r.n.MayRead(id, r.ids)}
	if z.Readable {
		st, data := state.Stat(id), state.Data(id)
		z.Created, z.Session = st.Ctime, r.n.owner(&st)
		z.Whole = len(data) <= coordination.DataMax
		z.Data = append(z.Data, data[:min(len(data), coordination.DataMax)]...)
	}
	return z
}

// decode says what the groups of a step mean. It needs no lock.
func (r *recipeWalk) decode() {
	for _, g := range r.pending {
		if found := coordination.Recognize(g); found != nil {
			r.found.Recipes = append(r.found.Recipes, *found)
		}
	}
	r.pending = nil
}
