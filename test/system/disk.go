package system

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/wal/vfs"
)

// dataDir is where servers keep their data.
const dataDir = "/data"

// disk is the disk of one server. It outlives the process.
type disk struct {
	s    *scheduler
	id   int
	mem  *vfs.Mem
	meta *meta.Mem
	slow time.Duration // a sync takes up to this long
	bad  bool          // every write and sync fails
	full bool          // there is little room, or none
	hurt bool          // one of the two was so while the present process ran
}

// diskSlow is how long a sync takes at most on a disk without faults.
const diskSlow = 2 * time.Millisecond

// errBroken is what a server hears of a disk that fails.
var errBroken = errors.New("system: the disk is broken")

func (s *scheduler) newDisk(id int) *disk {
	return &disk{s: s, id: id, mem: vfs.NewMem(), meta: meta.NewMem(proto.ServerID(id)), slow: diskSlow}
}

// mount connects a process to the disk.
func (d *disk) mount(h *host) {
	d.meta.Crash() // what was closed can be used again
	d.mem.Hook(func(op vfs.Op) error { return d.hook(h, op) })
}

// hook lets operations take time, and fail. What reads takes none.
func (d *disk) hook(h *host, op vfs.Op) error {
	if !op.Kind.Changes() {
		return nil
	}
	d.s.note(h.p, string(op.Kind))
	switch {
	case h.p.dead:
		return errBroken
	case d.bad:
		return errBroken
	case op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir:
		h.sleep(d.s.between(20*time.Microsecond, d.slow))
	case d.s.chance(2):
		h.sleep(d.s.between(0, d.slow)) // whatever happens meanwhile happens between two writes
	}
	if d.bad {
		return errBroken
	}
	return nil
}

// crash makes the disk what is found after the process was killed: with the power, if unsynced is below 100.
func (d *disk) crash(unsynced int) {
	d.mem.Hook(nil)
	used := d.mem.Used()
	d.mem = d.mem.CrashClone(rand.New(rand.NewPCG(d.s.rng.Uint64(), 0)), vfs.CrashOptions{UnsyncedPercent: unsynced})
	if d.full {
		d.mem.SetCapacity(used)
	}
}

// fill leaves room for so many bytes.
func (d *disk) fill(room int64) {
	d.full, d.hurt = true, true
	d.mem.SetCapacity(d.mem.Used() + room)
}

// repair ends what is wrong with the disk.
func (d *disk) repair() {
	d.bad, d.full, d.slow = false, false, diskSlow
	d.mem.SetCapacity(0)
}

// found makes an empty disk that of a new server, which need not ask the others before it votes.
func (d *disk) found() error {
	if err := d.mem.MkdirAll(dataDir); err != nil {
		return err
	}
	f, err := d.mem.Create(filepath.Join(dataDir, "initialize"))
	if err != nil {
		return err
	}
	return f.Close()
}
