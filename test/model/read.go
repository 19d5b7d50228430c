package model

import (
	"strings"

	"github.com/seed94657493/warren/proto"
)

// read executes what changes nothing but the watches of the connection. Source:
// server-semantics 3.7, client-protocol 11.3.
func (m *Model) read() ([]byte, proto.ErrCode) {
	r := proto.NewReader(m.req.Body)
	switch m.req.Op {
	case proto.OpMultiRead:
		return m.multiRead()
	case proto.OpGetEphemerals:
		var q proto.GetEphemeralsRequest
		if q.Decode(&r); r.Err() != nil {
			return nil, proto.ErrMarshallingError
		}
		return m.getEphemerals(string(q.PrefixPath)), proto.OK
	case proto.OpGetACL, proto.OpGetAllChildrenNumber:
		var q proto.PathRequest
		if q.Decode(&r); r.Err() != nil || q.Path == nil {
			return nil, proto.ErrMarshallingError
		}
		return m.readPath(m.req.Op, string(q.Path), false)
	}
	var q proto.PathWatchRequest
	if q.Decode(&r); r.Err() != nil || q.Path == nil {
		return nil, proto.ErrMarshallingError
	}
	return m.readPath(m.req.Op, string(q.Path), q.Watch)
}

func (m *Model) readPath(op proto.OpCode, path string, watch bool) ([]byte, proto.ErrCode) {
	if op == proto.OpExists && strings.Contains(path, "\x00") {
		return nil, proto.ErrBadArguments
	}
	n := m.tree.find(path)
	if n == nil {
		if op == proto.OpExists && watch {
			m.data.add(m.req.Conn, path, standard)
		}
		return nil, proto.ErrNoNode
	}
	wanted := proto.PermRead
	if op == proto.OpGetACL {
		wanted |= proto.PermAdmin
	}
	if !m.allows(n.acl, wanted) {
		return nil, proto.ErrNoAuth
	}
	if watch {
		switch op {
		case proto.OpExists, proto.OpGetData:
			m.data.add(m.req.Conn, path, standard)
		case proto.OpGetChildren, proto.OpGetChildren2:
			m.child.add(m.req.Conn, path, standard)
		}
	}
	stat := m.tree.stat(path)
	switch op {
	case proto.OpExists:
		return (&proto.StatResponse{Stat: stat}).AppendTo(nil), proto.OK
	case proto.OpGetData:
		return (&proto.GetDataResponse{Data: n.data, Stat: stat}).AppendTo(nil), proto.OK
	case proto.OpGetACL:
		return (&proto.GetACLResponse{Acl: m.shown(n.acl), Stat: stat}).AppendTo(nil), proto.OK
	case proto.OpGetChildren:
		return (&proto.GetChildrenResponse{Children: texts(m.tree.children(path))}).AppendTo(nil), proto.OK
	case proto.OpGetChildren2:
		return (&proto.GetChildren2Response{Children: texts(m.tree.children(path)), Stat: stat}).AppendTo(nil),
			proto.OK
	}
	if path == "" {
		path = "/"
	}
	total := int32(0)
	for p := range m.tree {
		if below(p, path) {
			total++
		}
	}
	return (&proto.GetAllChildrenNumberResponse{TotalNumber: total}).AppendTo(nil), proto.OK
}

// shown hides the hashes of digest entries from clients that may not change the list.
func (m *Model) shown(acl []proto.ACL) []proto.ACL {
	shown := cloneACL(acl)
	if m.allows(acl, proto.PermAdmin) {
		return shown
	}
	for i, e := range shown {
		if user, _, ok := strings.Cut(string(e.Id.Id), ":"); ok && string(e.Id.Scheme) == "digest" {
			shown[i].Id.Id = proto.Text(user + ":x")
		}
	}
	return shown
}

func (m *Model) getEphemerals(prefix string) []byte {
	if strings.TrimSpace(prefix) == "" {
		prefix = "/"
	}
	var paths []string
	for _, path := range m.tree.ephemerals(m.req.Session) {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return (&proto.GetEphemeralsResponse{Ephemerals: texts(paths)}).AppendTo(nil)
}

// multiRead answers each slot by itself. Source: server-semantics 4.5.
func (m *Model) multiRead() ([]byte, proto.ErrCode) {
	var body []byte
	r := proto.NewMultiReader(m.req.Body)
	for {
		header, more := r.Next()
		if !more {
			break
		}
		if header.Type != proto.OpGetData && header.Type != proto.OpGetChildren {
			return nil, proto.ErrMarshallingError
		}
		var q proto.PathWatchRequest
		if q.Decode(&r.R); r.R.Err() != nil {
			return nil, proto.ErrMarshallingError
		}
		slot, err := m.readPath(header.Type, string(q.Path), false)
		if err != proto.OK {
			body = proto.AppendMultiError(body, err)
			continue
		}
		body = append(proto.AppendMultiResult(body, header.Type), slot...)
	}
	if r.R.Err() != nil {
		return nil, proto.ErrMarshallingError
	}
	return proto.AppendMultiEnd(body), proto.OK
}

func texts(names []string) []proto.Text {
	t := make([]proto.Text, len(names))
	for i, name := range names {
		t[i] = proto.Text(name)
	}
	return t
}
