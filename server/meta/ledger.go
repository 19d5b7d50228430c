package meta

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// disk holds the record and the catalogue of a ledger.
type disk interface {
	// save makes next durable in place of prev.
	save(prev, next *record) error
	// leftover returns the epoch in currentEpoch.tmp, which an interrupted write left.
	leftover() (epoch int64, ok bool, err error)
	// put records entry in the catalogue, unless it is nil, and forgets the names that are gone.
	put(entry *Snapshot, gone ...string) error
	close() error
}

// ledger is a Store over some disk: it holds the rules, and DB and Mem differ only in the disk.
type ledger struct {
	disk disk
	now  func() time.Time
	mu   struct {
		sync.Mutex
		rec       record // the durable record
		snapshots map[string]Snapshot
		broken    error // why no further change is possible
	}
	elsewhere bool
}

func (l *ledger) Elsewhere() bool { return l.elsewhere }

func (l *ledger) init(d disk, rec record, snapshots map[string]Snapshot) {
	l.disk, l.now = d, time.Now
	l.mu.rec, l.mu.snapshots = rec, snapshots
}

func (l *ledger) Epochs() Epochs {
	r := l.record()
	return r.epochs()
}

func (l *ledger) record() record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.rec
}

func (l *ledger) SetAccepted(epoch int64) error {
	return l.change("set acceptedEpoch", func(r *record) error {
		if epoch < r.epochs().Accepted {
			return fmt.Errorf("%w: accepted %d before, not %d", ErrEpoch, r.accepted, epoch)
		}
		r.accepted = epoch
		return nil
	})
}

func (l *ledger) SetCurrent(epoch int64, lineage string) error {
	return l.change("set currentEpoch", func(r *record) error {
		if e := r.epochs(); epoch < e.Current || epoch > e.Accepted {
			return fmt.Errorf("%w: current %d and accepted %d before, not %d", ErrEpoch, e.Current, e.Accepted, epoch)
		}
		r.current = epoch
		if lineage != "" {
			r.lineage = lineage
		}
		return nil
	})
}

func (l *ledger) Lineage() string { return l.record().lineage }

func (l *ledger) SetLineage(lineage string) error {
	return l.set("set lineage", func(r *record) { r.lineage = lineage })
}

func (l *ledger) Blank() bool { return l.record().blank }

func (l *ledger) SetBlank(blank bool) error {
	return l.set("set the mark of a blank server", func(r *record) { r.blank = blank })
}

func (l *ledger) SetConfig(c Config) error {
	return l.set("set configuration", func(r *record) { r.config, r.hasConfig = c, true })
}

func (l *ledger) SessionBase() int64 { return l.record().sessionBase }

func (l *ledger) SetSessionBase(base int64) error {
	return l.set("set the base of session ids", func(r *record) { r.sessionBase = max(r.sessionBase, base) })
}

func (l *ledger) Addresses() map[string][]string { return parseAddresses(l.record().addresses) }

func (l *ledger) SetAddresses(addresses map[string][]string) error {
	return l.set("set addresses", func(r *record) { r.addresses = formatAddresses(addresses) })
}

// set is change by a function that refuses nothing.
func (l *ledger) set(what string, fn func(*record)) error {
	return l.change(what, func(r *record) error {
		fn(r)
		return nil
	})
}

func (l *ledger) Reconcile(last proto.Zxid) (Epochs, error) {
	err := l.change("reconcile epochs", func(r *record) error { return r.reconcile(last, l.disk.leftover) })
	return l.Epochs(), err
}

// reconcile sets the epochs that were never set, and checks them against the end of the log. leftover is that of disk.
func (r *record) reconcile(last proto.Zxid, leftover func() (epoch int64, ok bool, err error)) error {
	epoch := last.Epoch()
	if r.current == unset {
		r.current = epoch
	}
	if epoch > r.current && !(r.accepted != unset && epoch <= r.accepted) {
		// The crash came between a snapshot or log of the new epoch and the rename. If the epoch was accepted, the
		// server has logged a part of its history and not yet adopted the rest: then package zab decides.
		tmp, ok, err := leftover()
		switch {
		case err != nil:
			return fmt.Errorf("%w: currentEpoch is %d, the last zxid %v, and %w", ErrEpoch, r.current, last, err)
		case !ok || tmp < epoch:
			return fmt.Errorf("%w: currentEpoch is %d but the last zxid is %v", ErrEpoch, r.current, last)
		}
		r.current = tmp
	}
	if r.accepted == unset {
		r.accepted = epoch
	}
	if r.accepted < r.current {
		return fmt.Errorf("%w: acceptedEpoch %d is below currentEpoch %d", ErrEpoch, r.accepted, r.current)
	}
	return r.credible()
}

// EpochLeap is more elections than a server misses, or holds in vain.
const EpochLeap = 1 << 20

// credible returns an error if acceptedEpoch is so far above currentEpoch that one of them must be damaged. A server
// with such a promise would stay outside, or, as a leader, take the epochs of all others with it.
func (r *record) credible() error {
	if r.current > 0 && r.accepted-r.current > EpochLeap {
		return fmt.Errorf("%w: acceptedEpoch %d is too far above currentEpoch %d: one of the two is damaged", ErrEpoch,
			r.accepted, r.current)
	}
	return nil
}

// change lets fn change a copy of the record and makes it durable.
func (l *ledger) change(what string, fn func(*record) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.broken != nil {
		return l.mu.broken
	}
	next := l.mu.rec
	if err := fn(&next); err != nil {
		return err
	}
	if next == l.mu.rec {
		return nil
	}
	if err := l.disk.save(&l.mu.rec, &next); err != nil {
		return l.fail(what, err)
	}
	l.mu.rec = next
	return nil
}

// fail requires mu. A full disk has changed nothing that matters: meta.db may hold a promise beyond the record,
// but no other server was told of it.
func (l *ledger) fail(what string, err error) error {
	err = fmt.Errorf("meta: %s: %w", what, err)
	if !errors.Is(err, vfs.ErrNoSpace) {
		l.mu.broken = err
	}
	return err
}

func (l *ledger) Identity() Identity { return l.record().identity }

func (l *ledger) Config() (Config, bool) {
	r := l.record()
	return r.config, r.hasConfig
}

func (l *ledger) Snapshot(name string) (size int64, checksum uint32, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Catalogue(l.mu.snapshots).Snapshot(name)
}

func (l *ledger) SnapshotOf(size int64, checksum uint32) (zxid proto.Zxid, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Catalogue(l.mu.snapshots).SnapshotOf(size, checksum)
}

func (l *ledger) PutSnapshot(name string, zxid proto.Zxid, size int64, checksum uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.broken != nil {
		return l.mu.broken
	}
	s := Snapshot{Name: name, Zxid: zxid, Size: size, Checksum: checksum, VerifiedMs: l.now().UnixMilli()}
	gone := l.surplus(name)
	if err := l.disk.put(&s, gone...); err != nil {
		return l.fail("record "+name, err)
	}
	l.mu.snapshots[name] = s
	for _, old := range gone {
		delete(l.mu.snapshots, old)
	}
	return nil
}

// snapshotsMax bounds the catalogue. Nobody tells the server about files that an operator removes, by zkCleanup.sh for
// one, and every change of meta.db reads all of it.
const snapshotsMax = 1000

// surplus returns the oldest snapshots that have to go so that there is room for name. Requires mu.
func (l *ledger) surplus(name string) (gone []string) {
	n := len(l.mu.snapshots) - snapshotsMax
	if _, known := l.mu.snapshots[name]; !known {
		n++
	}
	if n <= 0 {
		return nil
	}
	for _, s := range slices.Backward(l.sorted()) {
		if s.Name != name && len(gone) < n {
			gone = append(gone, s.Name)
		}
	}
	return gone
}

func (l *ledger) DropSnapshot(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.broken != nil {
		return l.mu.broken
	}
	if _, ok := l.mu.snapshots[name]; !ok {
		return nil
	}
	if err := l.disk.put(nil, name); err != nil {
		return l.fail("forget "+name, err)
	}
	delete(l.mu.snapshots, name)
	return nil
}

func (l *ledger) Snapshots() []Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sorted()
}

// sorted requires mu.
func (l *ledger) sorted() []Snapshot {
	return slices.SortedFunc(maps.Values(l.mu.snapshots), func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Zxid, a.Zxid), cmp.Compare(a.Name, b.Name))
	})
}

func (l *ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.broken == ErrClosed {
		return nil
	}
	l.mu.broken = ErrClosed
	return l.disk.close()
}
