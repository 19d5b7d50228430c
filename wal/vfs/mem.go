package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a filesystem in memory that knows which of its bytes and names would survive a loss of
// power: see CrashClone. It fails, fills up and slows down on demand: see Hook and SetCapacity.
// It may be used by many goroutines.
type Mem struct {
	mu struct {
		sync.Mutex
		dirs     map[string]*memDir
		locks    map[*inode]string // the names by which files were locked
		open     map[*memFile]bool
		hook     func(Op) error
		ops      int
		used     int64 // bytes of all files in whole blocks; a removed file counts while it is open
		capacity int64 // 0 is unlimited
		rng      *rand.Rand
	}
}

// memDir is a directory: its present entries, its entries at the last SyncDir, and the operations in between.
type memDir struct {
	entries map[string]*inode
	synced  map[string]*inode
	pending []dirUpdate
	moves   []dirMove // of the directories in it, since the last SyncDir
}

// dirMove is a Rename of a directory: its path before and after.
type dirMove struct{ from, to string }

// dirUpdate is one Create, Remove or Rename: entries that change together. A nil inode removes.
type dirUpdate map[string]*inode

// unlimited is the size that Free reports for a Mem without capacity.
const unlimited = 1 << 50

// NewMem returns an empty filesystem that holds the directory "/" and the directory ".".
func NewMem() *Mem {
	m := &Mem{}
	m.mu.dirs = map[string]*memDir{"/": newMemDir(), ".": newMemDir()}
	m.mu.locks = map[*inode]string{}
	m.mu.open = map[*memFile]bool{}
	m.mu.rng = rand.New(rand.NewPCG(1, 2))
	return m
}

func newMemDir() *memDir {
	return &memDir{entries: map[string]*inode{}, synced: map[string]*inode{}}
}

func (d *memDir) update(u dirUpdate) {
	apply(d.entries, u)
	d.pending = append(d.pending, u)
}

func apply(entries map[string]*inode, u dirUpdate) {
	for name, ino := range u {
		if ino == nil {
			delete(entries, name)
		} else {
			entries[name] = ino
		}
	}
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// dir returns the directory that holds name, and the last element of name.
func (m *Mem) dir(op, name string) (*memDir, string, error) {
	name = filepath.Clean(name)
	d := m.mu.dirs[filepath.Dir(name)]
	if d == nil {
		return nil, "", pathError(op, name, fs.ErrNotExist)
	}
	return d, filepath.Base(name), nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	if err := m.begin(Op{Kind: OpCreate, Name: name}); err != nil {
		return nil, pathError("create", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.dir("create", name)
	if err != nil {
		return nil, err
	}
	if m.mu.dirs[filepath.Clean(name)] != nil {
		return nil, pathError("create", name, fmt.Errorf("is a directory"))
	}
	ino := d.entries[base]
	if ino == nil {
		ino = &inode{}
		d.update(dirUpdate{base: ino})
		ino.links++
	} else {
		m.resize(ino, 0)
	}
	return m.newFile(name, ino, true), nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.openFile(name, false) }

// OpenWrite implements FS.
func (m *Mem) OpenWrite(name string) (File, error) { return m.openFile(name, true) }

func (m *Mem) openFile(name string, writable bool) (File, error) {
	if err := m.begin(Op{Kind: OpOpen, Name: name}); err != nil {
		return nil, pathError("open", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.dir("open", name)
	if err != nil {
		return nil, err
	}
	ino := d.entries[base]
	if ino == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	return m.newFile(name, ino, writable), nil
}

// newFile requires mu.
func (m *Mem) newFile(name string, ino *inode, writable bool) *memFile {
	f := &memFile{m: m, name: name, ino: ino, writable: writable, seen: len(ino.syncs)}
	ino.opens++
	m.mu.open[f] = true
	return f
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	if err := m.begin(Op{Kind: OpRemove, Name: name}); err != nil {
		return pathError("remove", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clean := filepath.Clean(name)
	if sub := m.mu.dirs[clean]; sub != nil {
		if len(sub.entries) > 0 || len(m.children(clean)) > 0 {
			return pathError("remove", name, fmt.Errorf("directory not empty"))
		}
		delete(m.mu.dirs, clean)
		m.settle(filepath.Dir(clean))
		return nil
	}
	d, base, err := m.dir("remove", name)
	if err != nil {
		return err
	}
	ino := d.entries[base]
	if ino == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	d.update(dirUpdate{base: nil})
	m.unlink(ino)
	return nil
}

// unlink requires mu.
func (m *Mem) unlink(ino *inode) {
	ino.links--
	m.release(ino)
}

// release frees the space of an inode that has neither name nor handle. Requires mu.
func (m *Mem) release(ino *inode) {
	if ino.links == 0 && ino.opens == 0 {
		m.mu.used -= blocks(len(ino.data)) * BlockSize
	}
}

// Rename implements FS. Both names must be in the same directory.
func (m *Mem) Rename(oldName, newName string) error {
	if err := m.begin(Op{Kind: OpRename, Name: oldName, NewName: newName}); err != nil {
		return pathError("rename", oldName, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, oldBase, err := m.dir("rename", oldName)
	if err != nil {
		return err
	}
	d2, newBase, err := m.dir("rename", newName)
	if err != nil {
		return err
	}
	if d != d2 {
		return pathError("rename", oldName, fmt.Errorf("to another directory"))
	}
	if from := filepath.Clean(oldName); m.mu.dirs[from] != nil {
		return m.renameDir(d, dirMove{from, filepath.Clean(newName)})
	}
	ino := d.entries[oldBase]
	switch {
	case ino == nil:
		return pathError("rename", oldName, fs.ErrNotExist)
	case m.mu.dirs[filepath.Clean(newName)] != nil:
		return pathError("rename", newName, fmt.Errorf("is a directory"))
	case oldBase == newBase:
		return nil
	}
	replaced := d.entries[newBase]
	d.update(dirUpdate{oldBase: nil, newBase: ino})
	if replaced != nil {
		m.unlink(replaced)
	}
	return nil
}

// renameDir renames a directory in parent. Requires mu.
func (m *Mem) renameDir(parent *memDir, move dirMove) error {
	if move.from == move.to {
		return nil
	}
	if parent.entries[filepath.Base(move.to)] != nil {
		return pathError("rename", move.to, fmt.Errorf("not a directory"))
	}
	if m.mu.dirs[move.to] != nil {
		return pathError("rename", move.to, fs.ErrExist)
	}
	move.in(m.mu.dirs)
	parent.moves = append(parent.moves, move)
	return nil
}

// in gives a directory, and all that are below it, their new paths.
func (v dirMove) in(dirs map[string]*memDir) {
	for _, path := range sortedKeys(dirs) {
		if rest, ok := strings.CutPrefix(path, v.from); ok && (rest == "" || rest[0] == filepath.Separator) {
			dirs[v.to+rest] = dirs[path]
			delete(dirs, path)
		}
	}
}

// children returns the names of the directories in dir. Requires mu.
func (m *Mem) children(dir string) []string {
	var names []string
	for d := range m.mu.dirs {
		if d != dir && filepath.Dir(d) == dir {
			names = append(names, filepath.Base(d))
		}
	}
	return names
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	if err := m.begin(Op{Kind: OpList, Name: dir}); err != nil {
		return nil, pathError("list", dir, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clean := filepath.Clean(dir)
	d := m.mu.dirs[clean]
	if d == nil {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	names := m.children(clean)
	for name := range d.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Stat implements FS. The modification time is the zero time.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clean := filepath.Clean(name)
	if m.mu.dirs[clean] != nil {
		return memInfo{name: filepath.Base(clean), dir: true}, nil
	}
	d, base, err := m.dir("stat", name)
	if err != nil {
		return nil, err
	}
	ino := d.entries[base]
	if ino == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return memInfo{name: base, size: int64(len(ino.data))}, nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	if err := m.begin(Op{Kind: OpMkdir, Name: dir}); err != nil {
		return pathError("mkdir", dir, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for d := filepath.Clean(dir); m.mu.dirs[d] == nil; d = filepath.Dir(d) {
		if parent := m.mu.dirs[filepath.Dir(d)]; parent != nil && parent.entries[filepath.Base(d)] != nil {
			return pathError("mkdir", d, fmt.Errorf("not a directory"))
		}
		m.mu.dirs[d] = newMemDir()
		m.settle(filepath.Dir(d))
	}
	return nil
}

// settle makes the moves of directories in dir durable: a directory that is made or removed there is so at once.
// Requires mu.
func (m *Mem) settle(dir string) {
	if d := m.mu.dirs[dir]; d != nil {
		d.moves = nil
	}
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	if err := m.begin(Op{Kind: OpSyncDir, Name: dir}); err != nil {
		return pathError("sync", dir, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.mu.dirs[filepath.Clean(dir)]
	if d == nil {
		return pathError("sync", dir, fs.ErrNotExist)
	}
	for _, u := range d.pending {
		apply(d.synced, u)
	}
	d.pending, d.moves = nil, nil
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenWrite(name)
	if err != nil {
		if f, err = m.Create(name); err != nil {
			return nil, err
		}
	}
	ino := f.(*memFile).ino
	if err := f.Close(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.mu.locks[ino]; ok {
		return nil, fmt.Errorf("%w: %s", ErrLocked, name)
	}
	m.mu.locks[ino] = filepath.Clean(name)
	return &memLock{m: m, name: filepath.Clean(name), ino: ino}, nil
}

type memLock struct {
	m    *Mem
	name string
	ino  *inode
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if _, ok := l.m.mu.locks[l.ino]; !ok {
		return pathError("unlock", l.name, fs.ErrClosed)
	}
	delete(l.m.mu.locks, l.ino)
	return nil
}

// Free implements FS.
func (m *Mem) Free(path string) (free, total int64, err error) {
	if _, err := m.Stat(path); err != nil {
		return 0, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	total = m.mu.capacity
	if total == 0 {
		total = unlimited
	}
	return max(0, total-m.mu.used), total, nil
}

// OpenFiles returns the names of the files and locks that are open, sorted: a test that expects
// none has found a leak.
func (m *Mem) OpenFiles() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for f := range m.mu.open {
		names = append(names, f.name)
	}
	for _, name := range m.mu.locks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// String lists the files with their sizes, for messages of failing tests.
func (m *Mem) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, dir := range sortedKeys(m.mu.dirs) {
		entries := m.mu.dirs[dir].entries
		for _, name := range sortedKeys(entries) {
			fmt.Fprintf(&b, "%s %d\n", filepath.Join(dir, name), len(entries[name].data))
		}
	}
	return b.String()
}

type memInfo struct {
	name string
	size int64
	dir  bool
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o750
	}
	return 0o640
}
