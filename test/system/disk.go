package system

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
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
	// spoilt is what was done to the directory; empty when the server has served with it since.
	spoilt string
	// dormant is spoilt of a server that has served since, if nothing could tell it then whether a txn without effect
	// was missing: its meta.db was lost as well. It has the lineage of its leader since, with which it may refuse the
	// log at its next start. dormantSince is the life that has served with it first.
	dormant      string
	dormantSince int
	spoiltBy     Fault
	// interrupt is how many operations until the process is killed in the middle of one; 0 is never.
	interrupt int
}

// diskSlow is how long a sync takes at most on a disk without faults.
const diskSlow = 2 * time.Millisecond

// errBroken is what a server hears of a disk that fails.
var errBroken = errors.New("system: the disk is broken")

func (s *scheduler) newDisk(id int) *disk {
	return &disk{s: s, id: id, mem: vfs.NewMem(), meta: meta.NewMem(proto.ServerID(id)), slow: diskSlow}
}

// mount connects a process to the disk.
func (d *disk) mount(n *node) {
	d.meta.Crash() // what was closed can be used again
	h := n.peers
	d.mem.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && strings.HasPrefix(filepath.Base(op.Name), "log.") && !h.p.dead {
			n.w.harvest(n)
		}
		if d.interrupt > 0 && op.Kind.Changes() && !h.p.dead {
			if d.interrupt--; d.interrupt == 0 {
				d.s.plan(0, nil, "interrupted", func() {
					if n.p == h.p {
						n.kill([]int{0, 50, 100}[d.s.rng.IntN(3)], false)
						n.w.faults.restart(n, d.s.between(0, time.Second))
					}
				})
				h.sleep(time.Hour)
			}
		}
		return d.hook(h, op)
	})
}

// interruptMax is how many operations of a disk an interruption is away at most.
const interruptMax = 60

// firstMax is the same for the first start, which does not do more.
const firstMax = 12

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
