package host

import (
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// agreement decides on the order of txns: a zab.Core in an ensemble, type alone on a standalone server. The methods
// are those of zab.Core. Only the host goroutine calls them.
type agreement interface {
	Step(m zab.Message)
	Tick()
	Persisted(seq zab.Seq)
	Take() zab.Output

	NextZxid() proto.Zxid
	Propose(txns ...zab.Txn) error
	Sync(link zab.LinkID, token uint64) error
	Renew()
	HandOver(stop bool)
	Unfit(id proto.ServerID, unfit bool)
	FitQuorum() bool
	FitSuccessor() bool

	Accept(port zab.Port) zab.LinkID
	LinkUp(id zab.LinkID)
	LinkDown(id zab.LinkID)
	Heard(id zab.LinkID)
	Streamed(id zab.LinkID, upTo proto.Zxid)
	Answer(id zab.LinkID, token uint64)
	PeerUp(id proto.ServerID)

	Ensembles() (active, next *zab.Ensemble)
	Ready(next *zab.Ensemble) bool
	Learners(all []zab.Learner) []zab.Learner
	Strangers() []zab.Stranger
	Syncing() (snaps, diffs int)
}

// alone is the agreement of a standalone server: a txn is agreed on when the log of this server has it. It leads
// and serves from the start. Zxids continue after the last one in the database, without a new epoch, as with
// ZooKeeper. It has no links, so the methods of agreement that are about links do nothing. Owned by the host
// goroutine.
//
// Invariant: delivered <= durable <= handedOut <= last. txns holds the txns in (delivered, last].
type alone struct {
	id       proto.ServerID
	ensemble *zab.Ensemble

	last, handedOut, durable, delivered proto.Zxid
	txns                                []zab.Txn // elements of the array are written once and never again
	writes                              []aloneWrite
	seq                                 zab.Seq
	syncs                               []aloneSync
	pause                               alonePause
	// idle is called when nothing is on its way to the log or to the state.
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
func newAlone(id proto.ServerID, ensemble *zab.Ensemble, last proto.Zxid) *alone {
	return &alone{id: id, ensemble: ensemble, last: last, handedOut: last, durable: last, delivered: last}
}

// NextZxid implements agreement.
func (a *alone) NextZxid() proto.Zxid { return a.last + 1 }

// Propose implements agreement.
func (a *alone) Propose(txns ...zab.Txn) error {
	switch {
	case a.pause >= alonePauses:
		return zab.ErrNotLeading
	case a.pause == aloneDrains || len(a.txns)+len(txns) > aloneInFlightMax:
		return zab.ErrBusy
	}
	a.txns = append(a.txns, txns...)
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

// Persisted implements agreement.
func (a *alone) Persisted(seq zab.Seq) {
	n := 0
	for n < len(a.writes) && a.writes[n].seq <= seq {
		a.durable = a.writes[n].last
		n++
	}
	a.writes = slices.Delete(a.writes, 0, n)
}

// Take implements agreement. The slices of the Output are valid until the next call, except those of txns, which
// never change.
func (a *alone) Take() zab.Output {
	out := &a.out
	out.Persist, out.Synced, out.Deliver = out.Persist[:0], out.Synced[:0], nil
	if i := a.above(a.handedOut); i < len(a.txns) {
		a.write(zab.Persist{Append: a.txns[i:len(a.txns):len(a.txns)]}, a.last)
		a.handedOut = a.last
	}
	if i := a.above(a.durable); i > 0 {
		out.Deliver = a.txns[:i:i]
		a.delivered = out.Deliver[i-1].Zxid
		a.txns = a.txns[i:]
	}
	n := 0
	for n < len(a.syncs) && a.syncs[n].after <= a.delivered {
		out.Synced = append(out.Synced, a.syncs[n].token)
		n++
	}
	a.syncs = slices.Delete(a.syncs, 0, n)
	switch {
	case a.pause == aloneDrains && len(a.txns) == 0:
		a.pause = alonePauses
	case a.pause == alonePauses:
		a.pause = aloneReplaces
		a.idle()
	}
	out.Status = zab.Status{State: zab.Leading, Phase: zab.Broadcast, Leader: a.id, Master: a.id,
		Serving: a.pause < alonePauses,
		Stopped: a.stopping && len(a.txns) == 0}
	return *out
}

// write asks for a write after which all txns up to last are durable.
func (a *alone) write(p zab.Persist, last proto.Zxid) {
	a.seq++
	p.Seq, p.AcceptedEpoch, p.CurrentEpoch = a.seq, -1, -1
	a.out.Persist = append(a.out.Persist, p)
	a.writes = append(a.writes, aloneWrite{a.seq, last})
}

// above is the index of the first of txns with a zxid above z. The zxids have no gaps.
func (a *alone) above(z proto.Zxid) int {
	if len(a.txns) == 0 || z < a.txns[0].Zxid {
		return 0
	}
	return int(min(z-a.txns[0].Zxid+1, proto.Zxid(len(a.txns))))
}

// HandOver implements agreement. Txns that were proposed are finished first.
func (a *alone) HandOver(stop bool) { a.stopping = a.stopping || stop }

// Ensembles implements agreement.
func (a *alone) Ensembles() (active, next *zab.Ensemble) { return a.ensemble, nil }

// FitQuorum implements agreement.
func (a *alone) FitQuorum() bool { return true }

// The rest of agreement is about other servers.

func (*alone) Step(zab.Message)                         {}
func (*alone) Tick()                                    {}
func (*alone) Renew()                                   {}
func (*alone) Unfit(proto.ServerID, bool)               {}
func (*alone) FitSuccessor() bool                       { return false }
func (*alone) Accept(zab.Port) zab.LinkID               { return 0 }
func (*alone) LinkUp(zab.LinkID)                        {}
func (*alone) LinkDown(zab.LinkID)                      {}
func (*alone) Heard(zab.LinkID)                         {}
func (*alone) Streamed(zab.LinkID, proto.Zxid)          {}
func (*alone) Answer(zab.LinkID, uint64)                {}
func (*alone) PeerUp(proto.ServerID)                    {}
func (*alone) Ready(*zab.Ensemble) bool                 { return false }
func (*alone) Learners(all []zab.Learner) []zab.Learner { return all }
func (*alone) Strangers() []zab.Stranger                { return nil }
func (*alone) Syncing() (snaps, diffs int)              { return 0, 0 }
