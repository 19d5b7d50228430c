package outcomes

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
)

// answer makes the reply to a request from its txn. The txn has all of it, except for a Stat after setData, setACL or
// reconfig: what the txn does not have there is taken from the znode as it is now, and is 0 if that is gone.
type answer struct {
	state  *env.Store
	header *proto.TxnHeader
}

// reply reads the body of the txn, and returns the body of the reply, or its error.
func (a *answer) reply(in *proto.Reader) ([]byte, proto.ErrCode) {
	switch a.header.Type {
	case proto.OpError:
		var txn proto.ErrorTxn
		txn.Decode(in)
		return nil, txn.Err
	case proto.OpMulti:
		var txn proto.MultiTxn
		txn.Decode(in)
		return a.slots(txn.Txns), proto.OK
	}
	return a.result(nil, a.header.Type, a.header.Type, in), proto.OK
}

// slots is the body of the reply to a multi. Creates are answered with their Stat, as those of create2: the txn does
// not tell them apart.
func (a *answer) slots(txns []proto.SubTxn) (b []byte) {
	failed := false
	for i := range txns {
		failed = failed || txns[i].Type == proto.OpError
	}
	past := false
	for i := range txns {
		in, op := proto.NewReader(txns[i].Data), txns[i].Type
		switch {
		case op == proto.OpError:
			var txn proto.ErrorTxn
			txn.Decode(&in)
			b, past = proto.AppendMultiError(b, txn.Err), true
		case past:
			b = proto.AppendMultiError(b, proto.ErrRuntimeInconsistency)
		case failed:
			b = proto.AppendMultiError(b, proto.OK) // rolled back
		default:
			switch op {
			case proto.OpCreate, proto.OpCreateContainer, proto.OpCreateTTL:
				op = proto.OpCreate2
			}
			b = a.result(proto.AppendMultiResult(b, op), op, txns[i].Type, &in)
		}
	}
	return proto.AppendMultiEnd(b)
}

// result appends the body of the reply to one operation, whose txn may be that of another one.
func (a *answer) result(b []byte, op, txn proto.OpCode, in *proto.Reader) []byte {
	var stat proto.Stat
	switch txn {
	case proto.OpCreate, proto.OpCreate2:
		var t proto.CreateTxn
		t.Decode(in)
		if b = proto.AppendBuffer(b, t.Path); op == proto.OpCreate {
			return b
		}
		if stat = a.created(t.Data); t.Ephemeral {
			stat.EphemeralOwner = a.header.ClientID
		}
	case proto.OpCreateContainer:
		var t proto.CreateContainerTxn
		t.Decode(in)
		b, stat = proto.AppendBuffer(b, t.Path), a.created(t.Data)
	case proto.OpCreateTTL:
		var t proto.CreateTTLTxn
		t.Decode(in)
		b, stat = proto.AppendBuffer(b, t.Path), a.created(t.Data)
	case proto.OpSetData, proto.OpReconfig:
		var t proto.SetDataTxn
		t.Decode(in)
		if op == proto.OpReconfig {
			b = proto.AppendBuffer(b, t.Data)
		}
		stat = a.present(t.Path)
		stat.Mzxid, stat.Mtime, stat.Version = a.header.Zxid, a.header.Time, t.Version
		stat.DataLength = int32(len(t.Data))
	case proto.OpSetACL:
		var t proto.SetACLTxn
		t.Decode(in)
		stat = a.present(t.Path)
		stat.Aversion = t.Version
	default:
		return b // delete and check are answered by nothing
	}
	return stat.AppendTo(b)
}

// created is the Stat of a znode that the txn creates.
func (a *answer) created(data []byte) proto.Stat {
	h := a.header
	return proto.Stat{Czxid: h.Zxid, Mzxid: h.Zxid, Pzxid: h.Zxid, Ctime: h.Time, Mtime: h.Time,
		DataLength: int32(len(data))}
}

// present is the Stat of a znode now, if it is the one that the txn has changed.
func (a *answer) present(path []byte) (stat proto.Stat) {
	a.state.Mu.RLock()
	defer a.state.Mu.RUnlock()
	if id := a.state.State.Lookup(path); id != 0 {
		if now := a.state.State.Stat(id); now.Czxid <= a.header.Zxid {
			stat = now
		}
	}
	return stat
}
