package flow

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// ApplyBatch holds committed txns, in the order of their zxids, and the answers that belong between them.
type ApplyBatch struct {
	Bytes   int64      // of payloads
	Last    proto.Zxid // of its last txn; 0 if there is none
	Items   []Item
	Create2 []int32 // indexes of operations of multis that are answered as create2

	Agreed int64 // when its txns were known to be committed, ns on the server's clock; 0 if that is not measured
	Legs   []Leg // the ways of its txns to the log, as far as they were measured, in the order of zxids
}

// Leg is the way of successive txns to the log of this server. Times are ns on the server's clock.
type Leg struct {
	Last   proto.Zxid // of the txns
	Asked  int64      // when the log was asked to make them durable; a leader sends them to learners at the same time
	Logged int64      // when the host knew that they are durable; 0 if it did not yet
}

// LegOf returns the leg of a txn; the zero value if none was measured.
func (b *ApplyBatch) LegOf(z proto.Zxid) Leg {
	for i := range b.Legs {
		if z <= b.Legs[i].Last {
			return b.Legs[i]
		}
	}
	return Leg{}
}

// Reset empties the batch for reuse.
func (b *ApplyBatch) Reset() {
	clear(b.Items)
	b.Items, b.Create2, b.Bytes, b.Last = b.Items[:0], b.Create2[:0], 0, 0
	b.Legs, b.Agreed = b.Legs[:0], 0
}

// Add appends a request. payload is its txn; nil if it became none. create2 holds the indexes of those operations of
// a multi that are answered as create2.
func (b *ApplyBatch) Add(it *Item, payload []byte, create2 []int32) {
	b.Items = append(b.Items, *it)
	if payload == nil {
		return
	}
	added := &b.Items[len(b.Items)-1]
	added.Payload = payload
	b.Bytes += int64(len(payload))
	if len(create2) > 0 {
		added.Create2 = NewSpan(len(b.Create2), len(create2))
		b.Create2 = append(b.Create2, create2...)
	}
}

// Item is one request after it was prepared: the txn that it became, if any, and the client that gets the answer.
type Item struct {
	Client   Client // nil if no client of this server waits
	Session  *sessions.Session
	Received int64  // when the request was read, ns on the server's clock
	Taken    int64  // when the role began with it; 0 if that was not measured
	Payload  []byte // the txn; nil if the request did not become one
	Create2  Span   // of ApplyBatch.Create2, for a multi
	Xid      int32
	Op       proto.OpCode
	Err      proto.ErrCode // the answer if there is no payload
	Drop     bool          // the connection is closed without an answer
	// Forwarded says that another server leads and has got the request from this one.
	Forwarded bool
}

// Became reports whether the txn with this header is the one that the request became.
func (it *Item) Became(h *proto.TxnHeader) bool {
	return h.Cxid == it.Xid && it.Session != nil && h.ClientID == it.Session.ID &&
		(h.Type == it.Op || h.Type == proto.OpError)
}
