package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

type fakeNode struct {
	data    []byte
	stat    proto.Stat
	created int // children ever
}

// fakeTree maps paths to znodes.
type fakeTree map[string]fakeNode

func newFakeTree() fakeTree { return fakeTree{"/": {}} }

func (t fakeTree) children(path string) (names []string) {
	prefix := strings.TrimSuffix(path, "/") + "/"
	for p := range t {
		if rest, ok := strings.CutPrefix(p, prefix); ok && rest != "" && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

func (t fakeTree) touch(path string, zxid proto.Zxid, children int32, created int) {
	n := t[path]
	n.stat.Pzxid, n.stat.NumChildren = zxid, n.stat.NumChildren+children
	n.stat.Cversion++
	n.created += created
	t[path] = n
}

func (t fakeTree) remove(path string, zxid proto.Zxid) {
	delete(t, path)
	t.touch(paths.ParentOf(path), zxid, -1, 0)
}

func texts(names []string) []proto.Text {
	out := make([]proto.Text, len(names))
	for i, n := range names {
		out[i] = proto.Text(n)
	}
	return out
}

func code(ok bool, otherwise proto.ErrCode) proto.ErrCode {
	if ok {
		return proto.OK
	}
	return otherwise
}

func (c *fakeConn) execute(op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
	f := c.f
	r := proto.NewReader(body)
	switch op {
	case proto.OpMulti:
		return c.multi(body)
	case proto.OpSetWatches, proto.OpSetWatches2:
		return nil, c.setWatches(op, body)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpDelete, proto.OpSetData:
		f.zxid++
		return c.write(op, &r)
	case proto.OpSync:
		resp := proto.SyncResponse{Path: r.Text()}
		return resp.AppendTo(nil), proto.OK
	case proto.OpRemoveWatches:
		path := r.Text().String()
		f.removals = append(f.removals, path)
		had := c.data[path] || c.child[path] || c.persist[path] || c.below[path]
		for _, m := range []map[string]bool{c.data, c.child, c.persist, c.below} {
			delete(m, path)
		}
		return nil, code(had, proto.ErrNoWatcher)
	case proto.OpCheckWatches:
		path := r.Text().String()
		return nil, code(c.data[path] || c.child[path] || c.persist[path] || c.below[path], proto.ErrNoWatcher)
	case proto.OpAddWatch:
		if f.isOld {
			return nil, proto.ErrUnimplemented
		}
		path := r.Text().String()
		if r.Int32() == proto.AddWatchPersistentRecursive {
			c.below[path] = true
		} else {
			c.persist[path] = true
		}
		return proto.AppendInt32(nil, 0), proto.OK
	}
	return c.read(op, &r)
}

func (c *fakeConn) read(op proto.OpCode, r *proto.Reader) ([]byte, proto.ErrCode) {
	path, isWatch := r.Text().String(), r.Bool()
	n, ok := c.f.tree[path]
	n.stat.DataLength = int32(len(n.data))
	if path == c.f.secret && op != proto.OpExists {
		return nil, proto.ErrNoAuth
	}
	switch op {
	case proto.OpExists:
		if isWatch {
			c.data[path] = true
		}
		return n.stat.AppendTo(nil), code(ok, proto.ErrNoNode)
	case proto.OpGetData:
		if isWatch && ok {
			c.data[path] = true
		}
		resp := proto.GetDataResponse{Data: n.data, Stat: n.stat}
		return resp.AppendTo(nil), code(ok, proto.ErrNoNode)
	case proto.OpGetChildren2:
		if isWatch && ok {
			c.child[path] = true
		}
		resp := proto.GetChildren2Response{Children: texts(c.f.tree.children(path)), Stat: n.stat}
		return resp.AppendTo(nil), code(ok, proto.ErrNoNode)
	}
	return nil, proto.ErrUnimplemented
}

// write runs one write at the zxid that the caller has taken.
func (c *fakeConn) write(op proto.OpCode, r *proto.Reader) ([]byte, proto.ErrCode) {
	f := c.f
	path := r.Text().String()
	switch op {
	case proto.OpCheck:
		n, ok := f.tree[path]
		v := r.Int32()
		return nil, code(ok && (v == -1 || v == n.stat.Version), proto.ErrBadVersion)
	case proto.OpDelete:
		v := r.Int32()
		n, ok := f.tree[path]
		switch {
		case !ok:
			return nil, proto.ErrNoNode
		case v != -1 && v != n.stat.Version:
			return nil, proto.ErrBadVersion
		case n.stat.NumChildren > 0:
			return nil, proto.ErrNotEmpty
		}
		f.tree.remove(path, f.zxid)
		f.fireDeleted(path)
		return nil, proto.OK
	case proto.OpSetData:
		data, v := slices.Clone(r.Buffer()), r.Int32()
		n, ok := f.tree[path]
		switch {
		case !ok:
			return nil, proto.ErrNoNode
		case v != -1 && v != n.stat.Version:
			return nil, proto.ErrBadVersion
		}
		n.data = data
		n.stat.Version++
		n.stat.Mzxid, n.stat.DataLength = f.zxid, int32(len(data))
		f.tree[path] = n
		f.fireData(proto.EventNodeDataChanged, path)
		return n.stat.AppendTo(nil), proto.OK
	}
	data := slices.Clone(r.Buffer())
	for range r.Count(4) {
		var a proto.ACL
		a.Decode(r)
	}
	mode := proto.CreateMode(r.Int32())
	parent, ok := f.tree[paths.ParentOf(path)]
	if !ok {
		return nil, proto.ErrNoNode
	}
	if mode.IsSequential() {
		path += fmt.Sprintf("%010d", parent.created)
	}
	if _, exists := f.tree[path]; exists {
		return nil, proto.ErrNodeExists
	}
	n := fakeNode{data: data,
		stat: proto.Stat{Czxid: f.zxid, Mzxid: f.zxid, Pzxid: f.zxid, DataLength: int32(len(data))}}
	if mode.IsEphemeral() {
		n.stat.EphemeralOwner = c.session
	}
	f.tree[path] = n
	f.tree.touch(paths.ParentOf(path), f.zxid, 1, 1)
	f.fireData(proto.EventNodeCreated, path)
	f.fireChildren(paths.ParentOf(path))
	resp := proto.Create2Response{Path: proto.Text(path), Stat: n.stat}
	return resp.AppendTo(nil), proto.OK
}

func (c *fakeConn) multi(body []byte) ([]byte, proto.ErrCode) {
	f := c.f
	f.zxid++
	before := maps.Clone(f.tree)
	var out []byte
	m := proto.NewMultiReader(body)
	failed, n := -1, 0
	var why proto.ErrCode
	for ; failed < 0; n++ {
		h, ok := m.Next()
		if !ok {
			return proto.AppendMultiEnd(out), proto.OK
		}
		reply, err := c.write(h.Type, &m.R)
		if err != proto.OK {
			failed, why = n, err
			continue
		}
		out = append(proto.AppendMultiResult(out, h.Type), reply...)
	}
	f.tree = before
	out = nil
	for range failed {
		out = proto.AppendMultiError(out, proto.OK)
	}
	out = proto.AppendMultiError(out, why)
	for {
		h, ok := m.Next()
		if !ok {
			return proto.AppendMultiEnd(out), proto.OK
		}
		skipRecord(h.Type, &m.R)
		out = proto.AppendMultiError(out, proto.ErrRuntimeInconsistency)
	}
}

// skipRecord reads over the record of an operation of a multi.
func skipRecord(op proto.OpCode, r *proto.Reader) {
	switch op {
	case proto.OpDelete, proto.OpCheck:
		r.Text()
	case proto.OpSetData:
		r.Text()
		r.Buffer()
	default:
		var req proto.CreateRequest
		req.Decode(r)
		return
	}
	r.Int32()
}

func (c *fakeConn) setWatches(op proto.OpCode, body []byte) proto.ErrCode {
	f := c.f
	f.rearms = append(f.rearms, op)
	var w proto.SetWatches2
	if op == proto.OpSetWatches2 {
		if f.isOld {
			return proto.ErrUnimplemented
		}
		if w.ReadFrom(body) != nil {
			return proto.ErrMarshallingError
		}
	} else {
		var s proto.SetWatches
		if s.ReadFrom(body) != nil {
			return proto.ErrMarshallingError
		}
		w.RelativeZxid, w.DataWatches, w.ExistWatches, w.ChildWatches = s.RelativeZxid, s.DataWatches,
			s.ExistWatches, s.ChildWatches
	}
	f.relative = w.RelativeZxid
	for _, p := range w.DataWatches {
		c.rearm(p.String(), c.data, func(n fakeNode) bool { return n.stat.Mzxid > w.RelativeZxid },
			proto.EventNodeDataChanged)
	}
	for _, p := range w.ExistWatches {
		if _, ok := f.tree[p.String()]; ok {
			c.notify(proto.EventNodeCreated, p.String(), -1)
		} else {
			c.data[p.String()] = true
		}
	}
	for _, p := range w.ChildWatches {
		c.rearm(p.String(), c.child, func(n fakeNode) bool { return n.stat.Pzxid > w.RelativeZxid },
			proto.EventNodeChildrenChanged)
	}
	for _, p := range w.PersistentWatches {
		c.persist[p.String()] = true
	}
	for _, p := range w.PersistentRecursiveWatches {
		c.below[p.String()] = true
	}
	return proto.OK
}

func (c *fakeConn) rearm(path string, table map[string]bool, isNewer func(fakeNode) bool, t proto.EventType) {
	n, ok := c.f.tree[path]
	switch {
	case !ok:
		c.notify(proto.EventNodeDeleted, path, -1)
	case isNewer(n):
		c.notify(t, path, -1)
	default:
		table[path] = true
	}
}
