package prepare

import (
	"encoding/binary"

	"github.com/seed94657493/warren/proto"
)

// multi prepares several writes as one txn. All operations are decoded before any is tried, so that a malformed
// one leaves no trace. When an operation fails, the futures that earlier operations stored are undone; the txn
// then says which operation failed and why, and changes nothing when it is applied. Source: server-semantics 4.
func (p *Preparer) multi(b []byte) (out []byte, err proto.ErrCode, ok bool) {
	count, ok := p.countMulti()
	if !ok {
		return b, proto.ErrMarshallingError, false
	}
	if err := p.checkSession(); err != proto.OK {
		// An error of the whole multi, not of a slot: a closing session gets one error for all operations.
		return b, err, true
	}
	digest := p.digest
	p.overlay.begin()
	b = proto.AppendInt32(b, int32(count))
	ops := proto.NewMultiReader(p.req.Body)
	for i := range count {
		p.restAfter(i)
		header, _ := ops.Next()
		start := len(b)
		var op proto.OpCode
		b, op, err = p.subTxn(proto.AppendInt64(b, 0), &ops.R, header.Type)
		if err != proto.OK {
			p.overlay.rollback()
			p.digest = digest
			p.create2 = p.create2[:0]
			b = appendSubError(b[:start], err)
			for range count - i - 1 {
				b = appendSubError(b, proto.ErrRuntimeInconsistency)
			}
			return b, proto.OK, true
		}
		if op == proto.OpCreate2 {
			op = proto.OpCreate
			p.create2 = append(p.create2, int32(i))
		}
		binary.BigEndian.PutUint32(b[start:], uint32(op))
		binary.BigEndian.PutUint32(b[start+4:], uint32(len(b)-start-8))
	}
	p.overlay.commit()
	return b, proto.OK, true
}

// multiRest is how many operations of a multi are prepared, or decoded, between two rests.
const multiRest = 128

// restAfter calls Rest between two operations of a multi, once for multiRest operations. Txns that are applied
// meanwhile were in the overlay before and stay there until the next Prepare, so that no operation sees a
// difference.
func (p *Preparer) restAfter(operations int) {
	if operations%multiRest == multiRest-1 && p.cfg.Rest != nil {
		p.cfg.Rest()
	}
}

// Create2 returns, after a multi has been prepared, the indexes of the operations that are answered as create2.
// They are creates in the txn: a server before 3.9 that reads a create2 inside a multi drops it and everything
// after it. The slice is valid until the next Prepare.
func (p *Preparer) Create2() []int32 { return p.create2 }

// countMulti decodes all operations and returns how many there are; ok is false if an operation is malformed or
// may not be in a multi, or if the end is missing.
func (p *Preparer) countMulti() (n int, ok bool) {
	ops := proto.NewMultiReader(p.req.Body)
	for header, more := ops.Next(); more; header, more = ops.Next() {
		switch header.Type {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			p.decodeCreate(&ops.R, header.Type)
		default:
			if !passOver(&ops.R, header.Type) {
				return 0, false
			}
		}
		p.restAfter(n)
		n++
	}
	return n, ops.R.Err() == nil
}

// passOver decodes an operation of a multi that creates no znode. It returns false if the operation may not be in a
// multi.
func passOver(r *proto.Reader, op proto.OpCode) bool {
	switch op {
	case proto.OpDelete:
		var del proto.DeleteRequest
		del.Decode(r)
	case proto.OpSetData:
		var set proto.SetDataRequest
		set.Decode(r)
	case proto.OpCheck:
		var check proto.CheckVersionRequest
		check.Decode(r)
	default:
		return false
	}
	return true
}

// subTxn prepares one operation of a multi that countMulti has seen, and returns the type of its
// txn.
func (p *Preparer) subTxn(b []byte, r *proto.Reader, op proto.OpCode) ([]byte, proto.OpCode, proto.ErrCode) {
	var err proto.ErrCode
	switch op {
	case proto.OpDelete:
		var del proto.DeleteRequest
		del.Decode(r)
		b, err = p.delete(b, &del)
	case proto.OpSetData:
		var set proto.SetDataRequest
		set.Decode(r)
		b, err = p.setData(b, &set)
	case proto.OpCheck:
		var check proto.CheckVersionRequest
		check.Decode(r)
		b, err = p.check(b, &check)
	default:
		c := p.decodeCreate(r, op)
		p.behind = r.Len() + r.Len()/4 // sequence numbers make short creates longer by a quarter at most
		c.op = createOpInMulti(op, c.mode)
		op = c.op
		b, err = p.create(b, &c)
	}
	return b, op, err
}

// createOpInMulti returns the operation that a create inside a multi becomes: unlike outside, the
// mode decides whether it is a container, and a TTL needs a mode for it. Source:
// client-protocol 6.1.
func createOpInMulti(op proto.OpCode, mode proto.CreateMode) proto.OpCode {
	switch {
	case mode == proto.ModeContainer:
		return proto.OpCreateContainer
	case op == proto.OpCreateTTL && !mode.IsTTL():
		return proto.OpCreate
	}
	return op
}

// appendSubError appends the slot of an operation that is not carried out.
func appendSubError(b []byte, err proto.ErrCode) []byte {
	b = proto.AppendInt32(b, int32(proto.OpError))
	b = proto.AppendInt32(b, 4)
	return proto.AppendInt32(b, int32(err))
}
