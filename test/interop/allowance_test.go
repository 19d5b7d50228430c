//go:build interop

package interop

import (
	"bytes"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// allowance is a difference between ZooKeeper 3.8.0 on the left and Warren on the right that is
// intended. None of them changes the state, so that the run goes on comparing.
type allowance struct {
	name   string
	reason string
	source string
	match  func(left, right *wire.Call) bool
}

var allowances = []allowance{
	{
		name:   "exists without READ",
		reason: "3.8 shows the Stat of an unreadable znode; since 3.9.2 it needs READ",
		source: "client-protocol 17, server-semantics 14",
		match: func(left, right *wire.Call) bool {
			return left.Request.Op == proto.OpExists && left.Reply.Header.Err == proto.OK &&
				right.Reply.Header.Err == proto.ErrNoAuth
		},
	},
	{
		name:   "create without a path",
		reason: "a null path is a bad argument, not undecodable",
		source: "client-protocol 11.2 row 6 of create",
		match: func(left, right *wire.Call) bool {
			return isCreate(left.Request.Op) && nullPath(left.Request.Body) &&
				codes(left, right, proto.ErrMarshallingError, proto.ErrBadArguments)
		},
	},
	{
		name:   "null id in an ACL",
		reason: "a null id is an invalid ACL, not an undecodable request",
		source: "client-protocol 10.5",
		match: func(left, right *wire.Call) bool {
			return (isCreate(left.Request.Op) || left.Request.Op == proto.OpSetACL) &&
				hasNullID(left.Request) && codes(left, right, proto.ErrMarshallingError, proto.ErrInvalidACL)
		},
	},
	{
		name:   "checkWatches of types 4 and 5",
		reason: "3.8 does not know the persistent types",
		source: "client-protocol 9.6 and 17",
		match: func(left, right *wire.Call) bool {
			if left.Request.Op != proto.OpCheckWatches || left.Reply.Header.Err != proto.ErrMarshallingError {
				return false
			}
			return right.Reply.Header.Err == proto.OK || right.Reply.Header.Err == proto.ErrNoWatcher
		},
	},
	{
		name:   "checkWatches and other connections",
		reason: "while a recursive watch exists, 3.8 finds any connection's watch on the path and this one's above it",
		source: "client-protocol 9.6 and 18 (the watch must be at exactly that path of this connection)",
		match: func(left, right *wire.Call) bool {
			return left.Request.Op == proto.OpCheckWatches && codes(left, right, proto.OK, proto.ErrNoWatcher)
		},
	},
	{
		name:   "descendants of the empty path",
		reason: "read as the root, the empty path has as many descendants as the root; ZooKeeper counts the root too",
		source: "client-protocol 5.5",
		match: func(left, right *wire.Call) bool {
			l, lok := left.Reply.Value.(*proto.GetAllChildrenNumberResponse)
			r, rok := right.Reply.Value.(*proto.GetAllChildrenNumberResponse)
			return lok && rok && bytes.HasPrefix(left.Request.Body, []byte{0, 0, 0, 0}) &&
				l.TotalNumber == r.TotalNumber+1
		},
	},
	{
		name:   "create2 in a multi",
		reason: "3.8 answers a create2 slot with the path alone; since 3.9 it has the Stat",
		source: "client-protocol 6.3 and 17",
		match:  multiWithStats,
	},
	{
		name:   "partial results of a refused multiRead",
		reason: "an error has no body; clients ignore what ZooKeeper sends",
		source: "client-protocol 4.1",
		match: func(left, right *wire.Call) bool {
			return left.Request.Op == proto.OpMultiRead &&
				codes(left, right, proto.ErrMarshallingError, proto.ErrMarshallingError) && len(right.Reply.Body) == 0
		},
	},
}

func codes(left, right *wire.Call, l, r proto.ErrCode) bool {
	return left.Reply.Header.Err == l && right.Reply.Header.Err == r
}

func isCreate(op proto.OpCode) bool {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return true
	}
	return false
}

func nullPath(body []byte) bool { return bytes.HasPrefix(body, []byte{0xff, 0xff, 0xff, 0xff}) }

// hasNullID reports an ACL entry with a scheme and without an id.
func hasNullID(req wire.Request) bool {
	var acl []proto.ACL
	if req.Op == proto.OpSetACL {
		var r proto.SetACLRequest
		if r.ReadFrom(req.Body) != nil {
			return false
		}
		acl = r.Acl
	} else {
		var r proto.CreateRequest
		if r.ReadFrom(req.Body) != nil {
			return false
		}
		acl = r.Acl
	}
	for _, a := range acl {
		if a.Id.Id == nil {
			return true
		}
	}
	return false
}

// multiWithStats accepts create slots that differ only in that the right one has a Stat.
func multiWithStats(left, right *wire.Call) bool {
	l, lok := left.Reply.Value.([]wire.Slot)
	r, rok := right.Reply.Value.([]wire.Slot)
	if left.Request.Op != proto.OpMulti || !lok || !rok || len(l) != len(r) {
		return false
	}
	differs := false
	for i := range l {
		if l[i].Type == proto.OpCreate && r[i].Type == proto.OpCreate2 {
			lp := l[i].Value.(*proto.CreateResponse).Path
			rp := r[i].Value.(*proto.Create2Response).Path
			if !bytes.Equal(lp, rp) {
				return false
			}
			differs = true
			continue
		}
		if l[i].Type != r[i].Type || l[i].Err != r[i].Err {
			return false
		}
	}
	return differs
}
