package watch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

const (
	nodeCreated     = proto.EventNodeCreated
	nodeDeleted     = proto.EventNodeDeleted
	nodeDataChanged = proto.EventNodeDataChanged
)

// RemoveAll removes every watch of id.
func (w *Registry) RemoveAll(id WatcherID) { w.RemoveSome(id, 0, math.MaxInt) }

// watchLog fires changes and keeps what each connection heard.
type watchLog struct {
	*Registry
	heard map[WatcherID][]string
}

func newWatchLog() *watchLog { return &watchLog{New(0), map[WatcherID][]string{}} }

func (l *watchLog) fire(t proto.EventType, path string) {
	for id, events := range fired(l.Registry, t, path) {
		l.heard[id] = append(l.heard[id], events...)
	}
}

func (l *watchLog) add(id WatcherID, path string, kinds ...Kind) {
	for _, kind := range kinds {
		l.Add(id, kind, []byte(path))
	}
}

// TestEventMatrix is the table of client-protocol 9.4: one watch on /w, one change, what is heard,
// and whether the watch is still there.
func TestEventMatrix(t *testing.T) {
	type change struct {
		event proto.EventType
		path  string
	}
	changes := []change{
		{nodeCreated, "/w"}, {nodeDataChanged, "/w"}, {nodeDeleted, "/w"},
		{nodeCreated, "/w/c"}, {nodeDataChanged, "/w/c"}, {nodeDeleted, "/w/c"},
		{nodeCreated, "/w/c/d"}, {nodeDataChanged, "/w/c/d"}, {nodeDeleted, "/w/c/d"},
	}
	const none = ""
	tests := []struct {
		name    string
		kind    Kind
		watched proto.WatcherType
		want    []string // by change
		oneShot bool
	}{
		{"data", Data, proto.WatcherData, []string{
			"NodeCreated /w", "NodeDataChanged /w", "NodeDeleted /w",
			none, none, none, none, none, none}, true},
		{"exist", Exist, proto.WatcherData, []string{
			"NodeCreated /w", "NodeDataChanged /w", "NodeDeleted /w",
			none, none, none, none, none, none}, true},
		{"child", Child, proto.WatcherChildren, []string{
			none, none, "NodeDeleted /w",
			"NodeChildrenChanged /w", none, "NodeChildrenChanged /w", none, none, none}, true},
		{"persistent", Persistent, proto.WatcherPersistent, []string{
			"NodeCreated /w", "NodeDataChanged /w", "NodeDeleted /w",
			"NodeChildrenChanged /w", none, "NodeChildrenChanged /w", none, none, none}, false},
		{"recursive", Recursive, proto.WatcherPersistentRecursive, []string{
			"NodeCreated /w", "NodeDataChanged /w", "NodeDeleted /w",
			"NodeCreated /w/c", "NodeDataChanged /w/c", "NodeDeleted /w/c",
			"NodeCreated /w/c/d", "NodeDataChanged /w/c/d", "NodeDeleted /w/c/d"}, false},
	}
	for _, tt := range tests {
		for i, c := range changes {
			t.Run(fmt.Sprintf("%s/%v %s", tt.name, c.event, c.path), func(t *testing.T) {
				l := newWatchLog()
				l.add(7, "/w", tt.kind)
				l.fire(c.event, c.path)
				var want []string
				if tt.want[i] != none {
					want = []string{tt.want[i]}
				}
				require.Equal(t, want, l.heard[7])
				require.Equal(t, want == nil || !tt.oneShot, l.Has(7, tt.watched, []byte("/w")))
			})
		}
	}
}

// TestWatchScenarios are the measured examples of server-semantics 10.4 and 10.5, the notes under
// the matrix of client-protocol 9.4, and the scenarios of 16.4 that concern the tables.
func TestWatchScenarios(t *testing.T) {
	tests := []struct {
		name string
		run  func(l *watchLog)
		want map[WatcherID][]string
	}{
		{"data, child and exists watches of one connection hear one NodeDeleted", func(l *watchLog) {
			l.add(1, "/p", Data, Child, Exist)
			l.add(1, "/", Child)
			l.fire(nodeDeleted, "/p")
			l.fire(nodeCreated, "/p")
		}, map[WatcherID][]string{1: {"NodeDeleted /p", "NodeChildrenChanged /"}}},
		{"a child watch alone hears of the deletion", func(l *watchLog) {
			l.add(1, "/p", Child)
			l.fire(nodeDeleted, "/p")
		}, map[WatcherID][]string{1: {"NodeDeleted /p"}}},
		{"a persistent watch hears everything of its znode", func(l *watchLog) {
			l.add(1, "/p", Persistent)
			l.fire(nodeCreated, "/p")
			l.fire(nodeCreated, "/p/c")
			l.fire(nodeDataChanged, "/p")
			l.fire(nodeDeleted, "/p/c")
			l.fire(nodeDeleted, "/p")
		}, map[WatcherID][]string{1: {"NodeCreated /p", "NodeChildrenChanged /p", "NodeDataChanged /p",
			"NodeChildrenChanged /p", "NodeDeleted /p"}}},
		{"multi: the second setData finds the data watch consumed", func(l *watchLog) {
			l.add(1, "/p", Data, Child)
			l.fire(nodeDataChanged, "/p")
			l.fire(nodeCreated, "/p/k")
			l.fire(nodeDataChanged, "/p")
		}, map[WatcherID][]string{1: {"NodeDataChanged /p", "NodeChildrenChanged /p"}}},
		{"multi under a watched parent: create, setData, delete", func(l *watchLog) {
			l.add(1, "/w", Persistent)
			l.add(2, "/w", Recursive)
			l.add(3, "/w", Child)
			l.fire(nodeCreated, "/w/q")
			l.fire(nodeDataChanged, "/w/q")
			l.fire(nodeDeleted, "/w/q")
		}, map[WatcherID][]string{
			1: {"NodeChildrenChanged /w", "NodeChildrenChanged /w"},
			2: {"NodeCreated /w/q", "NodeDataChanged /w/q", "NodeDeleted /w/q"},
			3: {"NodeChildrenChanged /w"},
		}},
		{"close of a session: the parent's child watch fires after the first of its ephemerals", func(l *watchLog) {
			l.add(1, "/ce", Child)
			for _, path := range []string{"/ce/e4", "/ce/e3", "/ce/e0"} {
				l.add(1, path, Data)
			}
			for _, path := range []string{"/ce/e4", "/ce/e3", "/ce/e0"} {
				l.fire(nodeDeleted, path)
			}
		}, map[WatcherID][]string{1: {"NodeDeleted /ce/e4", "NodeChildrenChanged /ce", "NodeDeleted /ce/e3",
			"NodeDeleted /ce/e0"}}},
		{"persistent and recursive on one path hear of a child in both tables", func(l *watchLog) {
			l.add(1, "/w", Persistent, Recursive)
			l.fire(nodeCreated, "/w/c")
		}, map[WatcherID][]string{1: {"NodeCreated /w/c", "NodeChildrenChanged /w"}}},
		{"one event however many watches match", func(l *watchLog) {
			l.add(1, "/", Recursive)
			l.add(1, "/a", Recursive, Persistent)
			l.add(1, "/a/b", Recursive, Persistent, Data, Exist)
			l.fire(nodeDataChanged, "/a/b")
			l.fire(nodeDataChanged, "/a/b")
		}, map[WatcherID][]string{1: {"NodeDataChanged /a/b", "NodeDataChanged /a/b"}}},
		{"a recursive watch on an ancestor suppresses the second NodeDeleted of a child watch and consumes it",
			func(l *watchLog) {
				l.add(1, "/", Recursive)
				l.add(1, "/a/b", Child)
				l.fire(nodeDeleted, "/a/b")
				l.fire(nodeCreated, "/a/b/c")
			}, map[WatcherID][]string{1: {"NodeDeleted /a/b", "NodeCreated /a/b/c"}}},
		{"recursive watchers never hear NodeChildrenChanged (ZOOKEEPER-4475)", func(l *watchLog) {
			l.add(1, "/a", Recursive)
			l.add(2, "/a", Child)
			l.fire(nodeCreated, "/a/b")
		}, map[WatcherID][]string{1: {"NodeCreated /a/b"}, 2: {"NodeChildrenChanged /a"}}},
		{"recursive with a child watch of the same connection hears both (ZOOKEEPER-4475)", func(l *watchLog) {
			l.add(1, "/a", Recursive, Child)
			l.fire(nodeCreated, "/a/b")
			l.fire(nodeCreated, "/a/c")
		}, map[WatcherID][]string{1: {"NodeCreated /a/b", "NodeChildrenChanged /a", "NodeCreated /a/c"}}},
		{"a fired one-shot watch leaves the persistent one (ZOOKEEPER-4466)", func(l *watchLog) {
			l.add(1, "/a", Persistent, Data, Child)
			l.fire(nodeDataChanged, "/a")
			l.fire(nodeDataChanged, "/a")
		}, map[WatcherID][]string{1: {"NodeDataChanged /a", "NodeDataChanged /a"}}},
		{"a child watch on the root", func(l *watchLog) {
			l.add(1, "/", Child)
			l.fire(nodeCreated, "/a")
		}, map[WatcherID][]string{1: {"NodeChildrenChanged /"}}},
		{"setData on the root", func(l *watchLog) {
			l.add(1, "/", Data)
			l.add(2, "/", Recursive)
			l.add(3, "/", Child)
			l.fire(nodeDataChanged, "/")
		}, map[WatcherID][]string{1: {"NodeDataChanged /"}, 2: {"NodeDataChanged /"}}},
		{"siblings that share a prefix are not descendants", func(l *watchLog) {
			l.add(1, "/a", Recursive)
			l.fire(nodeCreated, "/ab")
			l.fire(nodeCreated, "/ab/c")
		}, map[WatcherID][]string{}},
		{"the empty path is not the root", func(l *watchLog) {
			l.add(1, "", Data, Child, Persistent, Recursive)
			l.fire(nodeCreated, "/a")
			l.fire(nodeDataChanged, "/")
		}, map[WatcherID][]string{}},
		{"a slot used again hears nothing of its former connection", func(l *watchLog) {
			l.add(1, "/a", Data, Child, Persistent, Recursive)
			l.RemoveAll(1)
			l.fire(nodeCreated, "/a")
			l.add(1, "/a", Data)
			l.fire(nodeDataChanged, "/a")
		}, map[WatcherID][]string{1: {"NodeDataChanged /a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newWatchLog()
			tt.run(l)
			require.Equal(t, tt.want, l.heard)
		})
	}
}

// TestRemoveAndCheckMatrix is the table of server-semantics 10.8 on a connection that holds every
// mode: which kinds remain after removing a type, and that a type that is left out is not found.
func TestRemoveAndCheckMatrix(t *testing.T) {
	types := []proto.WatcherType{proto.WatcherChildren, proto.WatcherData, proto.WatcherAny,
		proto.WatcherPersistent, proto.WatcherPersistentRecursive}
	left := map[proto.WatcherType][]proto.WatcherType{ // what Has finds after Remove of the key
		proto.WatcherChildren: {proto.WatcherData, proto.WatcherAny, proto.WatcherPersistent,
			proto.WatcherPersistentRecursive},
		proto.WatcherData: {proto.WatcherChildren, proto.WatcherAny, proto.WatcherPersistent,
			proto.WatcherPersistentRecursive},
		proto.WatcherAny: {},
		proto.WatcherPersistent: {proto.WatcherChildren, proto.WatcherData, proto.WatcherAny,
			proto.WatcherPersistentRecursive},
		proto.WatcherPersistentRecursive: {proto.WatcherChildren, proto.WatcherData, proto.WatcherAny,
			proto.WatcherPersistent},
	}
	path := []byte("/w")
	for _, removed := range types {
		l := newWatchLog()
		l.add(3, "/w", Data, Child, Persistent, Recursive)
		l.add(4, "/w", Data)
		require.False(t, l.Remove(5, removed, path), "another connection has none")
		require.False(t, l.Remove(3, removed, []byte("/w/x")), "another path has none")
		require.True(t, l.Remove(3, removed, path))
		require.False(t, l.Remove(3, removed, path), "nothing is left to remove")
		for _, asked := range types {
			want := false
			for _, found := range left[removed] {
				want = want || found == asked
			}
			require.Equal(t, want, l.Has(3, asked, path), "removed %d, asked for %d", removed, asked)
		}
		require.True(t, l.Has(4, proto.WatcherData, path))
		require.Empty(t, l.heard, "removal tells nobody")
	}
	l := newWatchLog()
	l.add(3, "/w", Data, Child, Persistent, Recursive)
	for _, unknown := range []proto.WatcherType{0, 6, -1} {
		require.False(t, l.Has(3, unknown, path))
		require.False(t, l.Remove(3, unknown, path))
	}
}

// A watch on the empty path can be set and removed, as in ZooKeeper, but is not found.
func TestNoWatchIsFoundOnTheEmptyPath(t *testing.T) {
	w := New(0)
	for _, kind := range []Kind{Data, Child, Persistent, Recursive} {
		w.Add(1, kind, nil)
		require.False(t, w.Has(1, proto.WatcherAny, nil))
	}
	require.True(t, w.Remove(1, proto.WatcherAny, nil))
	require.False(t, w.Remove(1, proto.WatcherAny, nil))
}

// TestRemovedPersistentWatchLeavesBothTables removes type 4 and finds neither data nor child events.
func TestRemovedPersistentWatchLeavesBothTables(t *testing.T) {
	l := newWatchLog()
	l.add(1, "/w", Persistent)
	require.True(t, l.Remove(1, proto.WatcherPersistent, []byte("/w")))
	l.fire(nodeCreated, "/w")
	l.fire(nodeCreated, "/w/c")
	require.Empty(t, l.heard)
	watchers, paths, total := l.Count()
	require.Zero(t, watchers+paths+total)
}

// TestCounts: watch_count counts both tables, the data table is what EachOf and CountData show.
func TestCounts(t *testing.T) {
	l := newWatchLog()
	l.add(1, "/a", Data, Exist, Child) // one data pair, one child pair
	l.add(1, "/b", Child)              // one child pair
	l.add(2, "/a", Persistent)         // one pair in each
	l.add(2, "/c", Recursive, Data)    // one data pair
	l.add(3, "/d", Child)              // one child pair
	watchers, paths, total := l.Count()
	require.Equal(t, []int{3, 4, 7}, []int{watchers, paths, total})
	watchers, paths, total = l.CountData()
	require.Equal(t, []int{2, 2, 3}, []int{watchers, paths, total})
	require.Equal(t, []int{0, 2, 2, 1, 0},
		[]int{pathsOf(l.Registry, 0), pathsOf(l.Registry, 1), pathsOf(l.Registry, 2),
			pathsOf(l.Registry, 3), pathsOf(l.Registry, 99)})
	var pairs []string
	each(l.Registry, func(id WatcherID, path []byte) { pairs = append(pairs, fmt.Sprintf("%d %s", id, path)) })
	require.ElementsMatch(t, []string{"1 /a", "2 /a", "2 /c"}, pairs)
}

// TestDeliverNamesTheACLToConsult: the znode's for its own events, the parent's for its children's.
func TestDeliverNamesTheACLToConsult(t *testing.T) {
	for _, event := range []proto.EventType{nodeCreated, nodeDeleted, nodeDataChanged} {
		w := New(0)
		w.Add(1, Recursive, []byte("/a"))
		w.Add(2, Persistent, []byte("/a/b"))
		w.Add(3, Child, []byte("/a"))
		got := map[WatcherID]string{}
		c := datatree.Change{Type: event, Path: []byte("/a/b"), ACL: 5, ParentACL: 6}
		w.Fire(c, func(id WatcherID, t proto.EventType, path []byte, acl datatree.ACLID) {
			got[id] += fmt.Sprintf("%v %s acl %d", t, path, acl)
		})
		want := map[WatcherID]string{
			1: fmt.Sprintf("%v /a/b acl 5", event),
			2: fmt.Sprintf("%v /a/b acl 5", event),
			3: "NodeChildrenChanged /a acl 6",
		}
		if event == nodeDataChanged {
			delete(want, 3)
		}
		require.Equal(t, want, got)
	}
}

// TestManyConnectionsEachHearOnce fires one change at 20,000 connections (ZOOKEEPER-137).
func TestManyConnectionsEachHearOnce(t *testing.T) {
	const n = 20_000
	w := New(0)
	for id := range WatcherID(n) {
		w.Add(id, Data, []byte("/a"))
		w.Add(id, Kind(id%5), []byte("/a"))
	}
	heard := make([]int, n)
	deliver := func(id WatcherID, _ proto.EventType, _ []byte, _ datatree.ACLID) { heard[id]++ }
	w.Fire(datatree.Change{Type: nodeDataChanged, Path: []byte("/a")}, deliver)
	w.Fire(datatree.Change{Type: nodeDataChanged, Path: []byte("/a")}, deliver)
	for id, got := range heard {
		want := 1
		if k := Kind(id % 5); k == Persistent || k == Recursive {
			want = 2
		}
		if got != want {
			t.Fatalf("connection %d heard %d times, want %d", id, got, want)
		}
	}
	_, _, total := w.Count()
	require.Equal(t, n/5*(1+2+1), total, "child, persistent in both tables, recursive")
}

// TestRewatch is the table of client-protocol 9.5. The znodes of a new state have zxid 0.
func TestRewatch(t *testing.T) {
	tests := []struct {
		kind     Kind
		path     string
		relative proto.Zxid
		event    proto.EventType // 0: registered instead
	}{
		{Data, "/none", 5, proto.EventNodeDeleted},
		{Data, "/zookeeper", -1, proto.EventNodeDataChanged},
		{Data, "/zookeeper", 0, 0},
		{Data, "/zookeeper", 1, 0},
		{Exist, "/none", 5, 0},
		{Exist, "/zookeeper", 5, proto.EventNodeCreated}, // whatever the client has seen
		{Exist, "/zookeeper", -1, proto.EventNodeCreated},
		{Child, "/none", 5, proto.EventNodeDeleted},
		{Child, "/zookeeper", -1, proto.EventNodeChildrenChanged},
		{Child, "/zookeeper", 0, 0},
		{Persistent, "/none", 5, 0},
		{Persistent, "/zookeeper", -1, 0},
		{Recursive, "/none", 5, 0},
		{Recursive, "/zookeeper", -1, 0},
	}
	types := map[Kind]proto.WatcherType{
		Data: proto.WatcherData, Exist: proto.WatcherData, Child: proto.WatcherChildren,
		Persistent: proto.WatcherPersistent, Recursive: proto.WatcherPersistentRecursive,
	}
	s := datatree.NewState(datatree.Config{})
	for _, tt := range tests {
		w := New(0)
		event, fire, ok := w.Rewatch(s, 4, tt.kind, []byte(tt.path), tt.relative)
		require.Equal(t, tt.event, event, "%+v", tt)
		require.Equal(t, tt.event != 0, fire, "%+v", tt)
		require.True(t, ok)
		require.Equal(t, !fire, w.Has(4, types[tt.kind], []byte(tt.path)), "%+v", tt)
		require.Equal(t, !fire, w.Has(4, proto.WatcherAny, []byte(tt.path)), "%+v", tt)
	}
}

// A watcher that goes in parts, while its watches fire, leaves nothing behind and the others alone.
func TestRegistryRemoveSome(t *testing.T) {
	r := rand.New(rand.NewPCG(newSeed(t), 4))
	w := New(0)
	path := func(i int) []byte { return fmt.Appendf(nil, "/p%05d", i) }
	for range 5000 {
		w.Add(1, []Kind{Data, Exist, Child, Persistent, Recursive}[r.IntN(5)], path(r.IntN(4000)))
	}
	for i := range 100 {
		w.Add(2, Persistent, path(i))
	}
	place, done := uint32(0), false
	for parts := 0; !done; parts++ {
		before := pathsOf(w, 1)
		place, done = w.RemoveSome(1, place, 7)
		require.LessOrEqual(t, before-pathsOf(w, 1), 7)
		for range 5 {
			w.Fire(datatree.Change{Type: proto.EventNodeDeleted, Path: path(r.IntN(4000)), Zxid: 1}, ignoreEvent)
		}
		require.Less(t, parts, 100_000)
		require.Less(t, longestRun(w.slots[1].entries.words(&w.sets)), 100,
			"the set stays as easy to search as it was")
	}
	require.Zero(t, pathsOf(w, 1))
	watchers, paths, total := w.Count()
	require.Equal(t, []int{1, 100, 200}, []int{watchers, paths, total})
	w.RemoveAll(2)
	w.RemoveAll(3)
	watchers, paths, total = w.Count()
	require.Zero(t, watchers+paths+total)
	_, done = w.RemoveSome(9, 0, 1)
	require.True(t, done)
}

// longestRun is how many words stand one behind the other without an empty slot.
func longestRun(words []uint32) (most int) {
	run := 0
	for _, word := range words {
		if run++; word == 0 {
			run = 0
		}
		most = max(most, run)
	}
	return most
}

// pathsOf returns how many paths a connection watches.
func pathsOf(w *Registry, id WatcherID) int {
	paths, _ := w.Use(id)
	return paths
}
