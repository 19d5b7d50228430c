package zab

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// Lineage is what a server durably knows about the origin of its history. Two servers compare their lineages
// before the vote of one counts for the other and before their histories are joined. So a directory that is old,
// copied or of another ensemble is detected. A Lineage does not change after it was made, so it may be shared.
// Source: adr 0012.
//
// A difference between two lineages proves that some disk does not hold what the ensemble wrote to it. Servers
// whose disks were never replaced have no difference, however often they crash. That rests on four facts of Zab:
//
//   - An epoch is led by one server, and the leader draws the mark of its epoch once.
//   - A leader sends NEWLEADER only after a quorum has promised its epoch. So once an epoch was established, the
//     history of every later epoch begins with it.
//   - For the same reason every later epoch begins after each txn that was committed before.
//   - An identity is handed from each epoch to the next one, and an identity is final only when an epoch that has
//     it was established.
//
// ZooKeeper servers hand on no identity: see span.
type Lineage struct {
	// Ensemble is the identity of the ensemble: a random number, 0 if it is not known. While Final is false, the
	// number is only what a leader prefers to drawing another one: the identity may be that of a leader which was
	// never established, or the last epoch was led by a ZooKeeper server. It gives way to any other one.
	Ensemble uint64
	Final    bool
	// Reigns are the newest epochs that this server has adopted, in ascending order. At most reignsMax are kept.
	Reigns []Reign
	// Settled is the end of the history that this server knows to be committed: a txn, or (epoch, 0) if that
	// epoch was established.
	Settled proto.Zxid
}

// Reign is one epoch of a history.
type Reign struct {
	Epoch  int64
	Leader proto.ServerID // -1 if not known
	Mark   uint64         // drawn by the leader; 0 if the leader speaks the Java protocol
	Base   proto.Zxid     // the last txn of the history that the epoch began with; 0 if Mark is 0
	// It is not known whether there were epochs between this one and the one before it in the list.
	Gap bool
}

// reignsMax bounds Lineage.Reigns. It is part of the wire and disk format: a reader refuses more.
const reignsMax = 64

const (
	lineageFormat = 1
	reignSize     = 8 + 8 + 8 + 8 + 1
	// LineageSizeMax is the largest size in bytes of an encoded Lineage.
	LineageSizeMax = 1 + 8 + 1 + 8 + 1 + reignsMax*reignSize
)

// ErrOtherLog means that a restore has begun a history, and the log of the one before is still there.
var ErrOtherLog = errors.New("it is the log of another history, and must be moved away")

// errLineage is wrapped by the errors of ParseLineage.
var errLineage = errors.New("zab: no lineage")

// AppendTo appends the encoding of the lineage, which meta.db and the messages between Warren servers carry:
// format, identity, final, settled, number of reigns, and for each reign epoch, leader, mark, base and gap. All
// numbers are big-endian.
func (l *Lineage) AppendTo(b []byte) []byte {
	b = append(b, lineageFormat)
	b = proto.AppendInt64(b, int64(l.Ensemble))
	b = proto.AppendBool(b, l.Final)
	b = proto.AppendInt64(b, int64(l.Settled))
	b = append(b, byte(len(l.Reigns)))
	for _, r := range l.Reigns {
		b = proto.AppendInt64(b, r.Epoch)
		b = proto.AppendInt64(b, int64(r.Leader))
		b = proto.AppendInt64(b, int64(r.Mark))
		b = proto.AppendInt64(b, int64(r.Base))
		b = proto.AppendBool(b, r.Gap)
	}
	return b
}

// ParseLineage reads the output of AppendTo; it must be all of b. An unknown format is an error, and so is a list
// that no server can have made.
func ParseLineage(b []byte) (*Lineage, error) {
	if len(b) < LineageSizeMax-reignsMax*reignSize || len(b) > LineageSizeMax {
		return nil, fmt.Errorf("%w: %d bytes", errLineage, len(b))
	}
	if b[0] != lineageFormat {
		return nil, fmt.Errorf("%w: format %d is unknown", errLineage, b[0])
	}
	r := proto.NewReader(b[1:])
	l := &Lineage{Ensemble: uint64(r.Int64()), Final: r.Bool(), Settled: proto.Zxid(r.Int64())}
	n := int(b[1+8+1+8])
	rest := b[1+8+1+8+1:]
	if n > reignsMax || len(rest) != n*reignSize {
		return nil, fmt.Errorf("%w: %d epochs in %d bytes", errLineage, n, len(rest))
	}
	r = proto.NewReader(rest)
	last := int64(0)
	for range n {
		g := Reign{Epoch: r.Int64(), Leader: proto.ServerID(r.Int64()), Mark: uint64(r.Int64()),
			Base: proto.Zxid(r.Int64()), Gap: r.Bool()}
		if g.Epoch <= last || g.Epoch >= epochMax || g.Base < 0 || g.Base.Epoch() >= g.Epoch && g.Base != 0 ||
			g.Leader < -1 {
			return nil, fmt.Errorf("%w: epoch %d after %d, led by %d from %v on", errLineage, g.Epoch,
				last, g.Leader, g.Base)
		}
		last = g.Epoch
		l.Reigns = append(l.Reigns, g)
	}
	if l.Settled < 0 || l.Settled.Epoch() > last {
		return nil, fmt.Errorf("%w: %v is settled, but the last epoch is %d", errLineage, l.Settled, last)
	}
	if l.Ensemble == 0 && l.Final {
		return nil, fmt.Errorf("%w: no identity, but it is final", errLineage)
	}
	return l, nil
}

// Empty reports whether nothing is known.
func (l *Lineage) Empty() bool { return l.Ensemble == 0 && len(l.Reigns) == 0 && l.Settled == 0 }

// Epoch returns the last epoch of the history, 0 if none is known.
func (l *Lineage) Epoch() int64 {
	if n := len(l.Reigns); n > 0 {
		return l.Reigns[n-1].Epoch
	}
	return 0
}

// base returns the last txn of the history that the last epoch began with.
func (l *Lineage) base() proto.Zxid {
	if n := len(l.Reigns); n > 0 {
		return l.Reigns[n-1].Base
	}
	return 0
}

// String returns a text for operators: the identity, the last epochs with their leaders, and the settled zxid.
func (l *Lineage) String() string {
	var b strings.Builder
	if l.Ensemble == 0 {
		b.WriteString("ensemble unknown")
	} else {
		fmt.Fprintf(&b, "ensemble %016x", l.Ensemble)
		if !l.Final {
			b.WriteString(" (not final)")
		}
	}
	const shown = 4
	if n := len(l.Reigns); n > 0 {
		fmt.Fprintf(&b, ", epochs")
		for _, r := range l.Reigns[max(0, n-shown):] {
			if r.Leader >= 0 {
				fmt.Fprintf(&b, " %d (led by %d)", r.Epoch, r.Leader)
			} else {
				fmt.Fprintf(&b, " %d", r.Epoch)
			}
		}
	} else {
		b.WriteString(", no epoch")
	}
	fmt.Fprintf(&b, ", committed up to at least %v", l.Settled)
	return b.String()
}

// equal reports whether both say the same.
func (l *Lineage) equal(other *Lineage) bool {
	return l.Ensemble == other.Ensemble && l.Final == other.Final && l.Settled == other.Settled &&
		slices.Equal(l.Reigns, other.Reigns)
}

// adopting returns the lineage of the history continued with the epoch of r.
func (l *Lineage) adopting(r Reign) *Lineage {
	next := *l
	next.Reigns = append(slices.Clone(l.Reigns), r)
	if n := len(next.Reigns) - reignsMax; n > 0 {
		dropped := next.Reigns[n-1]
		next.Reigns = next.Reigns[n:]
		if dropped.Mark == 0 || dropped.Gap && !dropped.begins() {
			next.Reigns[0].Gap = true // the identity is not known to reach back beyond this epoch
		}
	}
	return &next
}

// doubted returns the lineage with an identity that is not final.
func (l *Lineage) doubted() *Lineage {
	if !l.Final {
		return l
	}
	next := *l
	next.Final = false
	return &next
}

// knows reports whether it is known how the last epoch began, and with it the identity that the epoch had.
func (l *Lineage) knows() bool {
	n := len(l.Reigns)
	return n == 0 || l.Reigns[n-1].Mark != 0
}

// upTo returns the lineage of a history whose last epoch is e. If e is not in the list, it is not known how the
// history came to e.
func (l *Lineage) upTo(e int64) *Lineage {
	next := *l
	for n := len(next.Reigns); n > 0 && next.Reigns[n-1].Epoch > e; n-- {
		next.Reigns = next.Reigns[: n-1 : n-1]
	}
	if e > 0 && next.Epoch() != e {
		return next.adopting(Reign{Epoch: e, Leader: -1, Gap: true})
	}
	return &next
}

// common returns what holds of the history of l as well as of another one, which has the same txns up to those of
// epoch upTo: the epochs up to that one, and those that the lineage of the other history has, too. It ends with the
// same epoch as l, so that it is a lineage for the same currentEpoch.
func (l *Lineage) common(other *Lineage, upTo int64) *Lineage {
	next := *l
	next.Reigns = nil
	gap := false
	for _, r := range l.Reigns {
		if i, ok := other.reign(r.Epoch); r.Epoch > upTo && (!ok || other.Reigns[i] != r) {
			gap = true
			continue
		}
		r.Gap = r.Gap || gap
		next.Reigns, gap = append(next.Reigns, r), false
	}
	return next.upTo(l.Epoch())
}

// settled returns the lineage with the knowledge that all up to z is committed.
func (l *Lineage) settled(z proto.Zxid) *Lineage {
	if z <= l.Settled {
		return l
	}
	next := *l
	next.Settled = z
	return &next
}

// identified returns the lineage with an identity. A final identity is kept.
func (l *Lineage) identified(ensemble uint64, final bool) *Lineage {
	if l.Final || l.Ensemble == ensemble && l.Final == final || ensemble == 0 {
		return l
	}
	next := *l
	next.Ensemble, next.Final = ensemble, final
	return &next
}

// reign returns the index of an epoch in the list, or the index at which it would be inserted.
func (l *Lineage) reign(e int64) (i int, ok bool) {
	return slices.BinarySearchFunc(l.Reigns, e, func(r Reign, e int64) int { return cmp.Compare(r.Epoch, e) })
}

// passed reports whether the history of l has gone on without a txn or epoch that other knows to be committed. It
// returns the epoch of l that did so, and that txn or epoch. Everything that is committed when an epoch begins is
// in the histories of all later epochs, but not in those of the epochs between: a leader of one of those may have
// begun without it, and was never established.
func (l *Lineage) passed(other *Lineage) (epoch int64, without proto.Zxid, ok bool) {
	e := other.Settled.Epoch()
	i, has := l.reign(e)
	if has {
		i++
	}
	if e == 0 || i == len(l.Reigns) {
		return 0, 0, false // the history ends before, or in the same epoch
	}
	next, committed := &l.Reigns[i], other.Committed()
	switch {
	case next.Mark != 0 && next.Base < committed:
		return next.Epoch, committed, true // the next epoch began before it
	case !has && i > 0 && !next.Gap:
		return next.Epoch, other.Settled, true // the epoch was established, and is missing
	}
	return 0, 0, false
}

// Committed returns the last txn that is known to be committed, 0 if none is: when an epoch was established, the whole
// history that it began with is committed. The txn is durable wherever this lineage is, because a lineage is stored
// behind the txns that it speaks of.
func (l *Lineage) Committed() proto.Zxid {
	if l.Settled.Counter() != 0 {
		return l.Settled
	}
	if i, ok := l.reign(l.Settled.Epoch()); ok {
		return l.Reigns[i].Base
	}
	return 0
}

// unsettled returns the first epoch of the history in which this server is not known to have served, otherwise next.
func (l *Lineage) unsettled(next int64) int64 {
	for _, r := range l.Reigns {
		if r.Epoch > l.Settled.Epoch() && r.Leader >= 0 {
			return r.Epoch
		}
	}
	return next
}

// Begins reports whether an epoch of the history began directly after a txn, as far as is known: of an epoch that was
// led by a ZooKeeper server it is not known after which.
func (l *Lineage) Begins(epoch int64, after proto.Zxid) bool {
	i, ok := l.reign(epoch)
	return ok && (l.Reigns[i].Mark == 0 || l.Reigns[i].Base == after)
}

// Joins returns an error if txn next cannot come directly after txn last in this history, or after a snapshot at last.
// Where an epoch ends the zxids alone do not tell. Each epoch of the list that is no later than an established one is
// part of the history, and its base is the txn before it. A later one may give way to another, and the lineage may
// still name it when the log has the txns of the other already.
//
// An epoch that a restore has begun has no txns but the one for which its snapshot stands. Others are of the history
// before, whose log the restore has not found.
func (l *Lineage) Joins(last, next proto.Zxid) error {
	for i := range l.Reigns {
		r := &l.Reigns[i]
		switch {
		case r.begins() && r.Epoch == last.Epoch() && r.Epoch == next.Epoch():
			return fmt.Errorf("epoch %d began with a restore, and no server has led it, but the log has txn %v: %w",
				r.Epoch, next, ErrOtherLog)
		case r.Epoch > next.Epoch() || r.Epoch > l.Settled.Epoch():
			return nil
		case r.Epoch <= last.Epoch() || r.Mark == 0 || r.Base.Counter() == 0:
			continue
		case last < r.Base || last > r.Base && last.Counter() != 0: // ZooKeeper has snapshots at the start of an epoch
			return fmt.Errorf("txn %v comes after %v, but epoch %d began after %v", next, last, r.Epoch, r.Base)
		}
	}
	return nil
}

// shares reports whether both lineages say that both histories have the same txn at z: they went through its epoch, or
// through a later one that began with a history up to z or beyond.
func (l *Lineage) shares(other *Lineage, z proto.Zxid) bool {
	i, _ := l.reign(z.Epoch())
	for _, r := range l.Reigns[i:] {
		j, had := other.reign(r.Epoch)
		if had && r.Mark != 0 && r.Mark == other.Reigns[j].Mark && (r.Epoch == z.Epoch() || z <= r.Base) {
			return true
		}
	}
	return false
}

// goesOn reports whether the history of l contains the last epoch of other, and so continues where other ended.
func (l *Lineage) goesOn(other *Lineage) bool {
	if l == nil || len(other.Reigns) == 0 {
		return false
	}
	i, ok := l.reign(other.Epoch())
	if !ok {
		return false
	}
	was, is := other.Reigns[len(other.Reigns)-1], l.Reigns[i]
	was.Gap = is.Gap // a list that has become too long may say less
	return was == is
}

// begins reports whether a restore has begun a history in the epoch. No server has led it.
func (r *Reign) begins() bool { return r.Mark != 0 && r.Leader < 0 }

// span returns the epochs in which the history had the identity and no other one, as far as l can tell: all those
// from since to known that were established. An identity is handed on by leaders that keep a lineage. A ZooKeeper
// leader hands none on, and if no server of the quorum of the next leader remembers the identity, that leader draws
// another one. So an identity says nothing about the time before the last ZooKeeper leader. If there was none, since
// is 0.
func (l *Lineage) span() (since, known int64) {
	known = l.Settled.Epoch()
	i := len(l.Reigns)
	for i > 0 && l.Reigns[i-1].Mark == 0 {
		i-- // a standalone server has removed the marks, or what this server knew of the epoch was lost
	}
	for ; i > 0; i-- {
		switch r := &l.Reigns[i-1]; {
		case r.Mark == 0:
			return l.Reigns[i].Epoch, known
		case r.begins():
			return 0, max(known, r.Epoch)
		case r.Gap:
			return r.Epoch, known
		}
	}
	return 0, known
}

// precedes reports whether the identity of the other history is not known to be older than all that l knows.
func (l *Lineage) precedes(other *Lineage) bool {
	_, known := l.span()
	since, _ := other.span()
	return known < since
}

// Difference describes how the histories of two servers differ.
type Difference struct {
	// Foreign says that the servers belong to different ensembles. Otherwise the histories part in Epoch.
	Foreign bool
	// Unproven says that one of the two identities has begun after all that the other server knows. The histories are
	// those of two ensembles, or of one that ZooKeeper servers have led in the meantime, while every server that knows
	// the older identity was away. Only an operator can tell, so the servers take each other for strangers.
	Unproven bool
	Epoch    int64
	Text     string // the reason, for operators
}

// Differs compares two lineages. It returns nil if nothing shows that the histories differ. The order of the two
// changes only the text. A nil lineage, of a server that has none, differs from nothing.
func (l *Lineage) Differs(other *Lineage) *Difference {
	if l == nil || other == nil {
		return nil
	}
	if l.Final && other.Final && l.Ensemble != other.Ensemble {
		d := &Difference{Foreign: true, Unproven: l.precedes(other) || other.precedes(l),
			Text: fmt.Sprintf("ensemble %016x is not ensemble %016x", other.Ensemble, l.Ensemble)}
		if d.Unproven {
			d.Text += ", unless ZooKeeper servers have led from one to the other"
		}
		return d
	}
	first := int64(math.MaxInt64)
	text := ""
	note := func(e int64, format string, args ...any) {
		if e < first {
			first, text = e, fmt.Sprintf(format, args...)
		}
	}
	for i := range l.Reigns {
		a := &l.Reigns[i]
		j, ok := other.reign(a.Epoch)
		if !ok {
			continue
		}
		if b := &other.Reigns[j]; a.Mark != 0 && b.Mark != 0 && a.Mark != b.Mark ||
			a.Leader >= 0 && b.Leader >= 0 && a.Leader != b.Leader {
			note(a.Epoch, "epoch %d, led by %d, is not epoch %d, led by %d", b.Epoch, b.Leader, a.Epoch, a.Leader)
			break
		}
	}
	if e, z, ok := other.passed(l); ok {
		note(e, "epoch %d began without %v, which is committed here", e, z)
	}
	if e, z, ok := l.passed(other); ok {
		note(e, "epoch %d began here without %v, which is committed there", e, z)
	}
	if text == "" {
		return nil
	}
	return &Difference{Epoch: first, Text: text}
}
