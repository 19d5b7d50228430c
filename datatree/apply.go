package datatree

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Apply applies a txn: a TxnHeader, a body and, unless it is an error txn, a digest. It tells sink, if there is
// one, the changes in the order in which watches must fire. If wantReply, it appends the body of the reply: for
// create the path, for the rest of the create family path and Stat, for setData and setACL the Stat, for reconfig
// data and Stat, for multi its slots. It appends nothing for other txns, and nothing if Applied.Err is not OK.
//
// The only error is a payload that is no txn; the state is unchanged then. Everything else is tolerated, because
// replay over a fuzzy snapshot meets its own effects. It must run alone. Source: server-semantics 5, storage 6.4.
func (s *State) Apply(payload []byte, sink Sink, reply []byte, wantReply bool) ([]byte, Applied, error) {
	return s.apply(payload, sink, reply, wantReply, nil)
}

// ApplyCreate2 is Apply, with a reply, for a multi in which the operations at the ascending indexes create2 were
// create2. The txn has them as create, whose body is the same, because servers before 3.9 drop the rest of a
// multi at a create2. See Preparer.Create2.
func (s *State) ApplyCreate2(payload []byte, sink Sink, reply []byte, create2 []int32) ([]byte, Applied, error) {
	return s.apply(payload, sink, reply, true, create2)
}

func (s *State) apply(
	payload []byte, sink Sink, reply []byte, wantReply bool, create2 []int32,
) ([]byte, Applied, error) {
	var a Applied
	r := proto.NewReader(payload)
	a.Header.Decode(&r)
	if err := r.Err(); err != nil {
		return reply, a, fmt.Errorf("datatree: header of a txn of %d bytes: %w", len(payload), err)
	}
	t := &s.txn
	if err := t.decode(a.Header.Type, &r); err != nil {
		return reply, a, fmt.Errorf("datatree: body of txn %v (%v): %w", a.Header.Zxid, a.Header.Type, err)
	}
	digest, hasDigest := t.digest(a.Header.Type, &r)

	if a.Header.Type == proto.OpMulti {
		reply = s.applyMulti(&a.Header, sink, reply, wantReply, create2)
	} else {
		var id NodeID
		id, a.Err = s.applyBody(&a.Header, &t.body, sink)
		if wantReply && a.Err == proto.OK {
			reply = s.appendResult(reply, &t.body, id)
		}
	}
	s.lastZxid = max(s.lastZxid, a.Header.Zxid)
	a.DigestMismatch, a.DigestMatch = hasDigest && digest != s.digest, hasDigest && digest == s.digest
	return reply, a, nil
}

// applyBody applies one body and returns its znode, 0 if there is none (any more).
func (s *State) applyBody(h *proto.TxnHeader, b *txnBody, sink Sink) (NodeID, proto.ErrCode) {
	s.compact()
	switch b.op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return s.applyCreate(h, b, sink)
	case proto.OpDelete, proto.OpDeleteContainer:
		return 0, s.applyDelete(b.path, h.Zxid, sink)
	case proto.OpSetData, proto.OpReconfig:
		return s.applySetData(h, b, sink)
	case proto.OpSetACL:
		return s.applySetACL(b)
	case proto.OpCreateSession:
		s.putSession(h.ClientID, b.timeoutMs)
	case proto.OpCloseSession:
		s.applyCloseSession(h, b.paths, sink)
	case proto.OpError:
		return 0, b.err
	}
	return 0, proto.OK // check: nothing to do
}

// applyMulti applies the bodies of a multi one after another, each on its own; or none if one of
// them is an error. It appends the slots of the reply. Source: server-semantics 4.4.
func (s *State) applyMulti(h *proto.TxnHeader, sink Sink, reply []byte, wantReply bool, create2 []int32) []byte {
	t := &s.txn
	failed, past := t.hasError, false
	for i := range t.multi.Txns {
		err := t.body.decodeSub(&t.multi.Txns[i])
		invariant("a body that has been decoded decodes again", err == nil, uint64(h.Zxid))
		b := &t.body
		if !failed {
			id, code := s.applyBody(h, b, sink)
			if len(create2) > 0 && int(create2[0]) == i {
				b.op, create2 = proto.OpCreate2, create2[1:]
			}
			if wantReply && code == proto.OK {
				reply = proto.AppendMultiResult(reply, resultOp(b.op))
				reply = s.appendResult(reply, b, id)
			} else if wantReply {
				reply = proto.AppendMultiError(reply, code)
			}
			continue
		}
		code := proto.OK // rolled back
		switch {
		case b.op == proto.OpError:
			past, code = true, b.err
		case past:
			code = proto.ErrRuntimeInconsistency
		}
		if wantReply {
			reply = proto.AppendMultiError(reply, code)
		}
	}
	if wantReply {
		reply = proto.AppendMultiEnd(reply)
	}
	return reply
}

// resultOp returns the type of a slot of the reply to a multi. Source: client-protocol 6.3.
func resultOp(op proto.OpCode) proto.OpCode {
	switch op {
	case proto.OpCreateContainer, proto.OpCreateTTL:
		return proto.OpCreate2
	case proto.OpDeleteContainer:
		return proto.OpDelete
	}
	return op
}

// appendResult appends the body of the reply to a txn that succeeded; id is its znode.
func (s *State) appendResult(reply []byte, b *txnBody, id NodeID) []byte {
	switch b.op {
	case proto.OpCreate:
		return proto.AppendBuffer(reply, b.path)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		reply = proto.AppendBuffer(reply, b.path)
	case proto.OpSetData, proto.OpSetACL:
	case proto.OpReconfig:
		reply = proto.AppendBuffer(reply, s.Data(id))
	default:
		return reply
	}
	stat := s.Stat(id)
	return stat.AppendTo(reply)
}

// fire tells sink of a change.
func fire(sink Sink, t proto.EventType, path []byte, zxid proto.Zxid, owner proto.SessionID, acl, parentACL ACLID) {
	if sink != nil {
		sink.Changed(Change{Type: t, Path: path, Zxid: zxid, Owner: owner, ACL: acl, ParentACL: parentACL})
	}
}
