package model

import (
	"maps"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// The modes of a watch. Source: server-semantics 10.1.
const (
	standard   = "standard"
	persistent = "persistent"
	recursive  = "recursive"
)

// watchTable is one of the two tables: path -> connection -> modes.
type watchTable map[string]map[int]map[string]bool

func (t watchTable) add(conn int, path, mode string) {
	if t[path] == nil {
		t[path] = map[int]map[string]bool{}
	}
	if t[path][conn] == nil {
		t[path][conn] = map[string]bool{}
	}
	t[path][conn][mode] = true
}

// remove removes modes and reports whether one of them was there.
func (t watchTable) remove(conn int, path string, modes ...string) (removed bool) {
	for _, mode := range modes {
		if t[path][conn][mode] {
			delete(t[path][conn], mode)
			removed = true
		}
	}
	if len(t[path][conn]) == 0 {
		delete(t[path], conn)
	}
	return removed
}

func (t watchTable) forget(conn int) {
	for path := range t {
		delete(t[path], conn)
	}
}

// trigger returns the connections that hear of path, and consumes their one-shot watches on it.
// Source: server-semantics 10.2.
func (t watchTable) trigger(path string) map[int]bool {
	heard := map[int]bool{}
	for conn := range maps.Clone(t[path]) {
		heard[conn] = true
		t.remove(conn, path, standard)
	}
	for at := path; at != "/"; {
		at = parentOf(at)
		for conn, modes := range t[at] {
			if modes[recursive] {
				heard[conn] = true
			}
		}
	}
	return heard
}

// change is what a request did to a znode, with the ACLs at that moment.
type change struct {
	event          proto.EventType
	path           string
	acl, parentACL []proto.ACL
}

// fire keeps a change until the request has succeeded.
func (m *Model) fire(event proto.EventType, path string, acl, parentACL []proto.ACL) {
	m.changes = append(m.changes, change{event, path, acl, parentACL})
}

// tell makes the events of a change. Source: server-semantics 10.4 and 10.6.
func (m *Model) tell(c change) {
	first := m.data.trigger(c.path)
	m.deliver(first, c.event, c.path, c.acl)
	if c.event == proto.EventNodeDataChanged {
		return
	}
	if c.event == proto.EventNodeDeleted {
		second := m.child.trigger(c.path)
		for conn := range first {
			delete(second, conn)
		}
		m.deliver(second, c.event, c.path, c.acl)
	}
	parent := parentOf(c.path)
	m.deliver(m.child.trigger(parent), proto.EventNodeChildrenChanged, parent, c.parentACL)
}

func (m *Model) deliver(conns map[int]bool, event proto.EventType, path string, acl []proto.ACL) {
	for _, conn := range slices.Sorted(maps.Keys(conns)) {
		if m.allowsAnyOf(acl, proto.PermRead, m.conns[conn]) {
			m.events = append(m.events, Event{conn, event, path, m.req.Zxid})
		}
	}
}

// watch executes addWatch, checkWatches, removeWatches and setWatches.
func (m *Model) watch() ([]byte, proto.ErrCode) {
	r := proto.NewReader(m.req.Body)
	switch m.req.Op {
	case proto.OpAddWatch:
		var q proto.AddWatchRequest
		if q.Decode(&r); r.Err() != nil || q.Path == nil || q.Mode != 0 && q.Mode != 1 {
			return nil, proto.ErrMarshallingError
		}
		m.addWatch(string(q.Path), q.Mode)
		return (&proto.ErrorResponse{}).AppendTo(nil), proto.OK
	case proto.OpCheckWatches, proto.OpRemoveWatches:
		var q proto.CheckWatchesRequest
		if q.Decode(&r); r.Err() != nil || q.Path == nil || q.Type < 1 || q.Type > 5 {
			return nil, proto.ErrMarshallingError
		}
		found := m.hasWatch(string(q.Path), q.Type)
		if m.req.Op == proto.OpRemoveWatches {
			found = m.removeWatch(string(q.Path), q.Type)
		}
		if !found {
			return nil, proto.ErrNoWatcher
		}
		return nil, proto.OK
	}
	var q proto.SetWatches2
	if m.req.Op == proto.OpSetWatches2 {
		q.Decode(&r)
	} else {
		var old proto.SetWatches
		old.Decode(&r)
		q = proto.SetWatches2{RelativeZxid: old.RelativeZxid, DataWatches: old.DataWatches,
			ExistWatches: old.ExistWatches, ChildWatches: old.ChildWatches}
	}
	if r.Err() != nil {
		return nil, proto.ErrMarshallingError
	}
	m.setWatches(q)
	return nil, proto.OK
}

func (m *Model) addWatch(path string, mode int32) {
	if mode == proto.AddWatchPersistentRecursive {
		m.data.add(m.req.Conn, path, recursive)
		return
	}
	m.data.add(m.req.Conn, path, persistent)
	m.child.add(m.req.Conn, path, persistent)
}

// hasWatch and removeWatch are the table of server-semantics 10.8. On the empty path there is no watch to be found,
// though one to be removed.
func (m *Model) hasWatch(path string, t proto.WatcherType) bool {
	if path == "" {
		return false
	}
	data, child := m.data[path][m.req.Conn], m.child[path][m.req.Conn]
	switch t {
	case proto.WatcherChildren:
		return child[standard]
	case proto.WatcherData:
		return data[standard]
	case proto.WatcherPersistent:
		return data[persistent]
	case proto.WatcherPersistentRecursive:
		return data[recursive]
	}
	return len(data) > 0 || len(child) > 0
}

func (m *Model) removeWatch(path string, t proto.WatcherType) bool {
	conn := m.req.Conn
	switch t {
	case proto.WatcherChildren:
		return m.child.remove(conn, path, standard)
	case proto.WatcherData:
		return m.data.remove(conn, path, standard)
	case proto.WatcherPersistent:
		data, child := m.data.remove(conn, path, persistent), m.child.remove(conn, path, persistent)
		return data || child
	case proto.WatcherPersistentRecursive:
		return m.data.remove(conn, path, recursive)
	}
	data := m.data.remove(conn, path, standard, persistent, recursive)
	child := m.child.remove(conn, path, standard, persistent, recursive)
	return data || child
}

// setWatches registers watches again after a reconnect, and tells what the client missed. Source:
// client-protocol 9.5.
func (m *Model) setWatches(q proto.SetWatches2) {
	now := func(event proto.EventType, path string) {
		m.events = append(m.events, Event{m.req.Conn, event, path, -1})
	}
	for _, p := range q.DataWatches {
		path := string(p)
		switch n := m.tree.find(path); {
		case n == nil:
			now(proto.EventNodeDeleted, path)
		case n.stat.Mzxid > q.RelativeZxid:
			now(proto.EventNodeDataChanged, path)
		default:
			m.data.add(m.req.Conn, path, standard)
		}
	}
	for _, p := range q.ExistWatches {
		path := string(p)
		if m.tree.find(path) != nil {
			now(proto.EventNodeCreated, path)
		} else {
			m.data.add(m.req.Conn, path, standard)
		}
	}
	for _, p := range q.ChildWatches {
		path := string(p)
		switch n := m.tree.find(path); {
		case n == nil:
			now(proto.EventNodeDeleted, path)
		case n.stat.Pzxid > q.RelativeZxid:
			now(proto.EventNodeChildrenChanged, path)
		default:
			m.child.add(m.req.Conn, path, standard)
		}
	}
	for _, p := range q.PersistentWatches {
		m.addWatch(string(p), proto.AddWatchPersistent)
	}
	for _, p := range q.PersistentRecursiveWatches {
		m.addWatch(string(p), proto.AddWatchPersistentRecursive)
	}
}

// Watches returns how many paths are watched by how many pairs of path and connection, by table.
func (m *Model) Watches() (data, child int) {
	for _, conns := range m.data {
		data += len(conns)
	}
	for _, conns := range m.child {
		child += len(conns)
	}
	return data, child
}
