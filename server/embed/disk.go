package embed

import (
	"errors"
	"math/rand/v2"
	"path/filepath"

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
	meta *meta.Mem // of the server that runs, or ran last
}

func newDisk(id int) *disk {
	return &disk{id: id, mem: vfs.NewMem(), meta: meta.NewMem(proto.ServerID(id))}
}

// mount begins a life: a server that is started on the data of the disk.
func (d *disk) mount() meta.Store {
	d.meta = d.meta.Again()
	return d.meta
}

// detach ends the present life: from now on nothing reaches the disk.
func (d *disk) detach() {
	d.mem.Hook(func(vfs.Op) error { return errPower })
	_ = d.meta.Close() // of a store in memory it cannot fail
}

// crash gives the disk the state that is found after the life was detached and the server has ended.
func (d *disk) crash(rng *rand.Rand, unsyncedPercent int) {
	d.mem = d.mem.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: unsyncedPercent})
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
