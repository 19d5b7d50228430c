package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// CheckWatches judges the one-shot watches of every connection. Watches live with a connection,
// so each is judged alone, against the writes of all.
func CheckWatches(h *History) []string {
	k := watchChecker{byZxid: map[proto.Zxid][]*Operation{}, unknown: map[string]bool{},
		writes: map[string][]*Operation{}, children: map[string][]*Operation{}, deletes: map[string][]*Operation{}}
	for path, list := range acknowledged(h) {
		k.writes[path] = list
		for _, o := range list {
			k.byZxid[o.Zxid] = append(k.byZxid[o.Zxid], o)
			if o.Op != proto.OpSetData {
				k.children[parent(path)] = append(k.children[parent(path)], o)
			}
		}
	}
	for _, l := range lifetimes(h, nil) {
		if l.closed && !l.maybe {
			gone := &Operation{Client: l.create.Client, Op: proto.OpDelete, Path: l.create.Path, Zxid: l.end}
			k.writes[gone.Path] = append(k.writes[gone.Path], gone)
			k.children[parent(gone.Path)] = append(k.children[parent(gone.Path)], gone)
		}
	}
	for _, o := range h.Operations() {
		// What an unknown write did, and what the expiry of a session deleted, has no acknowledgement.
		if o.IsWrite() && !o.Known() || o.Mode.IsEphemeral() {
			k.unknown[o.Path], k.unknown[parent(o.Path)] = true, true
		}
	}
	for path, list := range k.writes {
		for _, o := range list {
			if o.Op == proto.OpDelete {
				k.deletes[path] = append(k.deletes[path], o)
			}
		}
	}
	for _, lists := range []map[string][]*Operation{k.writes, k.children, k.deletes} {
		for _, list := range lists {
			slices.SortStableFunc(list, func(a, b *Operation) int { return cmp.Compare(a.Zxid, b.Zxid) })
		}
	}
	for n, c := range h.Connections {
		k.connection(n, c)
	}
	return k.breaches
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// watchChecker is what is known of all connections. The lists are in the order of the zxids.
type watchChecker struct {
	writes   map[string][]*Operation // acknowledged, of the path
	deletes  map[string][]*Operation // those of writes that are deletes
	children map[string][]*Operation // acknowledged creates and deletes of its children
	byZxid   map[proto.Zxid][]*Operation
	unknown  map[string]bool // paths that may have changed without an acknowledgement
	breaches []string
}

func (k *watchChecker) breach(format string, args ...any) {
	k.breaches = append(k.breaches, fmt.Sprintf(format, args...))
}

// watchKey is a table and a path.
type watchKey struct {
	child bool
	path  string
}

// connection walks a stream. armed holds the watches that wait, each with the zxid at which it was
// set; a watch that was set again while it waited is one watch.
func (k *watchChecker) connection(n int, c *Connection) {
	armed := map[watchKey]proto.Zxid{}
	for _, item := range c.Items {
		if item.Event != nil {
			k.event(n, armed, item.Event)
			continue
		}
		o := item.Operation
		for key, since := range armed {
			if w := k.firstChange(key, since); w != nil && o.Zxid >= w.Zxid {
				k.breach("connection %d: %v arrives, but no event on %s for %v, watched since %v", n, o,
					key.path, w, since)
				delete(armed, key)
			}
		}
		if key, sets := setsWatch(o); sets {
			if _, waits := armed[key]; !waits {
				armed[key] = o.Zxid
			}
		}
	}
}

// setsWatch returns the watch that a reply has set. Source: client-protocol 9.2.
func setsWatch(o *Operation) (watchKey, bool) {
	if !o.Watch || o.Err != proto.OK && !(o.Op == proto.OpExists && o.Err == proto.ErrNoNode) {
		return watchKey{}, false
	}
	return watchKey{o.Op == proto.OpGetChildren, o.Path}, true
}

// firstChange is the first acknowledged write after since that the watch must report. A child watch hears of its own
// znode only that it was deleted.
func (k *watchChecker) firstChange(key watchKey, since proto.Zxid) *Operation {
	if !key.child {
		return firstAfter(k.writes[key.path], since)
	}
	first, deleted := firstAfter(k.children[key.path], since), firstAfter(k.deletes[key.path], since)
	if first == nil || deleted != nil && deleted.Zxid < first.Zxid {
		return deleted
	}
	return first
}

// firstAfter is the first operation with a zxid above since in a list that is sorted by it; nil if there is none.
func firstAfter(list []*Operation, since proto.Zxid) *Operation {
	i, _ := slices.BinarySearchFunc(list, since+1,
		func(o *Operation, z proto.Zxid) int { return cmp.Compare(o.Zxid, z) })
	if i == len(list) {
		return nil
	}
	return list[i]
}

// event disarms what it belongs to and must be the event of a write.
func (k *watchChecker) event(n int, armed map[watchKey]proto.Zxid, e *Event) {
	data, child := watchKey{false, e.Path}, watchKey{true, e.Path}
	_, hasData := armed[data]
	_, hasChild := armed[child]
	var has bool
	switch e.Type {
	case proto.EventNodeChildrenChanged:
		has = hasChild
		delete(armed, child)
	case proto.EventNodeDeleted:
		has = hasData || hasChild
		delete(armed, data)
		delete(armed, child)
	default:
		has = hasData
		delete(armed, data)
	}
	if !has {
		k.breach("connection %d: %v %s at %v without a watch that waits", n, e.Type, e.Path, e.Zxid)
	}
	if e.Zxid > 0 && !k.unknown[e.Path] && !k.explains(e) {
		k.breach("connection %d: %v %s at %v, but no such write", n, e.Type, e.Path, e.Zxid)
	}
}

// explains reports whether an acknowledged write has the event's zxid and causes such an event.
func (k *watchChecker) explains(e *Event) bool {
	for _, w := range k.byZxid[e.Zxid] {
		switch {
		case w.Path == e.Path && w.Op == proto.OpCreate && e.Type == proto.EventNodeCreated,
			w.Path == e.Path && w.Op == proto.OpDelete && e.Type == proto.EventNodeDeleted,
			w.Path == e.Path && w.Op == proto.OpSetData && e.Type == proto.EventNodeDataChanged,
			parent(w.Path) == e.Path && w.Op != proto.OpSetData && e.Type == proto.EventNodeChildrenChanged:
			return true
		}
	}
	return false
}
