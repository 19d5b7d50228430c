package model_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// snap is a snapshot that is taken while txns go on.
type snap struct {
	walker *datatree.Walker // nil when done
	body   []byte
	budget int
}

func (w *world) beginSnapshot() {
	if len(w.snaps) < 3 {
		w.snaps = append(w.snaps, &snap{walker: w.state.NewWalker(), budget: 1 << w.rand.IntN(12)})
		w.log("     snapshot at %v", w.state.LastZxid())
	}
}

func (w *world) stepSnapshots() {
	for _, s := range w.snaps {
		if s.walker != nil && w.rand.IntN(3) == 0 {
			var done bool
			if s.body, done = s.walker.Next(s.body, s.budget); done {
				w.finishSnapshot(s)
			}
		}
	}
}

// finishSnapshot loads the snapshot, applies what came after it began, and compares.
func (w *world) finishSnapshot(s *snap) {
	from := s.walker.Zxid()
	last, digest := s.walker.End()
	s.walker.Close()
	s.walker = nil
	loader := datatree.NewLoader(datatree.Config{})
	loadBody(loader, s.body)
	state, err := loader.Done(from)
	if err != nil {
		differ("snapshot of %v: %v", from, err)
	}
	for _, p := range w.payloads {
		if p.zxid <= from {
			continue
		}
		if _, _, err := state.Apply(p.bytes, nil, nil, false); err != nil {
			differ("snapshot of %v: replay of %v: %v", from, p.zxid, err)
		}
		if p.zxid == last && state.Digest() != digest {
			differ("snapshot of %v: digest at %v is %d, was %d", from, last, state.Digest(), digest)
		}
	}
	w.log("     snapshot of %v is done at %v", from, last)
	want, got := dump(w.state), dump(state)
	for _, line := range slices.Sorted(maps.Keys(want)) {
		if !got[line] {
			differ("snapshot of %v and replay lack\n%s\nhave\n%s", from, line,
				strings.Join(slices.Sorted(maps.Keys(got)), "\n"))
		}
	}
	if len(want) != len(got) {
		differ("snapshot of %v and replay have %d znodes and sessions, want %d", from, len(got), len(want))
	}
}

// dump returns a line for every znode and session. The text of quota statistics is left out:
// loading computes it anew.
func dump(s *datatree.State) map[string]bool {
	lines := map[string]bool{}
	s.EachSession(func(id proto.SessionID, timeoutMs int32) {
		lines[fmt.Sprintf("session %v %d", id, timeoutMs)] = true
	})
	eachZnode(s, datatree.Root, func(path string, id datatree.NodeID) {
		n, data := s.Node(id), s.Data(id)
		list := s.ACLs().List(n.ACL)
		n.ACL = 0
		if strings.HasSuffix(path, "/zookeeper_stats") {
			data = nil
		}
		lines[fmt.Sprintf("%q %q %v %+v %v", path, data, data == nil, n, list)] = true
	})
	return lines
}

func eachZnode(s *datatree.State, id datatree.NodeID, fn func(path string, id datatree.NodeID)) {
	path := string(s.AppendPath(nil, id))
	fn(path, id)
	var children []datatree.NodeID
	s.EachChild(id, func(child datatree.NodeID) bool {
		children = append(children, child)
		return true
	})
	for _, child := range children {
		eachZnode(s, child, fn)
	}
}

// loadBody decodes the body of a snapshot. Source: storage 5.1.
func loadBody(l *datatree.Loader, body []byte) {
	must := func(err error) {
		if err != nil {
			differ("snapshot: %v", err)
		}
	}
	r := proto.NewReader(body)
	for range r.Count(12) {
		id := proto.SessionID(r.Int64())
		must(l.Session(id, r.Int32()))
	}
	for range r.Count(12) {
		key, list := r.Int64(), []proto.ACL{}
		for range r.Count(12) {
			var e proto.ACL
			e.Decode(&r)
			list = append(list, e)
		}
		must(l.ACL(key, list))
	}
	for path := r.Text(); string(path) != "/"; path = r.Text() {
		data, key := r.Buffer(), r.Int64()
		var stat proto.StatPersisted
		stat.Decode(&r)
		must(r.Err())
		must(l.Node(path, data, key, &stat))
	}
	must(r.Err())
	if r.Len() > 0 {
		differ("snapshot: %d bytes after its end", r.Len())
	}
}

// loadExtremes returns a state with znodes whose counters are about to overflow, and tells the model.
func (w *world) loadExtremes(cfg datatree.Config) *datatree.State {
	loader := datatree.NewLoader(cfg)
	w.model.Put("/zookeeper/quota", []byte{}, open(), proto.StatPersisted{})
	state := datatree.NewState(cfg)
	walker := state.NewWalker()
	body, _ := walker.Next(nil, math.MaxInt32)
	walker.Close()
	loadBody(loader, body)
	for _, z := range []struct {
		path string
		stat proto.StatPersisted
	}{
		{"/a", proto.StatPersisted{Cversion: math.MaxInt32 - 2, Version: math.MaxInt32 - 1, Aversion: -3}},
		{"/b", proto.StatPersisted{Cversion: -5, Version: -3, Aversion: math.MaxInt32}},
		{"/c", proto.StatPersisted{Cversion: math.MaxInt32, Version: math.MinInt32, Aversion: -1}},
		{"/c/x", proto.StatPersisted{Cversion: math.MinInt32, EphemeralOwner: proto.OwnerContainer, Version: -1}},
		{"/c/y", proto.StatPersisted{EphemeralOwner: proto.TTLOwner(5), Mtime: w.now}},
	} {
		if err := loader.Node([]byte(z.path), []byte("old"), int64(datatree.OpenACL), &z.stat); err != nil {
			differ("load of %s: %v", z.path, err)
		}
		w.model.Put(z.path, []byte("old"), open(), z.stat)
	}
	state, err := loader.Done(0)
	if err != nil {
		differ("load: %v", err)
	}
	return state
}

// finish applies what is left and compares everything.
func (w *world) finish() {
	for len(w.prepared) > 0 {
		w.apply()
	}
	for _, s := range w.snaps {
		for s.walker != nil {
			var done bool
			if s.body, done = s.walker.Next(s.body, s.budget); done {
				w.finishSnapshot(s)
			}
		}
	}
	paths := w.model.Paths()
	eachZnode(w.state, datatree.Root, func(path string, id datatree.NodeID) {
		data, acl, stat, ok := w.model.Znode(path)
		if !ok {
			differ("the model has no %q", path)
		}
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == path })
		n := w.state.Node(id)
		got := proto.StatPersisted{
			Czxid: n.Czxid, Mzxid: n.Mzxid, Ctime: n.Ctime, Mtime: n.Mtime, Version: n.Version,
			Cversion: n.Cversion, Aversion: n.Aversion, EphemeralOwner: n.Owner, Pzxid: n.Pzxid,
		}
		if got != stat {
			differ("%q\n got %+v\nwant %+v", path, got, stat)
		}
		if d := w.state.Data(id); !bytes.Equal(d, data) || (d == nil) != (data == nil) {
			differ("data of %q: %q, model %q", path, d, data)
		}
		if list := w.state.ACLs().List(n.ACL); fmt.Sprint(list) != fmt.Sprint(acl) {
			differ("ACL of %q: %v, model %v", path, list, acl)
		}
		if int(n.NumChildren) != len(w.model.Children(path)) {
			differ("%q has %d children, model %d", path, n.NumChildren, len(w.model.Children(path)))
		}
	})
	if len(paths) > 0 {
		differ("datatree lacks %q", paths)
	}
	sessions := map[proto.SessionID]int32{}
	w.state.EachSession(func(id proto.SessionID, timeoutMs int32) { sessions[id] = timeoutMs })
	if !maps.Equal(sessions, w.model.Sessions()) {
		differ("sessions %v, model %v", sessions, w.model.Sessions())
	}
	for _, c := range slices.Clone(w.conns) {
		w.dropConn(c)
	}
	if watchers, paths, total := w.watches.Count(); watchers+paths+total > 0 {
		differ("%d watches of nobody", total)
	}
}
