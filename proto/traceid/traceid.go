// Package traceid computes the ids by which the spans of one operation find each other: those of its client, of the
// server that the client is connected to, of the leader, and of every server that logs the txn. The ids are not sent:
// the protocol of ZooKeeper has no place for them. They follow from what all of these know of the operation.
//
// The password of the session is the key, so an id tells nothing of the session to a reader of traces. A
// server can compute the password of each session, and a client is told that of its own.
//
// All functions are pure.
package traceid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/seed94657493/warren/proto"
)

// ID are the ids of one operation.
type ID struct {
	Trace [16]byte // of the trace
	Root  [8]byte  // of the span of the server that the client is connected to: the parent of all spans of servers
}

// Of returns the ids of the operation that the client of a session has sent with xid. A client that counts from the
// beginning again on a new connection gives two operations of its session the same ids.
func Of(session proto.SessionID, password [proto.PasswordSize]byte, xid int32) (id ID) {
	h := hmac.New(sha256.New, password[:])
	b := append(make([]byte, 0, 32), "warren trace 1\x00"...)
	b = binary.BigEndian.AppendUint64(b, uint64(session))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	h.Write(b)
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	copy(id.Trace[:], sum[:16])
	copy(id.Root[:], sum[16:24])
	return id
}
