package flow

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// RecentTxns keeps the newest txns of the log while it is replayed, for the window of the agreement. A nil RecentTxns
// keeps nothing. One goroutine uses it.
type RecentTxns struct {
	max   int
	txns  []zab.Txn // contiguous
	bytes int
}

// WindowTxns is how many txns the window of the agreement keeps at least, unless a simulation wants fewer.
var WindowTxns = zab.DefaultLimits().WindowTxns

// recentBytesMax bounds the kept txns, as in package zab.
var recentBytesMax = zab.DefaultLimits().WindowBytes

// NewRecentTxns returns a RecentTxns that keeps at least n txns, if the log has them.
func NewRecentTxns(n int) *RecentTxns { return &RecentTxns{max: n} }

// Add keeps a txn, whose payload it copies.
func (r *RecentTxns) Add(z proto.Zxid, payload []byte) {
	if r == nil {
		return
	}
	if n := len(r.txns); n > 0 && !follows(r.txns[n-1].Zxid, z) {
		if z == r.txns[n-1].Zxid {
			return // a log that ZooKeeper has written may repeat a txn
		}
		r.txns, r.bytes = r.txns[:0], 0 // the window has no gap
	}
	r.txns = append(r.txns, zab.Txn{Zxid: z, Payload: append([]byte(nil), payload...)})
	r.bytes += len(payload)
	if len(r.txns) > 2*r.max || r.bytes > recentBytesMax {
		r.shrink()
	}
}

// shrink drops the oldest txns. It copies the others, so it drops many at once.
func (r *RecentTxns) shrink() {
	drop := 0
	for len(r.txns)-drop > r.max || r.bytes > recentBytesMax/2 {
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

// Take returns the kept txns that end with last, and the zxid before the first of them. RecentTxns is empty
// afterwards.
func (r *RecentTxns) Take(last proto.Zxid) (window []zab.Txn, before proto.Zxid) {
	window = r.txns
	r.txns, r.bytes = nil, 0
	if n := len(window); n < 2 || window[n-1].Zxid != last {
		return nil, last
	}
	// The first one gives the zxid before the others.
	return window[1:], window[0].Zxid
}
