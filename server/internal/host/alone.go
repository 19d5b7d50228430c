package host

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// agreement decides on the order of txns: a zab.Core in an ensemble, type alone on a standalone server. The methods
// are those of zab.Core. What only a member of an ensemble is asked is asked of Host.member. Only the host goroutine
// calls them.
type agreement interface {
	// Take returns what is to be done, valid until the next call.
	Take() zab.Output
	// Persisted says that the writes up to seq are durable.
	Persisted(seq zab.Seq)
	// Serves reports whether clients may be served. NextZxid, Propose and Sync are for a server that leads.
	Serves() bool
	NextZxid() proto.Zxid
	Propose(txns ...zab.Txn) error
	Sync(link zab.LinkID, token uint64) error
	// HandOver ends the leadership, and with stop the part in the agreement.
	HandOver(stop bool)
}

// alone is the agreement of a standalone server: a txn is agreed on when the log of this server has it. It leads
// and serves from the start. Zxids continue after the last one in the database, without a new epoch, as with
// ZooKeeper. Owned by the host goroutine.
//
// Invariant: delivered <= durable <= handedOut <= last. txns holds the txns in (delivered, last].
//
// The slices of txns in an Output are parts of that ring, or of joined, so an element is used again for another txn,
// but not before the txn in it was delivered and Take is called again. The journal has finished with a txn before it
// reports that the txn is durable, and the host copies what is delivered.
type alone struct {
	id proto.ServerID

	last, handedOut, durable, delivered proto.Zxid
	txns                                txnRing
	given                               int       // txns at the front of txns that the last Output delivers
	joined                              []zab.Txn // memory for what is delivered and lies in two pieces of txns
	writes                              []aloneWrite
	seq                                 zab.Seq
	syncs                               []aloneSync
	pause                               alonePause
	// idle is called when nothing is on its way to the log, and all txns are handed to the state.
	idle     func()
	stopping bool
	out      zab.Output
}

// aloneWrite is a write of all txns up to last that is not durable yet.
type aloneWrite struct {
	seq  zab.Seq
	last proto.Zxid
}

// aloneSync is a sync that is answered when all txns up to after are delivered.
type aloneSync struct {
	token uint64
	after proto.Zxid
}

// alonePause says how far a standalone server has come in ending its service for a while.
type alonePause uint8

const (
	aloneServes   alonePause = iota
	aloneDrains              // txns that were proposed are finished, and no more are taken
	alonePauses              // the service has ended
	aloneReplaces            // idle was called
)

// aloneInFlightMax is how many txns may wait for the disk.
const aloneInFlightMax = 50_000

// newAlone returns the agreement of a standalone server. Its database ends with last.
func newAlone(id proto.ServerID, last proto.Zxid) *alone {
	return &alone{id: id, last: last, handedOut: last, durable: last, delivered: last}
}

func (a *alone) Serves() bool { return a.pause < alonePauses }

func (a *alone) NextZxid() proto.Zxid { return a.last + 1 }

func (a *alone) Propose(txns ...zab.Txn) error {
	switch {
	case a.pause >= alonePauses:
		return zab.ErrNotLeading
	case a.pause == aloneDrains || a.txns.len()+len(txns) > aloneInFlightMax:
		return zab.ErrBusy
	}
	a.txns.push(txns)
	a.last = txns[len(txns)-1].Zxid
	return nil
}

// Sync implements agreement. No other server could know more.
func (a *alone) Sync(_ zab.LinkID, token uint64) error {
	a.syncs = append(a.syncs, aloneSync{token, a.last})
	return nil
}

// Pause ends the service when all txns that were proposed are finished, and then calls idle. It returns false if
// there is a pause already. Resume ends the pause.
func (a *alone) Pause(idle func()) bool {
	if a.pause != aloneServes {
		return false
	}
	a.pause, a.idle = aloneDrains, idle
	return true
}

// Resume begins the service again. The database now ends with last, which is not below NextZxid()-1.
func (a *alone) Resume(last proto.Zxid) {
	a.last, a.handedOut, a.durable, a.delivered = last, last, last, last
	a.pause = aloneServes
}

func (a *alone) Persisted(seq zab.Seq) {
	n := 0
	for n < len(a.writes) && a.writes[n].seq <= seq {
		a.durable = a.writes[n].last
		n++
	}
	a.writes = slices.Delete(a.writes, 0, n)
}

// Take implements agreement. The slices of the Output are valid until the next call, except for those of a Persist,
// which are valid until it is durable.
func (a *alone) Take() zab.Output {
	out := &a.out
	out.Persist, out.Synced, out.Deliver = out.Persist[:0], out.Synced[:0], nil
	a.txns.pop(a.given)
	a.given = 0
	clear(a.joined) // as pop does
	for a.handedOut < a.last {
		txns := a.txns.from(int(a.handedOut-a.delivered), int(a.last-a.delivered))
		a.handedOut = txns[len(txns)-1].Zxid
		a.write(zab.Persist{Append: txns}, a.handedOut)
	}
	if a.delivered < a.durable {
		a.given = int(a.durable - a.delivered)
		out.Deliver = a.txns.from(0, a.given)
		if n := len(out.Deliver); n < a.given {
			a.joined = append(append(a.joined[:0], out.Deliver...), a.txns.from(n, a.given)...)
			out.Deliver = a.joined
		}
		a.delivered = a.durable
	}
	n := 0
	for n < len(a.syncs) && a.syncs[n].after <= a.delivered {
		out.Synced = append(out.Synced, a.syncs[n].token)
		n++
	}
	a.syncs = slices.Delete(a.syncs, 0, n)
	switch {
	case a.pause == aloneDrains && a.txns.len() == a.given:
		a.pause = alonePauses
	case a.pause == alonePauses:
		a.pause = aloneReplaces
		a.idle()
	}
	out.Status = zab.Status{State: zab.Leading, Phase: zab.Broadcast, Leader: a.id, Master: a.id,
		Serving: a.Serves(), Stopped: a.stopping && a.txns.len() == a.given}
	return *out
}

// write asks for a write after which all txns up to last are durable.
func (a *alone) write(p zab.Persist, last proto.Zxid) {
	a.seq++
	p.Seq, p.AcceptedEpoch, p.CurrentEpoch = a.seq, -1, -1
	a.out.Persist = append(a.out.Persist, p)
	a.writes = append(a.writes, aloneWrite{a.seq, last})
}

// HandOver implements agreement. Txns that were proposed are finished first.
func (a *alone) HandOver(stop bool) { a.stopping = a.stopping || stop }

// txnRing is a queue of txns in an array that is used again and again. It grows and does not shrink.
type txnRing struct {
	all      []zab.Txn // its length is a power of two, or 0
	first, n int       // index of the oldest txn, and number of txns
}

func (r *txnRing) len() int { return r.n }

// push adds txns at the end. When the array is full, push takes a new one, and slices of the old one stay as they
// are.
func (r *txnRing) push(txns []zab.Txn) {
	if r.n+len(txns) > len(r.all) {
		size := max(2*len(r.all), 64)
		for size < r.n+len(txns) {
			size *= 2
		}
		all := make([]zab.Txn, size)
		for n := 0; n < r.n; {
			n += copy(all[n:], r.from(n, r.n))
		}
		r.all, r.first = all, 0
	}
	for len(txns) > 0 {
		n := copy(r.all[(r.first+r.n)&(len(r.all)-1):], txns)
		r.n += n
		txns = txns[n:]
	}
}

// from returns the txns from the i-th oldest to the one before the j-th, or the first of them if they are not in one
// piece of memory. REQUIRES: 0 <= i < j <= len().
func (r *txnRing) from(i, j int) []zab.Txn {
	begin := (r.first + i) & (len(r.all) - 1)
	end := min(begin+j-i, len(r.all))
	return r.all[begin:end:end]
}

// pop removes the n oldest txns.
func (r *txnRing) pop(n int) {
	for n > 0 {
		gone := r.from(0, n)
		clear(gone) // a large payload is not kept until its place is used again
		r.first = (r.first + len(gone)) & (len(r.all) - 1)
		r.n -= len(gone)
		n -= len(gone)
	}
}
