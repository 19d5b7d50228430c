package datatree

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

var errTxnType = errors.New("a txn of this type cannot be")

// txnScratch is what Apply decodes into. Its vectors keep their capacity, so that applying does not
// allocate.
type txnScratch struct {
	body     txnBody
	multi    proto.MultiTxn
	hasError bool // multi holds an error: it failed
	finder   Finder
	path     []byte
	// ephemeral is the path of a znode whose session ends; path may be that of one below it.
	ephemeral []byte
	stats     []byte // text of a stats node of a quota
	digestIn  DigestScratch
	fetched   uint64 // keeps the compiler from leaving out the reads of fetchOwned
}

// txnBody is the body of a txn of any type but multi; fields that the type does not have are zero.
// Everything aliases the payload.
type txnBody struct {
	op             proto.OpCode
	path           proto.Text
	data           []byte
	acl            []proto.ACL
	owner          bool // create: the session owns the znode
	parentCversion int32
	countsUp       bool // create before 3.4: parentCversion is one more than the parent has
	ttl            int64
	version        int32 // setData: of the data; setACL: of the ACL; check: unused
	err            proto.ErrCode
	timeoutMs      int32
	paths          []proto.Text

	// For the capacity of their vectors.
	create    proto.CreateTxn
	createV0  proto.CreateTxnV0
	container proto.CreateContainerTxn
	createTTL proto.CreateTTLTxn
	setACL    proto.SetACLTxn
	close     proto.CloseSessionTxn
}

// decode decodes the body of a txn. For a multi it decodes every element once before any is applied: then it is
// known that all can be decoded, and whether one is an error.
func (t *txnScratch) decode(op proto.OpCode, r *proto.Reader) error {
	if op != proto.OpMulti {
		return t.body.decode(op, r)
	}
	t.multi.Decode(r)
	if err := r.Err(); err != nil {
		return err
	}
	t.hasError = false
	for i := range t.multi.Txns {
		sub := &t.multi.Txns[i]
		if err := t.body.decodeSub(sub); err != nil {
			return fmt.Errorf("element %d (%v): %w", i, sub.Type, err)
		}
		t.hasError = t.hasError || sub.Type == proto.OpError
	}
	return nil
}

// decodeSub decodes an element of a multi. Source: storage 3.2.
func (b *txnBody) decodeSub(sub *proto.SubTxn) error {
	switch sub.Type {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete,
		proto.OpDeleteContainer, proto.OpSetData, proto.OpCheck, proto.OpError:
		r := proto.NewReader(sub.Data)
		return b.decode(sub.Type, &r)
	}
	return errTxnType
}

func (b *txnBody) decode(op proto.OpCode, r *proto.Reader) error {
	b.op = op
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		b.decodeCreate(op, r)
	case proto.OpCreateContainer:
		c := &b.container
		c.Decode(r)
		b.path, b.data, b.acl, b.parentCversion, b.owner, b.countsUp = c.Path, c.Data, c.Acl,
			c.ParentCVersion, false, false
	case proto.OpCreateTTL:
		c := &b.createTTL
		c.Decode(r)
		b.path, b.data, b.acl, b.parentCversion, b.owner, b.countsUp = c.Path, c.Data, c.Acl,
			c.ParentCVersion, false, false
		b.ttl = c.Ttl
	case proto.OpDelete, proto.OpDeleteContainer:
		var d proto.DeleteTxn
		d.Decode(r)
		b.path = d.Path
	case proto.OpSetData, proto.OpReconfig:
		var d proto.SetDataTxn
		d.Decode(r)
		b.path, b.data, b.version = d.Path, d.Data, d.Version
	case proto.OpSetACL:
		b.setACL.Decode(r)
		b.path, b.acl, b.version = b.setACL.Path, b.setACL.Acl, b.setACL.Version
	case proto.OpCheck:
		var c proto.CheckVersionTxn
		c.Decode(r)
		b.path = c.Path
	case proto.OpCreateSession:
		b.timeoutMs = r.Int32()
	case proto.OpCloseSession:
		b.decodeCloseSession(r)
	case proto.OpError:
		b.err = proto.ErrCode(r.Int32())
	default:
		return errTxnType
	}
	return r.Err()
}

// decodeCreate decodes the body of create and create2. A create that is too short is one of a
// server before 3.4, which wrote no parentCVersion. Source: storage 3.2.
func (b *txnBody) decodeCreate(op proto.OpCode, r *proto.Reader) {
	again := *r
	c := &b.create
	c.Decode(r)
	b.path, b.data, b.acl, b.owner, b.parentCversion = c.Path, c.Data, c.Acl, c.Ephemeral, c.ParentCVersion
	b.countsUp = false
	if r.Err() == nil || op != proto.OpCreate {
		return
	}
	*r = again
	v0 := &b.createV0
	v0.Decode(r)
	b.path, b.data, b.acl, b.owner, b.countsUp = v0.Path, v0.Data, v0.Acl, v0.Ephemeral, true
}

// decodeCloseSession decodes the body of closeSession. Without a list each server deletes the znodes that it
// knows to belong to the session.
func (b *txnBody) decodeCloseSession(r *proto.Reader) {
	b.paths = nil
	if b.close.DecodeList(r) {
		b.paths = b.close.Paths2Delete
	}
}

// WithoutDigest returns the part of a txn before the digest, if it has one, else all of it. It does not change the
// txn.
func WithoutDigest(txn []byte) []byte {
	var (
		t txnScratch
		h proto.TxnHeader
	)
	r := proto.NewReader(txn)
	h.Decode(&r)
	if r.Err() != nil || t.decode(h.Type, &r) != nil || !digestFollows(h.Type, &r) {
		return txn
	}
	return txn[:len(txn)-r.Len()]
}

// digestFollows reports whether there is a digest after the body. Source: storage 3.3.
func digestFollows(op proto.OpCode, r *proto.Reader) bool {
	return op != proto.OpError && r.Len() >= proto.TxnDigestSize
}

// digest decodes the digest after the body; ok is false if there is none to compare with. Bytes after a digest
// are ignored. Source: storage 3.3.
func (t *txnScratch) digest(op proto.OpCode, r *proto.Reader) (digest int64, ok bool) {
	if !digestFollows(op, r) {
		return 0, false
	}
	var d proto.TxnDigest
	d.Decode(r)
	return d.TreeDigest, d.Version == proto.DigestVersion
}
