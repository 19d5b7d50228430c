package flow

import (
	"encoding/binary"
	"math"

	"github.com/seed94657493/warren/proto"
)

// TxnTime is the time in the header of a txn, ms since 1970. The payload has a header: peers and the log have
// checked it.
func TxnTime(payload []byte) int64 { return HeaderOf(payload).Time }

// SenderOf is the session and the xid in the header of a txn: its first two fields.
func SenderOf(payload []byte) (proto.SessionID, int32) {
	return proto.SessionID(binary.BigEndian.Uint64(payload)), int32(binary.BigEndian.Uint32(payload[8:]))
}

// MoveXid is the xid of the txn which notes that a session has moved to another server.
const MoveXid int32 = math.MinInt32

// HeaderOf is the header of a txn.
func HeaderOf(payload []byte) (h proto.TxnHeader) {
	r := proto.NewReader(payload)
	h.Decode(&r)
	return h
}
