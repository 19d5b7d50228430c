package visible

import (
	"net/http"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/coordination"
)

// SessionDetails is a session with its part in locks, elections and the like.
type SessionDetails struct {
	Session Session `json:"session" doc:"the session"`
	Parts   []Part  `json:"parts" doc:"recipes that have its ephemeral znodes; of a session with very many ephemerals only those of the first 100"`
}

// Part is what one session has to do with a recipe.
type Part struct {
	Recipe  coordination.Recipe `json:"recipe" doc:"its members are those of the session, and those that hold it, lead or are inside: 20 at most"`
	Waiting int                 `json:"waiting" doc:"members that wait"`
	Before  int                 `json:"before" doc:"members that wait before the first one of the session that does; all that wait if none of it does"`
}

// partMembers is how many members of a recipe are told of with a session.
const partMembers = 20

var errNoSession = refusal(http.StatusNotFound,
	"there is no such session: it has ended, or the label is one of another server")

// Session returns the session that has a label, with the recipes in which it takes part.
func (n *Shown) Session(a Actor, label string) (*SessionDetails, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	held := n.Holders()
	all := n.sights(held, &Sessions{})
	at := slices.IndexFunc(all, func(s sight) bool { return n.front.Label(s.id) == label })
	if at < 0 {
		return nil, errNoSession
	}
	d := &SessionDetails{Session: n.session(&all[at], held, a), Parts: []Part{}}
	r := &recipeWalk{walk: newWalk(n, a.IDs, "/", ""), found: &Recipes{}}
	for _, path := range n.placesOf(d.Session.Paths) {
		if r.visited >= visitsMax {
			break
		}
		r.lookAt(path)
	}
	for i := range r.found.Recipes {
		if p := partOf(&r.found.Recipes[i], label, d.Session.Paths); p != nil {
			d.Parts = append(d.Parts, *p)
		}
	}
	return d, nil
}

// placesOf returns the paths of what may be recipes with these ephemerals, each once.
func (n *Shown) placesOf(ephemerals []string) (all []string) {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state, seen := n.Store.State, map[datatree.NodeID]bool{}
	for _, path := range ephemerals {
		self := state.Lookup([]byte(path))
		if self == 0 {
			continue
		}
		parent := state.Parent(self)
		places := []datatree.NodeID{self, parent}
		if above := state.Parent(parent); above != 0 { // one that has lines, or beside one
			places = append(places, above)
			if of, ok := coordination.IsBeside(string(state.Name(parent))); ok {
				places = append(places, state.Child(above, []byte(of)))
			}
		}
		for _, id := range places {
			if id != 0 && !seen[id] {
				seen[id] = true
				all = append(all, string(state.AppendPath(nil, id)))
			}
		}
	}
	return all
}

// lookAt decodes one znode, if it is a recipe and still there.
func (r *recipeWalk) lookAt(path string) {
	r.n.Store.Mu.RLock()
	if id := r.n.Store.State.Lookup([]byte(path)); id != 0 {
		r.visited++
		r.look(id)
	}
	r.n.Store.Mu.RUnlock()
	r.decode()
}

// partOf returns what a session has to do with a recipe, nil if nothing. A member further back than those that were
// looked at is known by its path.
func partOf(r *coordination.Recipe, session string, ephemerals []string) *Part {
	p := &Part{Recipe: *r}
	p.Recipe.Members = []coordination.Holder{}
	isIn := r.Total > len(r.Members) &&
		slices.ContainsFunc(ephemerals, func(path string) bool { return paths.ParentOf(path) == r.Path })
	waitsAlready := false
	for _, m := range r.Members {
		own, waits := m.Session == session, m.State == "waits"
		isIn, waitsAlready = isIn || own, waitsAlready || own && waits
		if waits {
			p.Waiting++
			if !waitsAlready {
				p.Before++
			}
		}
		if (own || slices.Contains(has, m.State)) && len(p.Recipe.Members) < partMembers {
			p.Recipe.Members = append(p.Recipe.Members, m)
		}
	}
	if !isIn {
		return nil
	}
	return p
}

// has are the states of members for which others wait.
var has = []string{"holds", "leads", "inside"}
