package watch

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

var seedFlag = flag.Uint64("watch.seed", 0, "seed of the random tests; 0 takes a new one")

// watchManager is one of ZooKeeper's two tables as server-semantics 10.1 and 10.2 describe it, in
// the plainest form: path -> connection -> modes.
type watchManager map[string]map[WatcherID]map[string]bool

func (m watchManager) add(id WatcherID, path, mode string) {
	if m[path] == nil {
		m[path] = map[WatcherID]map[string]bool{}
	}
	if m[path][id] == nil {
		m[path][id] = map[string]bool{}
	}
	m[path][id][mode] = true
}

func (m watchManager) remove(id WatcherID, path string, modes ...string) (removed bool) {
	for _, mode := range modes {
		if m[path][id][mode] {
			removed = true
			delete(m[path][id], mode)
		}
	}
	if len(m[path][id]) == 0 {
		delete(m[path], id)
	}
	if len(m[path]) == 0 {
		delete(m, path)
	}
	return removed
}

// trigger returns the watchers that hear of path, and consumes the one-shot watches on it.
func (m watchManager) trigger(path string) map[WatcherID]bool {
	heard := map[WatcherID]bool{}
	for id := range m[path] {
		heard[id] = true
	}
	for id := range heard {
		m.remove(id, path, "standard")
	}
	for at := path; at != "/" && at != ""; {
		at = modelParent(at)
		for id, modes := range m[at] {
			if modes["recursive"] {
				heard[id] = true
			}
		}
	}
	return heard
}

func (m watchManager) pairs() (n int) {
	for _, ids := range m {
		n += len(ids)
	}
	return n
}

func modelParent(path string) string {
	i := len(path) - 1
	for path[i] != '/' {
		i--
	}
	if i == 0 {
		return "/"
	}
	return path[:i]
}

// watchModel is both tables.
type watchModel struct{ data, child watchManager }

func (m *watchModel) add(id WatcherID, kind Kind, path string) {
	switch kind {
	case Data, Exist:
		m.data.add(id, path, "standard")
	case Child:
		m.child.add(id, path, "standard")
	case Persistent:
		m.data.add(id, path, "persistent")
		m.child.add(id, path, "persistent")
	case Recursive:
		m.data.add(id, path, "recursive")
	}
}

func (m *watchModel) remove(id WatcherID, t proto.WatcherType, path string) bool {
	all := []string{"standard", "persistent", "recursive"}
	var d, c bool
	switch t {
	case proto.WatcherChildren:
		c = m.child.remove(id, path, "standard")
	case proto.WatcherData:
		d = m.data.remove(id, path, "standard")
	case proto.WatcherAny:
		d, c = m.data.remove(id, path, all...), m.child.remove(id, path, all...)
	case proto.WatcherPersistent:
		d, c = m.data.remove(id, path, "persistent"), m.child.remove(id, path, "persistent")
	case proto.WatcherPersistentRecursive:
		d = m.data.remove(id, path, "recursive")
	}
	return d || c
}

func (m *watchModel) has(id WatcherID, t proto.WatcherType, path string) bool {
	d, c := m.data[path][id], m.child[path][id]
	if path == "" {
		return false
	}
	switch t {
	case proto.WatcherChildren:
		return c["standard"]
	case proto.WatcherData:
		return d["standard"]
	case proto.WatcherAny:
		return len(d)+len(c) > 0
	case proto.WatcherPersistent:
		return d["persistent"]
	case proto.WatcherPersistentRecursive:
		return d["recursive"]
	}
	return false
}

// fire returns the events of one change by connection.
func (m *watchModel) fire(t proto.EventType, path string) map[WatcherID][]string {
	events := map[WatcherID][]string{}
	tell := func(ids map[WatcherID]bool, except map[WatcherID]bool, t proto.EventType, path string) {
		for id := range ids {
			if !except[id] {
				events[id] = append(events[id], fmt.Sprintf("%v %s", t, path))
			}
		}
	}
	first := m.data.trigger(path)
	tell(first, nil, t, path)
	if t == proto.EventNodeDeleted {
		tell(m.child.trigger(path), first, t, path)
	}
	if t != proto.EventNodeDataChanged && path != "/" {
		parent := modelParent(path)
		tell(m.child.trigger(parent), nil, proto.EventNodeChildrenChanged, parent)
	}
	return events
}

// watched returns the watchers of each path that has one in either table.
func (m *watchModel) watched() map[string]map[WatcherID]bool {
	all := map[string]map[WatcherID]bool{}
	for _, table := range []watchManager{m.data, m.child} {
		for path, ids := range table {
			for id := range ids {
				if all[path] == nil {
					all[path] = map[WatcherID]bool{}
				}
				all[path][id] = true
			}
		}
	}
	return all
}

func (m *watchModel) count() (watchers, paths, total int) {
	w, p := map[WatcherID]bool{}, map[string]bool{}
	for _, table := range []watchManager{m.data, m.child} {
		for path, ids := range table {
			p[path] = true
			for id := range ids {
				w[id] = true
			}
		}
	}
	return len(w), len(p), m.data.pairs() + m.child.pairs()
}

// TestRegistryEqualModel runs random operations on a Registry and on the model; every result, every
// sequence of events of a connection and every count must be equal.
func TestRegistryEqualModel(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = seeds[:0]
		for i := range uint64(6) {
			seeds = append(seeds, uint64(time.Now().UnixNano())+i)
		}
	}
	for _, seed := range seeds {
		if !t.Run("", func(t *testing.T) { judgeWatches(t, seed) }) {
			t.Fatalf("replay: go test ./datatree/watch -run TestRegistryEqualModel -watch.seed=%d", seed)
		}
	}
}

// newSeed returns the seed of a random test and logs it.
func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay: go test ./datatree/watch -run '^%s$' -watch.seed=%d", t.Name(), seed)
	return seed
}

func judgeWatches(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	paths := []string{"/", "", "/a", "/ab", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/d", "/b", "/b/a", "no path", "/a/"}
	for i := range 60 {
		paths = append(paths, fmt.Sprintf("/crowd/%d", i))
	}
	changed := slices.DeleteFunc(slices.Clone(paths),
		func(p string) bool { return p == "" || p == "no path" || p == "/a/" })
	ids := 1 + r.IntN(200)

	w, m := New(0), &watchModel{watchManager{}, watchManager{}}
	if seed%2 == 0 { // there is room for some of the watches only
		for i := range 20 {
			paths = append(paths, fmt.Sprintf("/%05000d", i))
		}
		w.most = 200_000 + r.Uint64N(1_000_000)
		w.sets.places, w.paths.names.places, w.paths.places = 2+r.IntN(20), 1+r.IntN(20), 1+r.IntN(3)
	}
	for i := range 4000 {
		id := WatcherID(r.IntN(ids))
		path := paths[r.IntN(len(paths))]
		wt := proto.WatcherType(r.IntN(7))
		switch op := r.IntN(20); {
		case op < 11:
			kind := Kind(r.IntN(5))
			held := w.Held()
			if w.Add(id, kind, []byte(path)) {
				m.add(id, kind, path)
			} else {
				require.False(t, w.Has(id, proto.WatcherAny, []byte(path)), "refused: %d %q", id, path)
			}
			require.True(t, w.most == 0 || w.Held() <= max(w.most, held), "%d bytes, was %d", w.Held(), held)
		case op < 14:
			require.Equal(t, m.has(id, wt, path), w.Has(id, wt, []byte(path)), "has %d %d %q", id, wt, path)
		case op < 16:
			require.Equal(t, m.remove(id, wt, path), w.Remove(id, wt, []byte(path)), "remove %d %d %q", id, wt, path)
		case op < 17 && r.IntN(10) == 0:
			w.RemoveAll(id)
			for _, path := range paths {
				m.remove(id, proto.WatcherAny, path)
			}
		default:
			path := changed[r.IntN(len(changed))]
			event := proto.EventType(1 + r.IntN(3))
			require.Equal(t, m.fire(event, path), fired(w, event, path), "%v %s", event, path)
		}
		if i%50 == 0 {
			requireSameCounts(t, m, w)
		}
	}
	for id := range ids {
		w.RemoveAll(WatcherID(id))
	}
	watchers, n, total := w.Count()
	require.Zero(t, watchers+n+total+w.recursive+w.child+w.data.pairs+w.data.paths+w.data.watchers)
	requireNothingHeld(t, w)
}

// fired returns the events of one change by connection.
func fired(w *Registry, event proto.EventType, path string) map[WatcherID][]string {
	events := map[WatcherID][]string{}
	c := datatree.Change{Type: event, Path: []byte(path)}
	w.Fire(c, func(id WatcherID, t proto.EventType, path []byte, _ datatree.ACLID) {
		events[id] = append(events[id], fmt.Sprintf("%v %s", t, path))
	})
	return events
}

// each calls fn for the data table.
func each(w *Registry, fn func(id WatcherID, path []byte)) {
	for page, more := 0, true; more; page++ {
		more = w.EachOf(page, fn)
	}
}

func requireSameCounts(t *testing.T, m *watchModel, w *Registry) {
	t.Helper()
	mw, mp, mt := m.count()
	ww, wp, wt := w.Count()
	require.Equal(t, [3]int{mw, mp, mt}, [3]int{ww, wp, wt}, "watchers, paths, watches")

	listed := watchManager{}
	watchers := map[WatcherID]bool{}
	each(w, func(id WatcherID, path []byte) {
		require.False(t, listed[string(path)][id] != nil, "%d %s listed twice", id, path)
		listed.add(id, string(path), "listed")
		watchers[id] = true
	})
	for path, ids := range m.data {
		require.Equal(t, slices.Sorted(maps.Keys(ids)), slices.Sorted(maps.Keys(listed[path])), "watchers of %s", path)
	}
	dw, dp, dt := w.CountData()
	require.Equal(t, [3]int{len(watchers), len(m.data), m.data.pairs()}, [3]int{dw, dp, dt}, "data table")
	require.Equal(t, m.data.pairs(), listed.pairs())

	type use struct {
		paths int
		bytes uint64
	}
	uses, stored := map[WatcherID]use{}, uint64(0)
	for path, ids := range m.watched() {
		stored += uint64(len(path))
		for id := range ids {
			uses[id] = use{uses[id].paths + 1, uses[id].bytes + uint64(len(path))}
		}
	}
	require.Equal(t, stored, w.PathBytes())
	for id := range WatcherID(len(w.slots)) {
		paths, bytes := w.Use(id)
		require.Equal(t, uses[id], use{paths, bytes}, "paths of watcher %d and their bytes", id)
	}
}

// requireNothingHeld checks that no block and no entry is in use, and that what is kept for more of them is little.
func requireNothingHeld(t *testing.T, w *Registry) {
	t.Helper()
	requireEmpty(t, &w.sets)
	requireEmpty(t, &w.paths.names)
	require.Zero(t, w.paths.live)
	pages := 0
	for _, g := range w.paths.pages {
		if g != nil {
			require.Zero(t, g.live)
			pages++
		}
	}
	require.LessOrEqual(t, pages, 1)
	require.LessOrEqual(t, len(w.paths.buckets), bucketsLeast+1)
	require.Less(t, w.Held(), uint64(3<<20))
}
