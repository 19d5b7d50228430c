package snapshot

import "github.com/seed94657493/warren/proto"

// Source produces the body of a snapshot in slices, parents before children, the terminator
// last. datatree.Walker is one, with its lock taken around each call.
type Source interface {
	// Next appends the next slice to b, whole records only. The slice's size is the source's
	// choice: it bounds the memory of the writer and how long the source holds its lock. After
	// done the body is complete; Next is not called again.
	Next(b []byte) (out []byte, done bool)
	// End is called once after done and returns the tree's last zxid and its digest at this
	// moment, which may be later than the zxid that the snapshot is named for.
	End() (lastZxid proto.Zxid, digest int64)
}

// Sink receives the content of a snapshot: all sessions, then the ACL table, then all znodes, the root first with
// an empty path and every other znode after its parent. datatree.Loader is one. The arguments alias a buffer and
// are valid only during the call. An error ends the load and is returned, wrapped.
type Sink interface {
	Session(id proto.SessionID, timeoutMs int32) error
	ACL(key int64, acl []proto.ACL) error
	Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error
}

// Trailer is the part of a snapshot file after the body.
type Trailer struct {
	HasDigest     bool // of version 2 or later; a digest of version 1 is read and dropped
	DigestZxid    proto.Zxid
	DigestVersion int32
	Digest        int64

	HasLastZxid bool // written by 3.9 and later
	LastZxid    proto.Zxid

	// Ensemble is the identity of the ensemble that the snapshot comes from, 0 if the file does not say. It is in
	// the field dbid of the header, which ZooKeeper fills with -1 and does not read.
	Ensemble uint64
}

// Discard is a Sink that takes everything and keeps nothing.
var Discard Sink = discard{}

type discard struct{}

func (discard) Session(proto.SessionID, int32) error                   { return nil }
func (discard) ACL(int64, []proto.ACL) error                           { return nil }
func (discard) Node([]byte, []byte, int64, *proto.StatPersisted) error { return nil }
