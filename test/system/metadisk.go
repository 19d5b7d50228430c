package system

import (
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/wal/vfs"
)

// promises is the meta.db of a server, on its disk: a change takes time, and fails when the disk fails or has no
// room. A process that is killed during a change finds it afterwards, or not.
type promises struct {
	*meta.Mem
	d *disk
	h *host
}

var _ meta.Store = promises{}

// store returns the meta.db for a process.
func (d *disk) store(h *host) meta.Store { return promises{d.meta, d, h} }

// change makes one change.
func (p promises) change(fn func() error) error {
	d := p.d
	d.s.note(p.h.p, "meta")
	p.h.sleep(d.s.between(20*time.Microsecond, d.slow)) // killed here, the change is not there
	switch {
	case d.bad:
		p.FailNext(errBroken, d.s.chance(50))
	case d.full && d.s.chance(50):
		p.FailNext(vfs.ErrNoSpace, false)
	}
	err := fn()
	if d.s.chance(20) {
		p.h.sleep(d.s.between(0, d.slow)) // killed here, it is there, and the server has not heard of it
	}
	return err
}

// SetAccepted implements meta.Store.
func (p promises) SetAccepted(epoch int64) error {
	return p.change(func() error { return p.Mem.SetAccepted(epoch) })
}

// SetCurrent implements meta.Store.
func (p promises) SetCurrent(epoch int64, lineage string) error {
	return p.change(func() error { return p.Mem.SetCurrent(epoch, lineage) })
}

// SetLineage implements meta.Store.
func (p promises) SetLineage(lineage string) error {
	return p.change(func() error { return p.Mem.SetLineage(lineage) })
}

// SetBlank implements meta.Store.
func (p promises) SetBlank(blank bool) error {
	return p.change(func() error { return p.Mem.SetBlank(blank) })
}

// SetConfig implements meta.Store.
func (p promises) SetConfig(c meta.Config) error {
	return p.change(func() error { return p.Mem.SetConfig(c) })
}

// SetSessionBase implements meta.Store.
func (p promises) SetSessionBase(base int64) error {
	return p.change(func() error { return p.Mem.SetSessionBase(base) })
}

// SetAddresses implements meta.Store.
func (p promises) SetAddresses(addresses map[string][]string) error {
	return p.change(func() error { return p.Mem.SetAddresses(addresses) })
}

// Reconcile implements meta.Store.
func (p promises) Reconcile(last proto.Zxid) (e meta.Epochs, err error) {
	err = p.change(func() error {
		e, err = p.Mem.Reconcile(last)
		return err
	})
	return e, err
}

// PutSnapshot implements meta.Store.
func (p promises) PutSnapshot(name string, zxid proto.Zxid, size int64, checksum uint32) error {
	return p.change(func() error { return p.Mem.PutSnapshot(name, zxid, size, checksum) })
}

// DropSnapshot implements meta.Store.
func (p promises) DropSnapshot(name string) error {
	return p.change(func() error { return p.Mem.DropSnapshot(name) })
}
