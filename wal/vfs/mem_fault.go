package vfs

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// OpKind is a kind of operation on a Mem.
type OpKind string

// The operations that a hook sees. Stat, Size, Free and Close cannot fail and are not among them.
const (
	OpCreate   OpKind = "create"
	OpOpen     OpKind = "open"
	OpRead     OpKind = "read"
	OpWrite    OpKind = "write"
	OpSync     OpKind = "sync"
	OpTruncate OpKind = "truncate"
	OpRemove   OpKind = "remove"
	OpRename   OpKind = "rename"
	OpList     OpKind = "list"
	OpMkdir    OpKind = "mkdir"
	OpSyncDir  OpKind = "syncdir"
)

// Changes reports whether operations of kind k change the content of the disk, or which part of it is durable.
func (k OpKind) Changes() bool {
	return k != OpOpen && k != OpRead && k != OpList
}

// Op is one operation, as a hook sees it before it happens.
type Op struct {
	Kind    OpKind
	Name    string
	NewName string // of a rename
	Offset  int64  // of a read or write; the new size of a truncate
	Len     int    // of a read or write
	N       int    // how many operations came before it
}

// String describes the operation for messages.
func (o Op) String() string {
	return fmt.Sprintf("#%d %s %s %s %d+%d", o.N, o.Kind, o.Name, o.NewName, o.Offset, o.Len)
}

// ShortWrite is an error that a hook may return for a write: N bytes are written and the write
// fails with Err.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return fmt.Sprintf("short write of %d bytes: %v", e.N, e.Err) }

// Unwrap returns Err.
func (e *ShortWrite) Unwrap() error { return e.Err }

// Hook makes m call fn before every operation, in the goroutine of that operation. If fn returns an error the
// operation fails with it and has no effect, except for ShortWrite and for Sync (see there). fn may block, which
// simulates a slow disk, and may use m. Nil removes the hook.
func (m *Mem) Hook(fn func(Op) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.hook = fn
}

// FailNth makes the nth operation of kind k from now on fail with err, counting from 0. It
// replaces the hook.
func (m *Mem) FailNth(k OpKind, n int, err error) {
	var seen atomic.Int64
	m.Hook(func(op Op) error {
		if op.Kind == k && seen.Add(1)-1 == int64(n) {
			return err
		}
		return nil
	})
}

// begin counts an operation and asks the hook.
func (m *Mem) begin(op Op) error {
	m.mu.Lock()
	op.N = m.mu.ops
	m.mu.ops++
	hook := m.mu.hook
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(op)
}

// SetCapacity limits the disk to so many bytes, counted in whole blocks; 0 removes the limit.
// Writes beyond it are cut short and fail with ErrNoSpace. Names and directories take no space.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.capacity = bytes
}

// Used returns how many bytes of the capacity are taken.
func (m *Mem) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.used
}

// Flip inverts the bits of mask in the byte at off, durably, as a failing disk does.
func (m *Mem) Flip(name string, off int64, mask byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.dir("flip", name)
	if err != nil {
		return err
	}
	ino := d.entries[base]
	if ino == nil || off < 0 || off >= int64(len(ino.data)) {
		return pathError("flip", name, fs.ErrNotExist)
	}
	ino.data[off] ^= mask
	if off < int64(len(ino.synced)) {
		ino.synced[off] ^= mask
	}
	return nil
}

// CrashOptions say how much unsynced data a crash keeps.
type CrashOptions struct {
	// UnsyncedPercent is the chance of each block and each operation on a directory that was not
	// synced to have reached the disk. 0 is the strictest disk, 100 is a killed process.
	UnsyncedPercent int
}

// CrashClone returns a disk as it may be found after a loss of power at this moment. It has everything that was
// synced. Of the rest, block by block and name by name, it has what rng chooses. No file is open or locked; m is
// not changed and stays usable. The clone has no hook and no capacity.
func (m *Mem) CrashClone(rng *rand.Rand, o CrashOptions) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := func() bool { return rng.IntN(100) < o.UnsyncedPercent }
	c := NewMem()
	clones := map[*inode]*inode{}
	for _, dir := range sortedKeys(m.mu.dirs) {
		d := m.mu.dirs[dir]
		entries := maps.Clone(d.synced)
		for _, u := range d.pending {
			if keep() {
				apply(entries, u)
			}
		}
		cd := newMemDir()
		for _, name := range sortedKeys(entries) {
			ino := entries[name]
			if clones[ino] == nil {
				clones[ino] = ino.crash(keep)
				c.mu.used += blocks(len(clones[ino].data)) * BlockSize
			}
			clones[ino].links++
			cd.entries[name], cd.synced[name] = clones[ino], clones[ino]
		}
		c.mu.dirs[dir] = cd
	}
	for _, dir := range slices.Backward(sortedKeys(m.mu.dirs)) { // a directory after those in it, which move with it
		moves := m.mu.dirs[dir].moves
		for len(moves) > 0 && keep() {
			moves = moves[1:]
		}
		for _, v := range slices.Backward(moves) { // none reaches the disk before an earlier one
			dirMove{v.to, v.from}.in(c.mu.dirs)
		}
	}
	return c
}

func (ino *inode) crash(keep func() bool) *inode {
	data := slices.Clone(ino.synced)
	for i := range ino.pending {
		if keep() {
			data = ino.pending[i].apply(data)
		}
	}
	return &inode{data: data, synced: slices.Clone(data)}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
