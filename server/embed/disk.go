package embed

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/wal/vfs"
)

// memoryDir is the data directory of a server in memory.
const memoryDir = "/data"

// errPower is the error of the disk of a killed server.
var errPower = errors.New("embed: the server was killed")

// disk holds the data of one server in memory. Killing a server detaches its disk: later actions of the server
// leave no trace.
type disk struct {
	id   int
	mem  *vfs.Mem
	meta *meta.Mem
	life *life // of the server that runs
}

func newDisk(id int) *disk {
	return &disk{id: id, mem: vfs.NewMem(), meta: meta.NewMem(proto.ServerID(id))}
}

// mount begins a life: a server that is started on the data of the disk.
func (d *disk) mount() meta.Store {
	d.meta.Crash() // a closed store can be used again
	d.life = &life{Store: d.meta}
	return d.life
}

// detach ends the present life: from now on nothing reaches the disk.
func (d *disk) detach() {
	d.mem.Hook(func(vfs.Op) error { return errPower })
	d.life.over.Store(true)
}

// crash gives the disk the state that is found after the life was detached and the server has ended.
func (d *disk) crash(rng *rand.Rand, unsyncedPercent int) {
	d.mem = d.mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: unsyncedPercent})
}

// life is the durable promises of a server until it is killed.
type life struct {
	meta.Store
	over atomic.Bool
}

func (l *life) check() error {
	if l.over.Load() {
		return errPower
	}
	return nil
}

// SetAccepted implements meta.Store.
func (l *life) SetAccepted(epoch int64) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetAccepted(epoch)
}

// SetCurrent implements meta.Store.
func (l *life) SetCurrent(epoch int64, lineage string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetCurrent(epoch, lineage)
}

// SetLineage implements meta.Store.
func (l *life) SetLineage(lineage string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetLineage(lineage)
}

// SetBlank implements meta.Store.
func (l *life) SetBlank(blank bool) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetBlank(blank)
}

// Reconcile implements meta.Store.
func (l *life) Reconcile(last proto.Zxid) (meta.Epochs, error) {
	if err := l.check(); err != nil {
		return meta.Epochs{}, err
	}
	return l.Store.Reconcile(last)
}

// SetConfig implements meta.Store.
func (l *life) SetConfig(c meta.Config) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetConfig(c)
}

// SetAddresses implements meta.Store.
func (l *life) SetAddresses(addresses map[string][]string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.SetAddresses(addresses)
}

// PutSnapshot implements meta.Store.
func (l *life) PutSnapshot(name string, zxid proto.Zxid, size int64, checksum uint32) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.PutSnapshot(name, zxid, size, checksum)
}

// DropSnapshot implements meta.Store.
func (l *life) DropSnapshot(name string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.Store.DropSnapshot(name)
}

// found tells a server that its empty data directory is new, and was not lost: it need not ask the other servers
// before it votes.
func found(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir); err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil || len(names) > 0 {
		return err // the directory is not new
	}
	f, err := fs.Create(filepath.Join(dir, "initialize"))
	if err != nil {
		return err
	}
	return f.Close()
}
