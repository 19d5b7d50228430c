package datatree

import (
	"bytes"

	"github.com/seed94657493/warren/proto"
)

// Reads append the body of a reply to b and return proto.OK; on an error they return b as it was.
// They may run concurrently under the read lock, and allocate nothing if b has room. A null path
// cannot be answered, "" is the root, and a path is not validated: one that is malformed names no
// znode. Source: server-semantics section 3.7.

// readable returns the znode of a path if ids have any of the wanted permissions on it.
func (s *State) readable(path []byte, wanted int32, ids []Identity) (NodeID, proto.ErrCode) {
	if path == nil {
		return 0, proto.ErrMarshallingError
	}
	id := s.Lookup(path)
	if id == 0 {
		return 0, proto.ErrNoNode
	}
	if !s.acls.Allows(s.rec(id).acl, wanted, ids) {
		return 0, proto.ErrNoAuth
	}
	return id, proto.OK
}

// ReadExists answers exists: a StatResponse. A path with a NUL is ErrBadArguments.
func (s *State) ReadExists(b, path []byte, ids []Identity) ([]byte, proto.ErrCode) {
	if bytes.IndexByte(path, 0) >= 0 {
		return b, proto.ErrBadArguments
	}
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	return s.appendStat(b, id), proto.OK
}

// ReadData answers getData: a GetDataResponse.
func (s *State) ReadData(b, path []byte, ids []Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	b = proto.AppendBuffer(b, s.Data(id))
	return s.appendStat(b, id), proto.OK
}

// ReadACL answers getACL: a GetACLResponse. It takes READ or ADMIN; without ADMIN the passwords
// of digest entries are masked.
func (s *State) ReadACL(b, path []byte, ids []Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead|proto.PermAdmin, ids)
	if err != proto.OK {
		return b, err
	}
	acl := s.rec(id).acl
	isAdmin := s.acls.Allows(acl, proto.PermAdmin, ids)
	list := s.acls.List(acl)
	b = proto.AppendInt32(b, int32(len(list)))
	for i := range list {
		if isAdmin || string(list[i].Id.Scheme) != SchemeDigest {
			b = list[i].AppendTo(b)
		} else {
			b = appendMasked(b, &list[i])
		}
	}
	return s.appendStat(b, id), proto.OK
}

// appendMasked appends an entry with ":x" for everything from the first colon of the id.
func appendMasked(b []byte, e *proto.ACL) []byte {
	b = proto.AppendInt32(b, e.Perms)
	b = proto.AppendBuffer(b, e.Id.Scheme)
	colon := bytes.IndexByte(e.Id.Id, ':')
	if colon < 0 {
		return proto.AppendBuffer(b, e.Id.Id)
	}
	b = proto.AppendInt32(b, int32(colon+2))
	return append(append(b, e.Id.Id[:colon]...), ":x"...)
}

// ReadAllChildrenNumber answers getAllChildrenNumber: how many znodes are below a path. It walks
// them all, except for the root.
func (s *State) ReadAllChildrenNumber(b, path []byte, ids []Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	n := s.NumNodes() - 1
	if id != Root {
		n = 0
		for c := s.following(id, id); c != 0; c = s.following(c, id) {
			n++
		}
	}
	return proto.AppendInt32(b, int32(n)), proto.OK
}

// ReadEphemerals answers getEphemerals: the paths of the session's ephemerals that begin with
// prefix; all of them if prefix is null, blank or "/". Source: client-protocol section 5.5.
func (s *State) ReadEphemerals(b []byte, id proto.SessionID, prefix proto.Text) []byte {
	if len(bytes.TrimSpace(prefix)) == 0 {
		prefix = nil
	}
	start, n := len(b), int32(0)
	b = proto.AppendInt32(b, 0)
	var parent NodeID // of those before, as a rule: what the names of its children must begin with is found out once
	var rest []byte
	fits := false
	for node := s.sessions[id].ephemerals.first; node != 0; node = s.kinOf(s.rec(node)).ownNext {
		if of := s.rec(node).parent; of != parent {
			parent = of
			before := len(b)
			b = s.AppendPath(b, parent)
			if parent != Root {
				b = append(b, '/')
			}
			rest, fits = suffixAfter(prefix, b[before:])
			b = b[:before]
		}
		if !fits || !bytes.HasPrefix(s.Name(node), rest) {
			continue
		}
		before := len(b)
		b = s.AppendPath(proto.AppendInt32(b, 0), node)
		proto.AppendInt32(b[before:before], int32(len(b)-before-4))
		n++
	}
	proto.AppendInt32(b[start:start], n)
	return b
}

// suffixAfter is what a name must begin with, so that the path that is dir and the name begins with prefix. It reports false if
// none does.
func suffixAfter(prefix, dir []byte) (rest []byte, ok bool) {
	if len(prefix) <= len(dir) {
		return nil, bytes.HasPrefix(dir, prefix)
	}
	return prefix[len(dir):], bytes.HasPrefix(prefix, dir)
}

// multiReadMax bounds the reply to one multiRead, in bytes: a small request can name a large znode
// many times.
const multiReadMax = 16 << 20

// ReadMulti answers multiRead, whose body is given: each getData and getChildren in it in a slot
// with its own error. Anything else in it, and a reply that grows beyond multiReadMax, is
// ErrMarshallingError. Source: client-protocol section 6.5.
func (s *State) ReadMulti(b, body []byte, ids []Identity) ([]byte, proto.ErrCode) {
	start := len(b)
	m := proto.NewMultiReader(body)
	for {
		h, more := m.Next()
		if m.R.Err() != nil {
			return b[:start], proto.ErrMarshallingError
		}
		if !more {
			return proto.AppendMultiEnd(b), proto.OK
		}
		var request proto.PathWatchRequest
		if h.Type == proto.OpGetData || h.Type == proto.OpGetChildren {
			request.Decode(&m.R)
		} else {
			return b[:start], proto.ErrMarshallingError
		}
		if m.R.Err() != nil || len(b)-start > multiReadMax {
			return b[:start], proto.ErrMarshallingError
		}
		slot := len(b)
		b = proto.AppendMultiResult(b, h.Type)
		var err proto.ErrCode
		if h.Type == proto.OpGetData {
			b, err = s.ReadData(b, request.Path, ids)
		} else {
			b, err = s.ReadChildren(b, request.Path, ids)
		}
		if err != proto.OK {
			b = proto.AppendMultiError(b[:slot], err)
		}
	}
}

func (s *State) appendStat(b []byte, id NodeID) []byte {
	stat := s.Stat(id)
	return stat.AppendTo(b)
}
