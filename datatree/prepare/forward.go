package prepare

import "github.com/seed94657493/warren/proto"

// AppendErrorTxn appends the txn of a request that was refused before it was prepared. A server that has
// forwarded a request waits for its txn, so the leader makes one for every forwarded request. h is the header
// that the request's txn would have. Source: quorum-protocol 8.2, 9.4.
func AppendErrorTxn(b []byte, h proto.TxnHeader, err proto.ErrCode) []byte {
	h.Type = proto.OpError
	return proto.AppendInt32(h.AppendTo(b), int32(err))
}

// Create2Slots appends to slots the indexes of the operations of a multi request that are answered as create2. A
// server that has forwarded the request needs them for State.ApplyCreate2, because the txn does not have them:
// see Preparer.Create2. It ends at the first malformed operation.
func Create2Slots(slots []int32, body []byte) []int32 {
	var p Preparer // only its scratch is used
	ops := proto.NewMultiReader(body)
	for i := int32(0); ; i++ {
		header, more := ops.Next()
		if !more {
			return slots
		}
		switch header.Type {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			c := p.decodeCreate(&ops.R, header.Type)
			if ops.R.Err() == nil && createOpInMulti(header.Type, c.mode) == proto.OpCreate2 {
				slots = append(slots, i)
			}
		default:
			if !passOver(&ops.R, header.Type) {
				return slots
			}
		}
		if ops.R.Err() != nil {
			return slots
		}
	}
}

// CreatesEphemeral reports whether a write creates an ephemeral, alone or in a multi: then its session must be
// global. Source: server-semantics 7.6.
func CreatesEphemeral(op proto.OpCode, body []byte) bool {
	var p Preparer // only its scratch is used
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		r := proto.NewReader(body)
		c := p.decodeCreate(&r, op)
		return r.Err() == nil && c.mode.IsEphemeral()
	case proto.OpMulti:
	default:
		return false
	}
	ops := proto.NewMultiReader(body)
	for {
		header, more := ops.Next()
		if !more {
			return false
		}
		switch header.Type {
		case proto.OpCreate, proto.OpCreate2:
			if c := p.decodeCreate(&ops.R, header.Type); ops.R.Err() == nil && c.mode.IsEphemeral() {
				return true
			}
		case proto.OpCreateContainer, proto.OpCreateTTL:
			p.decodeCreate(&ops.R, header.Type)
		default:
			if !passOver(&ops.R, header.Type) {
				return false
			}
		}
		if ops.R.Err() != nil {
			return false
		}
	}
}
