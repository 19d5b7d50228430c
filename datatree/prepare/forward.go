package prepare

import "github.com/seed94657493/warren/proto"

// AppendErrorTxn appends the txn of a request that was refused before it was prepared. A server that has
// forwarded a request waits for its txn, so the leader makes one for every forwarded request. h is the header
// that the request's txn would have. Source: quorum-protocol 8.2, 9.4.
func AppendErrorTxn(b []byte, h proto.TxnHeader, err proto.ErrCode) []byte {
	h.Type = proto.OpError
	return proto.AppendInt32(h.AppendTo(b), int32(err))
}

// eachCreate yields the creations of a multi request with their places among the operations. It ends at the first
// malformed operation.
func eachCreate(body []byte, yield func(at int32, c creation)) {
	var p Preparer // only its scratch is used
	ops := proto.NewMultiReader(body)
	for at := int32(0); ; at++ {
		header, more := ops.Next()
		if !more {
			return
		}
		switch header.Type {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			if c := p.decodeCreate(&ops.R, header.Type); ops.R.Err() == nil {
				yield(at, c)
			}
		default:
			if !passOver(&ops.R, header.Type) {
				return
			}
		}
	}
}

// Create2Slots appends to slots the indexes of the operations of a multi request that are answered as create2. A
// server that has forwarded the request needs them for State.ApplyCreate2, because the txn does not have them:
// see Preparer.Create2. It ends at the first malformed operation.
func Create2Slots(slots []int32, body []byte) []int32 {
	eachCreate(body, func(at int32, c creation) {
		if createOpInMulti(c.op, c.mode) == proto.OpCreate2 {
			slots = append(slots, at)
		}
	})
	return slots
}

// CreatesEphemeral reports whether a write creates an ephemeral, alone or in a multi: then its session must be
// global. Source: server-semantics 7.6.
func CreatesEphemeral(op proto.OpCode, body []byte) (does bool) {
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		var p Preparer // only its scratch is used
		r := proto.NewReader(body)
		c := p.decodeCreate(&r, op)
		return r.Err() == nil && c.mode.IsEphemeral()
	case proto.OpMulti:
		eachCreate(body, func(_ int32, c creation) {
			does = does || (c.op == proto.OpCreate || c.op == proto.OpCreate2) && c.mode.IsEphemeral()
		})
	}
	return does
}
