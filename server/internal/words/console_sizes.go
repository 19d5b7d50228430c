package words

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
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/sizes"
)

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

// count is the sizes below a znode, as a visitor with some identities may know them.
type count struct {
	who, root string
	ids       []auth.Identity

	// counts.mu guards these. The place in the walk is kept as names, because znodes may go meanwhile.
	counter *sizes.Counter // nil if none runs
	now     int64          // when it has begun, ms since 1970
	next    []place        // of each znode that is open: its child with which to go on
	missed  bool

	mu struct {
		sync.Mutex
		counted  int64 // when result was complete, ms since 1970; 0 without one
		result   *sizes.Part
		missed   bool
		visited  int64 // of the count that runs
		expected int64
		running  bool
	}
}

// place is the child of an open znode with which to go on, and the one after it, should the first be gone.
type place struct{ name, after string }

// Sizes implements api.Server.
func (n shown) Sizes(a api.Actor, path string) (*api.Sizes, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	if err := n.maySee(a.IDs, path); err != nil {
		return nil, err
	}
	c, names := n.counts.find(a.IDs, path)
	if err := n.advance(c); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &api.Sizes{Path: path, Counted: c.mu.counted, Missed: c.mu.missed, Running: c.mu.running,
		Whole: api.SizePart{Path: path, Parts: []api.SizePart{}}}
	if s.Running {
		s.Progress = min(1, float64(c.mu.visited)/float64(max(c.mu.expected, 1)))
	}
	if c.mu.result != nil {
		if part := c.mu.result.Find(names); part != nil {
			s.Whole = sizePart(path, part, 2)
		}
	}
	return s, nil
}

// maySee returns an error if a visitor may not list the children of a znode.
func (n shown) maySee(ids []auth.Identity, path string) error {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	id := n.Store.State.Lookup([]byte(path))
	if id == 0 {
		return proto.ErrNoNode
	}
	for ; id != 0; id = n.Store.State.Parent(id) {
		if !n.allows(id, ids) {
			return proto.ErrNoAuth
		}
	}
	return nil
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
func (n shown) advance(c *count) error {
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
func (n shown) countOn(c *count) (done bool, err error) {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	root := state.Lookup([]byte(c.root))
	if root == 0 {
		c.counter = nil
		return true, proto.ErrNoNode
	}
	w := &counting{n: n, c: c, left: countPerLock}
	if c.counter == nil {
		c.begin(n, root)
		c.counter.Enter("", w.own(root, len(c.root)))
		w.open = append(w.open, opened{root, state.FirstChild(root)})
		if !n.allows(root, c.ids) {
			w.open[0].next = 0
		}
	} else {
		w.resume(root)
	}
	result := w.run()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.visited += int64(countPerLock - w.left)
	if c.mu.running = result == nil; result == nil {
		w.remember()
		return false, nil
	}
	c.mu.result, c.mu.counted, c.mu.missed = result, time.Now().UnixMilli(), c.missed
	c.counter, c.next = nil, nil
	return true, nil
}

// begin starts a count. REQUIRES: Store.Mu.
func (c *count) begin(n shown, root datatree.NodeID) {
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

// counting is one hold of Store.Mu.
type counting struct {
	n           shown
	c           *count
	left        int // znodes that may be counted
	open        []opened
	lastACL     datatree.ACLID // of which lastAllowed says what it allows, if isKnown
	lastAllowed bool
	isKnown     bool
}

// opened is a znode whose children are being counted, with the next of them, 0 if there is no more.
type opened struct{ id, next datatree.NodeID }

// resume finds the znodes that were open. What is gone is left; its siblings that come later are found by the name of
// the next one.
func (w *counting) resume(root datatree.NodeID) {
	state, c := w.n.Store.State, w.c
	id := root
	for i := 0; ; i++ {
		p := c.next[i]
		child := w.child(id, p.name)
		isOpen := i+1 < c.counter.Depth()
		if child == 0 || isOpen && !w.allows(child) {
			for c.counter.Depth() > i+1 {
				c.counter.Leave()
			}
			child = w.child(id, p.after)
			c.missed = c.missed || p.after != "" && child == 0
			w.open = append(w.open, opened{id, child})
			return
		}
		if !isOpen {
			w.open = append(w.open, opened{id, child})
			return
		}
		w.open = append(w.open, opened{id, state.NextSibling(child)})
		id = child
	}
}

// child returns a child, 0 if there is none or no name.
func (w *counting) child(parent datatree.NodeID, name string) datatree.NodeID {
	if name == "" {
		return 0
	}
	return w.n.Store.State.Child(parent, []byte(name))
}

// remember notes the place as names. For each open znode but the last that is the child that is open.
func (w *counting) remember() {
	state := w.n.Store.State
	name := func(id datatree.NodeID) string {
		if id == 0 {
			return ""
		}
		return string(state.Name(id))
	}
	w.c.next = w.c.next[:0]
	for i, o := range w.open {
		p := place{name: name(o.next)}
		switch {
		case i+1 < len(w.open):
			p = place{name(w.open[i+1].id), name(o.next)}
		case o.next != 0:
			p.after = name(state.NextSibling(o.next))
		}
		w.c.next = append(w.c.next, p)
	}
}

// run counts until the lock has been held for long enough. It returns the result if that was all.
func (w *counting) run() *sizes.Part {
	state := w.n.Store.State
	length := len(w.c.root)
	if length == 1 {
		length = 0
	}
	for i := 1; i < w.c.counter.Depth(); i++ {
		length += 1 + len(w.c.counter.Name(i))
	}
	for w.left > 0 {
		top := &w.open[len(w.open)-1]
		at := top.next
		if at == 0 {
			length -= 1 + len(w.c.counter.Name(len(w.open)-1))
			w.open = w.open[:len(w.open)-1]
			if root := w.c.counter.Leave(); root != nil {
				return root
			}
			continue
		}
		w.left--
		top.next = state.NextSibling(at)
		name := state.Name(at)
		own := w.own(at, length+1+len(name))
		first := state.FirstChild(at)
		if first == 0 || !w.allows(at) {
			w.c.counter.Leaf(name, own)
			continue
		}
		length += 1 + len(name)
		w.c.counter.Enter(string(name), own)
		w.open = append(w.open, opened{at, first})
	}
	return nil
}

// own is what a znode holds itself, as far as the visitor may know it.
func (w *counting) own(id datatree.NodeID, path int) sizes.Sum {
	s := sizes.Sum{Znodes: 1, Bytes: int64(path)}
	if !w.allows(id) {
		return s
	}
	s.Bytes += int64(len(w.n.Store.State.Data(id)))
	node := w.n.Store.State.Node(id)
	if node.Mtime >= w.c.now-recently.Milliseconds() && node.Version >= 0 {
		s.Writes = (float64(node.Version) + 1) / max(1, float64(w.c.now-node.Ctime)/1000)
	}
	return s
}

func (w *counting) allows(id datatree.NodeID) bool {
	if acl := w.n.Store.State.Node(id).ACL; acl != w.lastACL || !w.isKnown {
		w.lastACL, w.isKnown, w.lastAllowed = acl, true, w.n.Allows(acl, proto.PermRead, w.c.ids)
	}
	return w.lastAllowed
}

// sizePart is a part for a visitor, with so many levels below it, the largest first.
func sizePart(path string, p *sizes.Part, levels int) api.SizePart {
	s := api.SizePart{Path: path, Znodes: p.Znodes, Bytes: p.Bytes, Writes: p.Writes, Others: p.Others,
		Parts: []api.SizePart{}}
	if levels == 0 {
		return s
	}
	if path == "/" {
		path = ""
	}
	for _, part := range p.Parts {
		s.Parts = append(s.Parts, sizePart(path+"/"+part.Name, part, levels-1))
	}
	slices.SortStableFunc(s.Parts, func(a, b api.SizePart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	return s
}
