package host

import (
	"bytes"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// forbidden reports whether a write of a client is known here to have no permission, so that the leader need not be asked:
// enableEagerACLCheck. What cannot be decided here the leader decides, who decides again. The state is as old as this server's, so a
// session that has writes in flight is not judged by it. Source: server-semantics 9.6.
func (s *Host) forbidden(op proto.OpCode, body []byte, ids []auth.Identity) bool {
	r := proto.NewReader(body)
	path := []byte(r.Text())
	if r.Err() != nil || len(path) == 0 {
		return false
	}
	var perm int32
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		perm = proto.PermCreate
	case proto.OpDelete:
		perm = proto.PermDelete
	case proto.OpSetData:
		perm = proto.PermWrite
	case proto.OpSetACL:
		perm = proto.PermAdmin
	default:
		return false
	}
	if perm == proto.PermCreate || perm == proto.PermDelete {
		path = path[:max(bytes.LastIndexByte(path, '/'), 0)]
	}
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	id := s.Store.State.Lookup(path)
	return id != 0 && !s.Allows(s.Store.State.Node(id).ACL, perm, ids)
}
