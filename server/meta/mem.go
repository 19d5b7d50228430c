package meta

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Mem is a Store in memory that crashes like a disk, for simulations. Use NewMem.
type Mem struct {
	ledger
	d *memDisk
}

// memDisk is the part of a Mem that survives a crash.
type memDisk struct {
	mu struct {
		sync.Mutex
		rec       record
		snapshots map[string]Snapshot
		tmp       *int64 // the content of currentEpoch.tmp
		failure   error  // of the next change
		survives  bool   // the failing change is there after the crash
	}
}

// NewMem returns an empty Store of the server called id, with a random identity.
func NewMem(id proto.ServerID) *Mem {
	m := &Mem{d: &memDisk{}}
	m.d.mu.rec = newRecord(id, time.Now())
	m.d.mu.snapshots = map[string]Snapshot{}
	return m.Again()
}

// Again returns the Store that a server finds that starts on the same disk. What another server still does through m
// counts until m is closed.
func (m *Mem) Again() *Mem {
	again := &Mem{d: m.d}
	again.Crash()
	return again
}

// Copy returns the Store of a copy of the disk, as it is now.
func (m *Mem) Copy() *Mem {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	c := &Mem{d: &memDisk{}}
	c.d.mu.rec, c.d.mu.snapshots = m.d.mu.rec, maps.Clone(m.d.mu.snapshots)
	return c.Again()
}

func newRecord(id proto.ServerID, now time.Time) record {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return record{accepted: unset, current: unset, identity: Identity{
		ServerID: id, Instance: hex.EncodeToString(b[:]), CreatedMs: now.UnixMilli()}}
}

// FailNext makes the next change fail with err, as on a disk that breaks or loses power. If it survives, Crash
// keeps it all the same. Changes after it fail too, unless err is vfs.ErrNoSpace.
func (m *Mem) FailNext(err error, survives bool) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.d.mu.failure, m.d.mu.survives = err, survives
}

// Crash gives m the state that a server finds after a loss of power: all durable changes, and nothing else. It
// also undoes Close.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.d.mu.failure = nil
	m.init(m.d, m.d.mu.rec, maps.Clone(m.d.mu.snapshots))
	m.mu.broken = nil
	m.elsewhere = len(m.mu.snapshots) == 0
}

// LeaveTmp creates a currentEpoch.tmp, as a crash of a Java server does.
func (m *Mem) LeaveTmp(epoch int64) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.d.mu.tmp = &epoch
}

// LoseSnapshots empties the catalogue, which is allowed to be lost.
func (m *Mem) LoseSnapshots() {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	clear(m.d.mu.snapshots)
}

// change makes the change of fn, unless it has to fail and does not survive that.
func (d *memDisk) change(fn func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.mu.failure
	if err == nil || d.mu.survives {
		fn()
	}
	d.mu.failure, d.mu.survives = nil, false
	return err
}

func (d *memDisk) save(_, next *record) error { return d.change(func() { d.mu.rec = *next }) }

func (d *memDisk) put(entry *Snapshot, gone ...string) error {
	return d.change(func() {
		for _, name := range gone {
			delete(d.mu.snapshots, name)
		}
		if entry != nil {
			d.mu.snapshots[entry.Name] = *entry
		}
	})
}

func (d *memDisk) leftover() (int64, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.tmp == nil {
		return 0, false, nil
	}
	return *d.mu.tmp, true, nil
}

func (d *memDisk) close() error { return nil }
