package datatree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

type txnRecord interface{ AppendTo([]byte) []byte }

// appendTxn appends a txn without a digest, of session 7 at time 1000+zxid.
func appendTxn(b []byte, op proto.OpCode, zxid proto.Zxid, body txnRecord) []byte {
	h := proto.TxnHeader{ClientID: 7, Cxid: 1, Zxid: zxid, Time: 1000 + int64(zxid), Type: op}
	b = h.AppendTo(b)
	if body != nil {
		b = body.AppendTo(b)
	}
	return b
}

// txns applies txns with consecutive zxids to a state and records what happens.
type txns struct {
	tb      testing.TB
	s       *State
	zxid    proto.Zxid
	session proto.SessionID
	reply   []byte // of the last txn
	applied Applied
	changes []recordedChange
	payload []byte
	record  bool
	before  func(payload []byte) // is called before a txn is applied
	model   Sink                 // hears of the changes as well
}

type recordedChange struct {
	Type      proto.EventType
	Path      string
	Zxid      proto.Zxid
	ACL       int32 // the permissions that the ACLs grant to world:anyone
	ParentACL int32
}

func newTxns(tb testing.TB, s *State) *txns {
	return &txns{tb: tb, s: s, zxid: s.LastZxid(), session: 7}
}

func (x *txns) Changed(c Change) {
	r := recordedChange{Type: c.Type, Path: string(c.Path), Zxid: c.Zxid, ACL: x.s.ACLs().Anyone(c.ACL)}
	if c.Type != proto.EventNodeDataChanged {
		r.ParentACL = x.s.ACLs().Anyone(c.ParentACL)
	}
	x.changes = append(x.changes, r)
}

// apply applies a txn with the next zxid, which must decode.
func (x *txns) apply(op proto.OpCode, body txnRecord) proto.ErrCode {
	x.zxid++
	return x.applyAt(x.zxid, op, body)
}

func (x *txns) applyAt(zxid proto.Zxid, op proto.OpCode, body txnRecord) proto.ErrCode {
	h := proto.TxnHeader{ClientID: x.session, Cxid: 1, Zxid: zxid, Time: 1000 + int64(zxid), Type: op}
	x.payload = h.AppendTo(x.payload[:0])
	if body != nil {
		x.payload = body.AppendTo(x.payload)
	}
	if x.before != nil {
		x.before(x.payload)
	}
	var sink Sink
	if x.record {
		sink, x.changes = x, nil
	}
	if x.model != nil {
		sink = x.model
	}
	var err error
	x.reply, x.applied, err = x.s.Apply(x.payload, sink, x.reply[:0], true)
	if err != nil {
		x.tb.Fatal(err)
	}
	return x.applied.Err
}

// create creates an open persistent znode as the leader would have it.
func (x *txns) create(path string, data []byte) {
	if err := x.apply(proto.OpCreate, x.createTxn(path, data, openList, false)); err != proto.OK {
		x.tb.Fatal(path, err)
	}
}

// ephemeral creates an ephemeral of x.session.
func (x *txns) ephemeral(path string) {
	if err := x.apply(proto.OpCreate, x.createTxn(path, nil, openList, true)); err != proto.OK {
		x.tb.Fatal(path, err)
	}
}

func (x *txns) createTxn(path string, data []byte, acl []proto.ACL, ephemeral bool) *proto.CreateTxn {
	parentPath, _ := paths.Split([]byte(path))
	parent := x.s.Lookup(parentPath)
	require.NotZero(x.tb, parent, path)
	return &proto.CreateTxn{
		Path: proto.Text(path), Data: data, Acl: acl, Ephemeral: ephemeral,
		ParentCVersion: x.s.Node(parent).Cversion + 1,
	}
}

func (x *txns) node(path string) Node {
	id := x.s.Lookup([]byte(path))
	require.NotZero(x.tb, id, path)
	return x.s.Node(id)
}

func (x *txns) data(path string) string { return string(x.s.Data(x.s.Lookup([]byte(path)))) }

func multiTxn(subs ...proto.SubTxn) *proto.MultiTxn { return &proto.MultiTxn{Txns: subs} }

func sub(op proto.OpCode, body txnRecord) proto.SubTxn {
	return proto.SubTxn{Type: op, Data: body.AppendTo(nil)}
}
