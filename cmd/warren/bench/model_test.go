package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed94657493/warren/proto"
)

// model is a small tree behind a fakeServer: enough of the rules that a load that does something
// wrong gets an error.
type model struct {
	mu       sync.Mutex
	nodes    map[string][]byte
	children map[string]map[string]bool // names by parent
	sequence map[string]int
	owners   map[string]proto.SessionID
	watches  map[string][]*fakeConn
	counts   map[proto.OpCode]int
	alarms   []alarm
}

// alarm is closed when there were n requests of an operation.
type alarm struct {
	op   proto.OpCode
	n    int
	rung chan struct{}
}

func newModel() *model {
	return &model{nodes: map[string][]byte{"/": nil}, sequence: map[string]int{}, owners: map[string]proto.SessionID{},
		watches: map[string][]*fakeConn{}, counts: map[proto.OpCode]int{}, children: map[string]map[string]bool{}}
}

// after returns a channel that is closed after n more requests of op.
func (m *model) after(op proto.OpCode, n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := alarm{op, m.counts[op] + n, make(chan struct{})}
	m.alarms = append(m.alarms, a)
	return a.rung
}

func (m *model) count(op proto.OpCode) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[op]
}

// left returns the paths that exist besides the root.
func (m *model) left() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var paths []string
	for p := range m.nodes {
		if p != "/" {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func name(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// respond answers one request.
func (m *model) respond(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
	m.mu.Lock()
	m.counts[op]++
	for _, a := range m.alarms {
		if a.op == op && a.n == m.counts[op] {
			close(a.rung)
		}
	}
	var fired []*fakeConn
	var path string
	r := proto.NewReader(body)
	out, code := m.apply(c, op, &r, &fired, &path)
	m.mu.Unlock()
	if r.Err() != nil {
		return nil, proto.ErrMarshallingError
	}
	for _, w := range fired {
		w.event(proto.EventNodeDataChanged, path)
	}
	return out, code
}

func (m *model) apply(
	c *fakeConn, op proto.OpCode, r *proto.Reader, fired *[]*fakeConn, path *string,
) ([]byte, proto.ErrCode) {
	stat := proto.StatResponse{}
	switch op {
	case proto.OpCreate:
		var req proto.CreateRequest
		req.Decode(r)
		return m.create(c, &req)
	case proto.OpDelete:
		var req proto.DeleteRequest
		req.Decode(r)
		return nil, m.remove(req.Path.String())
	case proto.OpSetData:
		var req proto.SetDataRequest
		req.Decode(r)
		*path = req.Path.String()
		if _, ok := m.nodes[*path]; !ok {
			return nil, proto.ErrNoNode
		}
		m.nodes[*path] = slices.Clone(req.Data)
		*fired = m.watches[*path]
		delete(m.watches, *path)
		return stat.AppendTo(nil), proto.OK
	case proto.OpGetData, proto.OpExists, proto.OpGetChildren, proto.OpGetChildren2:
		var req proto.PathWatchRequest
		req.Decode(r)
		return m.read(c, op, req.Path.String(), req.Watch)
	case proto.OpSetWatches:
		var req proto.SetWatches
		req.Decode(r)
		for _, p := range req.DataWatches {
			m.watches[p.String()] = append(m.watches[p.String()], c)
		}
		return nil, proto.OK
	case proto.OpSync:
		return proto.AppendBuffer(nil, r.Text()), proto.OK
	case proto.OpMulti:
		return m.multi(c, r, fired, path)
	case proto.OpCloseSession:
		for p, owner := range m.owners {
			if owner == c.session {
				_ = m.remove(p)
			}
		}
		return nil, proto.OK
	case proto.OpPing:
		return nil, proto.OK
	}
	return nil, proto.ErrUnimplemented
}

func (m *model) create(c *fakeConn, req *proto.CreateRequest) ([]byte, proto.ErrCode) {
	path, mode := req.Path.String(), proto.CreateMode(req.Flags)
	if _, ok := m.nodes[parent(path)]; !ok {
		return nil, proto.ErrNoNode
	}
	if mode.IsSequential() {
		p := parent(path)
		path = fmt.Sprintf("%s%010d", path, m.sequence[p])
		m.sequence[p]++
	}
	if _, ok := m.nodes[path]; ok {
		return nil, proto.ErrNodeExists
	}
	if len(req.Acl) == 0 {
		return nil, proto.ErrInvalidACL
	}
	m.nodes[path] = slices.Clone(req.Data)
	if m.children[parent(path)] == nil {
		m.children[parent(path)] = map[string]bool{}
	}
	m.children[parent(path)][name(path)] = true
	if mode.IsEphemeral() {
		m.owners[path] = c.session
	}
	return proto.AppendString(nil, path), proto.OK
}

func (m *model) remove(path string) proto.ErrCode {
	if _, ok := m.nodes[path]; !ok {
		return proto.ErrNoNode
	}
	if len(m.children[path]) > 0 {
		return proto.ErrNotEmpty
	}
	delete(m.nodes, path)
	delete(m.children[parent(path)], name(path))
	delete(m.owners, path)
	return proto.OK
}

func (m *model) read(c *fakeConn, op proto.OpCode, path string, watch bool) ([]byte, proto.ErrCode) {
	data, ok := m.nodes[path]
	if !ok {
		return nil, proto.ErrNoNode
	}
	if watch {
		m.watches[path] = append(m.watches[path], c)
	}
	switch op {
	case proto.OpGetData:
		return (&proto.GetDataResponse{Data: data}).AppendTo(nil), proto.OK
	case proto.OpExists:
		return new(proto.StatResponse).AppendTo(nil), proto.OK
	}
	resp := proto.GetChildren2Response{Children: []proto.Text{}}
	for child := range m.children[path] {
		resp.Children = append(resp.Children, proto.Text(child))
	}
	if op == proto.OpGetChildren {
		return (&proto.GetChildrenResponse{Children: resp.Children}).AppendTo(nil), proto.OK
	}
	return resp.AppendTo(nil), proto.OK
}

// multi applies the operations one by one; the loads send none that fail.
func (m *model) multi(c *fakeConn, r *proto.Reader, fired *[]*fakeConn, path *string) ([]byte, proto.ErrCode) {
	var out []byte
	for {
		var h proto.MultiHeader
		h.Decode(r)
		if r.Err() != nil {
			return nil, proto.ErrMarshallingError
		}
		if h.Done {
			return proto.AppendMultiEnd(out), proto.OK
		}
		body, code := m.apply(c, h.Type, r, fired, path)
		if code != proto.OK {
			return nil, code
		}
		out = append(proto.AppendMultiResult(out, h.Type), body...)
	}
}
