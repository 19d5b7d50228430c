package backup

import "github.com/seed94657493/warren/proto"

// txnDigest returns the digest of the tree that a txn carries, of the version that is computed here. Error txns have
// none. Source: storage 3.2, 3.3 and 7.2.
func txnDigest(payload []byte) (digest int64, ok bool) {
	var h proto.TxnHeader
	in := proto.NewReader(payload)
	h.Decode(&in)
	skipBody(h.Type, &in)
	if in.Err() != nil || in.Len() < proto.TxnDigestSize {
		return 0, false
	}
	var d proto.TxnDigest
	d.Decode(&in)
	return d.TreeDigest, d.Version == proto.DigestVersion
}

// skipBody steps behind the body of a txn; of one that it does not know it takes everything.
func skipBody(op proto.OpCode, in *proto.Reader) {
	var body interface{ Decode(*proto.Reader) }
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		body = new(proto.CreateTxn)
	case proto.OpCreateContainer:
		body = new(proto.CreateContainerTxn)
	case proto.OpCreateTTL:
		body = new(proto.CreateTTLTxn)
	case proto.OpDelete, proto.OpDeleteContainer:
		body = new(proto.DeleteTxn)
	case proto.OpSetData, proto.OpReconfig:
		body = new(proto.SetDataTxn)
	case proto.OpSetACL:
		body = new(proto.SetACLTxn)
	case proto.OpCheck:
		body = new(proto.CheckVersionTxn)
	case proto.OpCreateSession:
		body = new(proto.CreateSessionTxn)
	case proto.OpCloseSession:
		new(proto.CloseSessionTxn).DecodeList(in)
		return
	case proto.OpMulti:
		body = new(proto.MultiTxn)
	default:
		body = new(proto.ErrorTxn)
	}
	body.Decode(in)
}
