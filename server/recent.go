package server

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// recentTxns keeps the newest txns of the log while it is replayed, for the core's window.
type recentTxns struct {
	txns  []zab.Txn // contiguous
	bytes int
	on    bool // a standalone server needs none
}

// Bounds of what is kept. They are the core's.
var (
	recentTxnsMax  = zab.DefaultLimits().WindowTxns
	recentBytesMax = zab.DefaultLimits().WindowBytes
)

// add keeps a txn, whose payload it copies.
func (r *recentTxns) add(z proto.Zxid, payload []byte) {
	if !r.on {
		return
	}
	if n := len(r.txns); n > 0 && !follows(r.txns[n-1].Zxid, z) {
		if z == r.txns[n-1].Zxid {
			return // Java repeats itself
		}
		r.txns, r.bytes = r.txns[:0], 0 // the window has no gap
	}
	r.txns = append(r.txns, zab.Txn{Zxid: z, Payload: append([]byte(nil), payload...)})
	r.bytes += len(payload)
	if len(r.txns) > 2*recentTxnsMax || r.bytes > recentBytesMax {
		r.shrink()
	}
}

// shrink drops the oldest txns, and so many of them that it is seldom called: it copies the others.
func (r *recentTxns) shrink() {
	drop := 0
	for len(r.txns)-drop > recentTxnsMax || r.bytes > recentBytesMax/2 {
		r.bytes -= len(r.txns[drop].Payload)
		drop++
	}
	r.txns = append([]zab.Txn(nil), r.txns[drop:]...)
}

// follows reports whether z may directly follow last. Source: quorum-protocol 15.2.
func follows(last, z proto.Zxid) bool {
	if z.Epoch() == last.Epoch() {
		return z == last+1
	}
	return z.Epoch() > last.Epoch() && z.Counter() == 1
}

// take returns the window that ends at last and what precedes it, and forgets it.
func (r *recentTxns) take(last proto.Zxid) (window []zab.Txn, before proto.Zxid) {
	window = r.txns
	r.txns, r.bytes = nil, 0
	if n := len(window); n < 2 || window[n-1].Zxid != last {
		return nil, last
	}
	// The first one only says what precedes the others.
	return window[1:], window[0].Zxid
}
