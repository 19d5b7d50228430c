package datatree

import "github.com/seed94657493/warren/proto"

// Change is one visible effect of a txn, in the order in which watches must fire.
// Source: server-semantics 10.4.
type Change struct {
	// Type is EventNodeCreated, EventNodeDeleted or EventNodeDataChanged. A znode that is created
	// or deleted also changes the children of its parent; there is no separate Change for that.
	Type proto.EventType
	// Path is the znode's absolute path. It is valid during the call only.
	Path []byte
	// Zxid is the txn's.
	Zxid proto.Zxid
	// Owner is the znode's owner, which says whether it is a TTL znode. It is meaningless for EventNodeDataChanged.
	Owner proto.SessionID
	// ACL is the znode's at that moment; of a deleted znode, its last ACL.
	ACL ACLID
	// ParentACL is the parent's. It is meaningless for EventNodeDataChanged.
	ParentACL ACLID
}

// Sink receives the changes while they are applied, under the lock that Apply runs under. ACLs named in a Change
// are valid during the call.
type Sink interface {
	Changed(Change)
}

// Applied is the result of a txn.
type Applied struct {
	// Header is the txn's.
	Header proto.TxnHeader
	// Err is the error of the reply's header: the code of an error txn, or the error of applying the txn (only in
	// replay over a fuzzy snapshot). A failed multi has OK here; its errors are in its slots.
	Err proto.ErrCode
	// DigestMismatch is true if the txn carries a digest of the version that is computed here and
	// the tree has another one after it. Source: storage 7.3.
	DigestMismatch bool
	// DigestMatch is true if the txn carries such a digest and the tree has it.
	DigestMatch bool
}
