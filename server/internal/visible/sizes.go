package visible

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sizes"
)

// Sizes are what the subtrees of a znode hold.
type Sizes struct {
	Path     string   `json:"path" doc:"of the znode"`
	Counted  int64    `json:"counted" doc:"when this was complete, ms since 1970; 0 if it has not been counted yet"`
	Missed   bool     `json:"missed" doc:"the tree has changed while it was counted, so that znodes may be missing"`
	Running  bool     `json:"running" doc:"it is being counted again: each request goes on for a moment"`
	Progress float64  `json:"progress" doc:"how much of that is done, as far as it can be told: 0 to 1"`
	Formers  []int64  `json:"formers" doc:"when it was counted before, as far as that is kept, ms since 1970"`
	Since    int64    `json:"since" doc:"the one of them that growth is counted from; 0 if there is none"`
	Whole    SizePart `json:"whole" doc:"the znode with all below it, two levels deep"`
}

// SizePart is a znode with all below it that the visitor may read.
type SizePart struct {
	Path   string     `json:"path" doc:"of the znode"`
	Znodes int64      `json:"znodes" doc:"number of znodes"`
	Bytes  int64      `json:"bytes" doc:"of paths and data"`
	Writes float64    `json:"writes" doc:"a second: each znode written in the last hour counts with its mean since it was created"`
	Parts  []SizePart `json:"parts" doc:"its largest children, at most 60"`
	Others int        `json:"others" doc:"number of children that are not in parts"`
	Grown  *int64     `json:"grown" doc:"bytes more than at since; null if that is not known"`
}

// Bounds of counting.
const (
	// countsMax is how many counts are kept: of visitors with other identities, or below other znodes. The one that
	// was not asked for longest is forgotten.
	countsMax = 4
	// countFresh is how long a count is good enough.
	countFresh = time.Minute
	// countSlice is how long one request counts, countPause how long nothing is counted after that, and countPerLock
	// how many znodes are counted under one hold of Store.Mu.
	countSlice, countPause = 60 * time.Millisecond, 250 * time.Millisecond
	countPerLock           = 256
	// recently is how long ago a znode may have been written last to count as one that is written.
	recently = time.Hour
)

// counts are the counts of a server. Nothing runs in the background: a count advances while visitors ask for it.
type counts struct {
	mu     sync.Mutex // held while one request counts; others take what there is
	rested time.Time  // when the pause ends
	shared struct {
		sync.Mutex
		all []*count // the one asked for last is the last
	}
}

// count is the sizes below a znode, as a visitor with some identities may know them. counts.mu lets one goroutine at a
// time go on with it; its own mu guards what the others may look at meanwhile.
type count struct {
	who, root string
	ids       []auth.Identity

	// counts.mu guards these. The place in the walk is kept as names, because znodes may go meanwhile.
	counter *sizes.Counter // nil if none runs
	now     int64          // when it has begun, ms since 1970
	next    []place        // of each znode that is open: its child to go on with, or that is open
	missed  bool

	mu struct {
		sync.Mutex
		counted  int64 // when result was complete, ms since 1970; 0 without one
		result   *sizes.Part
		missed   bool
		visited  int64 // of the count that runs
		expected int64
		running  bool
		formers  []former // the results before this one
	}
}

// place is the child of an open znode with which to go on, and the one after it, should the first be gone.
type place struct{ name, after string }

// Sizes returns what the subtrees of a znode hold, as far as it was counted, and by how much they have grown since
// the count before a time, in ms since 1970, or the oldest that is kept. Each call counts for a moment.
func (n *Shown) Sizes(a Actor, path string, since int64) (*Sizes, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	if err := n.maySee(a.IDs, path); err != nil {
		return nil, err
	}
	c, names := n.counts.find(a.IDs, path)
	if err := n.advance(c); err != nil {
		return nil, err
	}
	return c.sizes(path, names, since), nil
}

// sizes is what the last complete count knows of a znode, to which names lead from its root.
func (c *count) sizes(path string, names []string, since int64) *Sizes {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Sizes{Path: path, Counted: c.mu.counted, Missed: c.mu.missed, Running: c.mu.running,
		Whole: SizePart{Path: path, Parts: []SizePart{}}, Formers: []int64{}}
	for i := range c.mu.formers {
		s.Formers = append(s.Formers, c.mu.formers[i].counted)
	}
	if s.Running {
		s.Progress = min(1, float64(c.mu.visited)/float64(max(c.mu.expected, 1)))
	}
	if c.mu.result != nil {
		var g growth
		if f := before(c.mu.formers, since); f != nil {
			s.Since = f.counted
			part := f.whole.Find(names)
			g = growth{is: true, missed: part == nil || f.missed || c.mu.missed, part: part}
		}
		if part := c.mu.result.Find(names); part != nil {
			s.Whole = sizePart(path, part, g, 2)
		}
	}
	return s
}

// find returns the count that knows the parts of a znode, and the names that lead there: the count of the whole tree
// if that has kept them, else one of its own.
func (c *counts) find(ids []auth.Identity, path string) (*count, []string) {
	who := ""
	for _, id := range ids {
		who += fmt.Sprintf("%q%q", id.Scheme, id.ID)
	}
	c.shared.Lock()
	defer c.shared.Unlock()
	if path == "/" {
		return c.of(who, "/", ids), nil
	}
	names := strings.Split(path[1:], "/")
	if i := slices.IndexFunc(c.shared.all, func(o *count) bool { return o.who == who && o.root == "/" }); i >= 0 {
		whole := c.shared.all[i]
		whole.mu.Lock()
		hasParts := false
		if whole.mu.result != nil {
			part := whole.mu.result.Find(names)
			hasParts = part != nil && len(part.Parts) > 0
		}
		whole.mu.Unlock()
		if hasParts {
			return c.of(who, "/", ids), names
		}
	}
	return c.of(who, path, ids), nil
}

// of returns the count of a visitor below a znode, a new one if there is none. REQUIRES: shared.
func (c *counts) of(who, root string, ids []auth.Identity) *count {
	all := c.shared.all
	i := slices.IndexFunc(all, func(o *count) bool { return o.who == who && o.root == root })
	one := &count{who: who, root: root, ids: ids}
	switch {
	case i >= 0:
		one = all[i]
		all = slices.Delete(all, i, i+1)
	case len(all) == countsMax:
		all = slices.Delete(all, 0, 1)
	}
	c.shared.all = append(all, one)
	return one
}

// advance counts for a moment, unless another request does or the count is fresh.
func (n *Shown) advance(c *count) error {
	if !n.counts.mu.TryLock() {
		return nil
	}
	defer n.counts.mu.Unlock()
	began := time.Now()
	c.mu.Lock()
	fresh := c.counter == nil && c.mu.result != nil && began.UnixMilli()-c.mu.counted < countFresh.Milliseconds()
	c.mu.Unlock()
	if fresh || began.Before(n.counts.rested) {
		return nil
	}
	defer func() { n.counts.rested = time.Now().Add(countPause) }()
	for time.Since(began) < countSlice {
		if done, err := n.countOn(c); done || err != nil {
			return err
		}
	}
	return nil
}

// countOn counts countPerLock znodes. It reports whether the count is complete.
func (n *Shown) countOn(c *count) (done bool, err error) {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	root := n.Store.State.Lookup([]byte(c.root))
	if root == 0 {
		c.counter = nil
		return true, proto.ErrNoNode
	}
	w := &counting{preorder: preorder{state: n.Store.State, under: root}, n: n, c: c, budget: countPerLock}
	w.opens, w.left = w.allows, w.leave
	var at datatree.NodeID
	if c.counter == nil {
		c.begin(n, root)
		at = w.enter(root)
	} else {
		at = w.resume()
	}
	at = w.run(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.visited += int64(countPerLock - w.budget)
	if c.mu.running = w.result == nil; w.result == nil {
		w.remember(at)
		return false, nil
	}
	if c.mu.result != nil {
		c.mu.formers = remember(c.mu.formers, former{c.mu.counted, c.mu.missed, c.mu.result.Head(formerParts)})
	}
	c.mu.result, c.mu.counted, c.mu.missed = w.result, time.Now().UnixMilli(), c.missed
	c.counter, c.next = nil, nil
	return true, nil
}

// begin starts a count. REQUIRES: Store.Mu.
func (c *count) begin(n *Shown, root datatree.NodeID) {
	state := n.Store.State
	total := sizes.Sum{Znodes: int64(state.NumNodes()), Bytes: state.DataSize()}
	if root != datatree.Root {
		total = sizes.Sum{} // not known: all parts that fit are kept
	}
	c.counter, c.now, c.next, c.missed = sizes.NewCounter(total), time.Now().UnixMilli(), nil, false
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.visited, c.mu.expected, c.mu.running = 0, int64(state.NumNodes()), true
}

// counting is one step of a count, under one hold of Store.Mu for reading and of counts.mu.
type counting struct {
	preorder
	n           *Shown
	c           *count
	budget      int            // znodes that may still be counted
	length      int            // of the path of the znode that is open
	result      *sizes.Part    // when all is counted
	lastACL     datatree.ACLID // of which lastAllowed says what it allows, if isKnown
	lastAllowed bool
	isKnown     bool
}

// enter begins with the root, and returns the first znode below it.
func (w *counting) enter(root datatree.NodeID) datatree.NodeID {
	w.c.counter.Enter("", w.own(root, len(w.c.root)))
	at := w.next(root)
	if at == 0 {
		w.leave()
	}
	return at
}

// leave ends the znode that is open.
func (w *counting) leave() {
	w.length -= 1 + len(w.c.counter.Name(w.c.counter.Depth()-1))
	w.result = w.c.counter.Leave()
}

// resume finds the place, and returns the znode to go on with. What is gone is left; its siblings that come later are
// found by the name of the next one.
func (w *counting) resume() datatree.NodeID {
	c, id := w.c, w.under
	for i := 0; ; i++ {
		p := c.next[i]
		child := w.child(id, p.name)
		isOpen := i+1 < c.counter.Depth()
		switch {
		case child == 0 || isOpen && !w.allows(child):
			for c.counter.Depth() > i+1 {
				c.counter.Leave()
			}
			if after := w.child(id, p.after); after != 0 {
				return after
			}
			c.missed = c.missed || p.after != ""
			w.leave()
			return w.beside(id)
		case !isOpen:
			return child
		}
		id = child
	}
}

// child returns a child, 0 if there is none or no name.
func (w *counting) child(parent datatree.NodeID, name string) datatree.NodeID {
	if name == "" {
		return 0
	}
	return w.state.Child(parent, []byte(name))
}

// remember notes the place of the znode to go on with as names: its own, and those of the znodes above it.
func (w *counting) remember(at datatree.NodeID) {
	w.c.next = w.c.next[:0]
	for ; at != w.under; at = w.state.Parent(at) {
		p := place{name: string(w.state.Name(at))}
		if after := w.state.NextSibling(at); after != 0 {
			p.after = string(w.state.Name(after))
		}
		w.c.next = append(w.c.next, p)
	}
	slices.Reverse(w.c.next)
}

// run counts until the lock has been held for long enough, and returns the znode to go on with.
func (w *counting) run(at datatree.NodeID) datatree.NodeID {
	w.length = 0
	if len(w.c.root) > 1 {
		w.length = len(w.c.root)
	}
	for i := 1; i < w.c.counter.Depth(); i++ {
		w.length += 1 + len(w.c.counter.Name(i))
	}
	for ; at != 0 && w.budget > 0; at = w.next(at) {
		w.budget--
		name := w.state.Name(at)
		own := w.own(at, w.length+1+len(name))
		if w.state.FirstChild(at) == 0 || !w.allows(at) {
			w.c.counter.Leaf(name, own)
			continue
		}
		w.c.counter.Enter(string(name), own)
		w.length += 1 + len(name)
	}
	return at
}

// own is what a znode holds itself, as far as the visitor may know it.
func (w *counting) own(id datatree.NodeID, path int) sizes.Sum {
	s := sizes.Sum{Znodes: 1, Bytes: int64(path)}
	if !w.allows(id) {
		return s
	}
	s.Bytes += int64(len(w.state.Data(id)))
	node := w.state.Node(id)
	if node.Mtime >= w.c.now-recently.Milliseconds() && node.Version >= 0 {
		s.Writes = (float64(node.Version) + 1) / max(1, float64(w.c.now-node.Ctime)/1000)
	}
	return s
}

func (w *counting) allows(id datatree.NodeID) bool {
	if acl := w.state.Node(id).ACL; acl != w.lastACL || !w.isKnown {
		w.lastACL, w.isKnown, w.lastAllowed = acl, true, w.n.Allows(acl, proto.PermRead, w.c.ids)
	}
	return w.lastAllowed
}

// sizePart is a part for a visitor, with so many levels below it, the largest first.
func sizePart(path string, p *sizes.Part, g growth, levels int) SizePart {
	s := SizePart{Path: path, Znodes: p.Znodes, Bytes: p.Bytes, Writes: p.Writes, Others: p.Others,
		Parts: []SizePart{}, Grown: g.bytes(p.Bytes)}
	if levels == 0 {
		return s
	}
	if path == "/" {
		path = ""
	}
	for _, part := range p.Parts {
		s.Parts = append(s.Parts, sizePart(path+"/"+part.Name, part, g.of(part.Name), levels-1))
	}
	slices.SortStableFunc(s.Parts, func(a, b SizePart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	return s
}
