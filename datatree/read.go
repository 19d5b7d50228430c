package datatree

import (
	"bytes"
	"slices"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Reads append the body of a reply to b and return proto.OK; on an error they return b unchanged. They may run
// concurrently under the read lock, and allocate nothing if b has room. A null path cannot be answered, "" is the
// root, and a path is not validated: a malformed path names no znode. Source: server-semantics 3.7.

// readable returns the znode of a path if ids have any of the wanted permissions on it.
func (s *State) readable(path []byte, wanted int32, ids []auth.Identity) (NodeID, proto.ErrCode) {
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
func (s *State) ReadExists(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
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
func (s *State) ReadData(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead, ids)
	if err != proto.OK {
		return b, err
	}
	b = proto.AppendBuffer(b, s.Data(id))
	return s.appendStat(b, id), proto.OK
}

// ReadACL answers getACL: a GetACLResponse. It takes READ or ADMIN; without ADMIN the passwords
// of digest entries are masked.
func (s *State) ReadACL(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
	id, err := s.readable(path, proto.PermRead|proto.PermAdmin, ids)
	if err != proto.OK {
		return b, err
	}
	acl := s.rec(id).acl
	isAdmin := s.acls.Allows(acl, proto.PermAdmin, ids)
	list := s.acls.List(acl)
	b = proto.AppendInt32(b, int32(len(list)))
	for i := range list {
		if isAdmin || string(list[i].Id.Scheme) != auth.SchemeDigest {
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
func (s *State) ReadAllChildrenNumber(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
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

// ephemeralsMax is the largest reply to getEphemerals, in bytes, but for its last path. The tree stores names: with
// the whole path of each znode, a reply may be thousands of times as large as what is stored.
const ephemeralsMax = 64 << 20

// ReadEphemerals answers getEphemerals: the paths of the session's ephemerals that begin with
// prefix; all of them if prefix is null, blank or "/". A reply beyond ephemeralsMax is ErrConnectionLoss, as of
// ReadMulti. Source: client-protocol 5.5.
func (s *State) ReadEphemerals(b []byte, id proto.SessionID, prefix proto.Text) ([]byte, proto.ErrCode) {
	if len(bytes.TrimSpace(prefix)) == 0 {
		prefix = nil
	}
	start, n := len(b), int32(0)
	b = proto.AppendInt32(b, 0)
	var parent NodeID // the last parent: the required prefix of its children's names is computed once
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
		if len(b)-start > ephemeralsMax {
			return b[:start], proto.ErrConnectionLoss
		}
	}
	proto.AppendInt32(b[start:start], n)
	return b, proto.OK
}

// suffixAfter returns the prefix that a name must have so that dir plus the name begins with prefix. It reports
// false if no name has that effect.
func suffixAfter(prefix, dir []byte) (rest []byte, ok bool) {
	if len(prefix) <= len(dir) {
		return nil, bytes.HasPrefix(dir, prefix)
	}
	return prefix[len(dir):], bytes.HasPrefix(prefix, dir)
}

// Bounds of the reply to one multiRead: a small request can name a large znode many times.
const (
	// multiReadMax is its largest size in bytes, not counting what is not data.
	multiReadMax = 16 << 20
	// multiReadNames is how many names of children it may have. To find names takes far longer than to copy as
	// many bytes.
	multiReadNames = 128 << 10
	// multiReadAhead is the length from which on the final size is computed before more is read.
	multiReadAhead = 64 << 10
)

// ReadMulti answers multiRead, whose body is given: each getData and getChildren in it in a slot
// with its own error. Anything else in it is ErrMarshallingError. A reply that would grow beyond multiReadMax, or have
// more names than multiReadNames, is ErrConnectionLoss: the connection has to end, because that is how a client learns
// that a reply is too large (its own limit is smaller), upon which it may read in smaller parts. Source:
// client-protocol 6.5.
func (s *State) ReadMulti(b, body []byte, ids []auth.Identity) ([]byte, proto.ErrCode) {
	start, names, measured := len(b), 0, false
	m := proto.NewMultiReader(body)
	for {
		rest := m
		op, path, more, ok := nextRead(&m)
		if !ok {
			return b[:start], proto.ErrMarshallingError
		}
		if !more {
			return proto.AppendMultiEnd(b), proto.OK
		}
		id, err := s.readable(path, proto.PermRead, ids)
		if err != proto.OK {
			b = proto.AppendMultiError(b, err)
			continue
		}
		if !measured && op == proto.OpGetData && len(b)-start+len(s.Data(id)) > multiReadAhead {
			measured = true
			size, ok := s.measureMulti(rest, ids)
			switch {
			case !ok:
				return b[:start], proto.ErrMarshallingError
			case len(b)-start+size > multiReadMax:
				return b[:start], proto.ErrConnectionLoss
			}
			b = slices.Grow(b, size)
		}
		b = proto.AppendMultiResult(b, op)
		if op == proto.OpGetData {
			b = s.appendStat(proto.AppendBuffer(b, s.Data(id)), id)
		} else {
			if names += int(s.Node(id).NumChildren); names > multiReadNames {
				return b[:start], proto.ErrConnectionLoss
			}
			b = s.appendChildren(b, id)
		}
		if len(b)-start > multiReadMax {
			return b[:start], proto.ErrConnectionLoss
		}
	}
}

// measureMulti returns about how many bytes the rest of a multiRead adds to the reply, without the names of
// children: there are not many of those. It reports false if the rest is malformed, and measures no further than
// multiReadMax.
func (s *State) measureMulti(m proto.MultiReader, ids []auth.Identity) (size int, ok bool) {
	for size <= multiReadMax {
		op, path, more, ok := nextRead(&m)
		if !ok {
			return 0, false
		}
		if !more {
			break
		}
		size += multiSlotSize
		if op == proto.OpGetData {
			if id, err := s.readable(path, proto.PermRead, ids); err == proto.OK {
				size += len(s.Data(id))
			}
		}
	}
	return size, true
}

// multiSlotSize is the size of a slot without its data: a header, a length and a Stat.
const multiSlotSize = 9 + 4 + 68

// nextRead decodes the next read of a multiRead. ok is false for any other operation; more is false at the end.
func nextRead(m *proto.MultiReader) (op proto.OpCode, path []byte, more, ok bool) {
	h, more := m.Next()
	if m.R.Err() != nil || more && h.Type != proto.OpGetData && h.Type != proto.OpGetChildren {
		return 0, nil, false, false
	}
	if !more {
		return 0, nil, false, true
	}
	var request proto.PathWatchRequest
	request.Decode(&m.R)
	return h.Type, request.Path, true, m.R.Err() == nil
}

func (s *State) appendStat(b []byte, id NodeID) []byte {
	stat := s.Stat(id)
	return stat.AppendTo(b)
}
