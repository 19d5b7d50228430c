package zab

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// counterMax is the counter that is never proposed: reaching it needs a new epoch. Source: quorum-protocol 1.4.
const counterMax = 0xffffffff

// epochMax is the first epoch that is never started: ACKEPOCH carries an epoch in 32 bits.
const epochMax = 0x7fffffff

// succeeds reports whether z may directly follow last in a history: the next counter of the same epoch, or the
// first of a later one. Source: quorum-protocol 15.2, log contiguity.
func succeeds(last, z proto.Zxid) bool {
	if z.Epoch() == last.Epoch() {
		return z == last+1 && z.Counter() != 0
	}
	return z.Epoch() > last.Epoch() && z.Counter() == 1
}

// window is the tail of a history: txns in order without gaps, and the zxid before them. The filled part of the
// backing array is never written again, so parts of it may be handed to other goroutines.
//
// Invariant: succeeds(before, txns[0]) unless before is anyZxid, and succeeds(txns[i], txns[i+1]).
type window struct {
	before proto.Zxid // the zxid just before the first
	txns   []Txn
	bytes  int // of all payloads
}

// Window returns how many txns the core keeps in memory, and the sum of the lengths of their payloads. They are within
// Limits once every txn is delivered and no learner needs more.
func (c *Core) Window() (txns, bytes int) { return len(c.log.window.txns), c.log.window.bytes }

// last returns the zxid of the newest txn, or before if the window is empty.
func (w *window) last() proto.Zxid {
	if n := len(w.txns); n > 0 {
		return w.txns[n-1].Zxid
	}
	return w.before
}

// add appends t, which must succeed the last one.
func (w *window) add(t Txn) {
	if !succeeds(w.last(), t.Zxid) {
		violated("window: %v does not succeed %v", t.Zxid, w.last())
	}
	w.push(t)
}

func (w *window) push(t Txn) {
	w.txns = append(w.txns, t)
	w.bytes += len(t.Payload)
}

// above returns the index of the first txn with a zxid above z.
func (w *window) above(z proto.Zxid) int {
	n := len(w.txns)
	if n == 0 || w.txns[n-1].Zxid <= z {
		return n
	}
	if w.txns[0].Zxid > z {
		return 0
	}
	// Within an epoch counters are consecutive, so the place is nearly always known without a search.
	if d := int64(w.txns[n-1].Zxid) - int64(z); d > 0 && d <= int64(n) && w.txns[n-int(d)].Zxid == z+1 {
		return n - int(d)
	}
	i, found := slices.BinarySearchFunc(w.txns, z, func(t Txn, z proto.Zxid) int { return cmp.Compare(t.Zxid, z) })
	if found {
		i++
	}
	return i
}

// between returns the txns in (after, upTo]. Read only; it may be kept.
func (w *window) between(after, upTo proto.Zxid) []Txn {
	i, j := w.above(after), w.above(upTo)
	if i >= j {
		return nil
	}
	return w.txns[i:j:j]
}

// holds reports whether the window holds the txn at z, or z is the zxid before it.
func (w *window) holds(z proto.Zxid) bool {
	if z == w.before {
		return true
	}
	i := w.above(z)
	return i > 0 && w.txns[i-1].Zxid == z
}

// cut forgets every txn above z. Later additions do not overwrite what other goroutines may still read.
func (w *window) cut(z proto.Zxid) {
	i := w.above(z)
	for _, t := range w.txns[i:] {
		w.bytes -= len(t.Payload)
	}
	w.txns = w.txns[:i:i]
	if i == 0 && z < w.before {
		w.before = z
	}
}

// reset empties the window; the next txn must succeed z.
func (w *window) reset(z proto.Zxid) { *w = window{before: z} }

// trim forgets the oldest txns until the window is within both limits, but none above keep.
func (w *window) trim(txnsMax, bytesMax int, keep proto.Zxid) {
	n := 0
	for n < len(w.txns) && (len(w.txns)-n > txnsMax || w.bytes > bytesMax) && w.txns[n].Zxid <= keep {
		w.before = w.txns[n].Zxid
		w.bytes -= len(w.txns[n].Payload)
		n++
	}
	w.txns = w.txns[n:]
}
