package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// BlockSize is how many bytes a disk writes in one piece: after a crash a block of a Mem holds one of the
// versions it had, never a mixture.
const BlockSize = 512

func blocks(size int) int64 { return int64(size+BlockSize-1) / BlockSize }

// inode is a file without its name. Guarded by Mem.mu.
type inode struct {
	data    []byte       // what a reader sees
	synced  []byte       // durable content
	pending []fileUpdate // the changes that turn synced into data, in order
	links   int          // names, 0 or 1
	opens   int          // handles
	syncs   []error      // errors of failed Syncs
}

// fileUpdate is one change that a crash may keep or lose: a block with its whole contents at that
// moment, or, if block is nil, a change of the size.
type fileUpdate struct {
	off   int64
	block []byte
	size  int64
}

func (u *fileUpdate) apply(b []byte) []byte {
	if u.block == nil {
		return resized(b, u.size)
	}
	if end := u.off + int64(len(u.block)); end > int64(len(b)) {
		b = resized(b, end)
	}
	copy(b[u.off:], u.block)
	return b
}

// resized returns b with size bytes, the new ones zero.
func resized(b []byte, size int64) []byte {
	n := int64(len(b))
	if size <= n {
		return b[:size]
	}
	if size > int64(cap(b)) {
		grown := make([]byte, n, max(size, 2*n))
		copy(grown, b)
		b = grown
	}
	b = b[:size]
	clear(b[n:])
	return b
}

// resize changes the size of ino and the space it takes. Requires mu.
func (m *Mem) resize(ino *inode, size int64) {
	m.mu.used += (blocks(int(size)) - blocks(len(ino.data))) * BlockSize
	ino.data = resized(ino.data, size)
	ino.pending = append(ino.pending, fileUpdate{size: size})
}

// write puts b at off as a list of block updates. Requires mu and that the space is there.
func (m *Mem) write(ino *inode, b []byte, off int64) {
	end := off + int64(len(b))
	if end > int64(len(ino.data)) {
		m.resize(ino, end)
	}
	copy(ino.data[off:], b)
	for at := off - off%BlockSize; at < end; at += BlockSize {
		to := min(at+BlockSize, int64(len(ino.data)))
		block := append([]byte(nil), ino.data[at:to]...)
		ino.pending = append(ino.pending, fileUpdate{off: at, block: block})
	}
}

// memFile is a handle.
type memFile struct {
	m        *Mem
	name     string
	ino      *inode
	writable bool
	closed   bool  // guarded by m.mu
	seen     int   // how many of ino.syncs it has reported; guarded by m.mu
	pos      int64 // of Read and Write; guarded by m.mu
}

// check requires mu.
func (f *memFile) check(op string, write bool) error {
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if write && !f.writable {
		return pathError(op, f.name, fs.ErrPermission)
	}
	return nil
}

// ReadAt implements File.
func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.m.begin(Op{Kind: OpRead, Name: f.name, Offset: off, Len: len(b)}); err != nil {
		return 0, pathError("read", f.name, err)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	return f.readAt(b, off)
}

func (f *memFile) readAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if off >= int64(len(f.ino.data)) {
		if len(b) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, f.ino.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Read implements File.
func (f *memFile) Read(b []byte) (int, error) {
	if err := f.m.begin(Op{Kind: OpRead, Name: f.name, Len: len(b)}); err != nil {
		return 0, pathError("read", f.name, err)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	n, err := f.readAt(b, f.pos)
	f.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// WriteAt implements File.
func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	return f.write(b, off)
}

// Write implements File.
func (f *memFile) Write(b []byte) (int, error) {
	f.m.mu.Lock()
	off := f.pos
	f.m.mu.Unlock()
	n, err := f.write(b, off)
	f.m.mu.Lock()
	f.pos += int64(n)
	f.m.mu.Unlock()
	return n, err
}

// write writes b at off, or as much of b as fits.
func (f *memFile) write(b []byte, off int64) (int, error) {
	hookErr := f.m.begin(Op{Kind: OpWrite, Name: f.name, Offset: off, Len: len(b)})
	n := len(b)
	if hookErr != nil {
		n = 0
		var short *ShortWrite
		if errors.As(hookErr, &short) {
			n = min(max(short.N, 0), len(b))
		}
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	fits := f.m.fits(f.ino, off, n)
	if fits > 0 {
		f.m.write(f.ino, b[:fits], off)
	}
	switch {
	case hookErr != nil:
		return fits, pathError("write", f.name, hookErr)
	case fits < n:
		return fits, pathError("write", f.name, ErrNoSpace)
	}
	return fits, nil
}

// fits returns how many of n bytes at off the capacity allows. Requires mu.
func (m *Mem) fits(ino *inode, off int64, n int) int {
	if m.mu.capacity == 0 {
		return n
	}
	allowed := (blocks(len(ino.data)) + max(0, m.mu.capacity-m.mu.used)/BlockSize) * BlockSize
	return int(min(int64(n), max(0, allowed-off)))
}

// Sync implements File. If a hook makes it fail, half of the writes so far, chosen at random, are durable and the
// others are lost for good, although they can still be read. Every handle of the file that was open reports the
// error once, as on Linux.
func (f *memFile) Sync() error {
	hookErr := f.m.begin(Op{Kind: OpSync, Name: f.name})
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("sync", false); err != nil {
		return err
	}
	for i := range f.ino.pending {
		if hookErr == nil || f.m.mu.rng.IntN(2) == 0 {
			f.ino.synced = f.ino.pending[i].apply(f.ino.synced)
		}
	}
	f.ino.pending = f.ino.pending[:0]
	if hookErr != nil {
		f.ino.syncs = append(f.ino.syncs, hookErr)
	}
	if f.seen < len(f.ino.syncs) {
		f.seen = len(f.ino.syncs)
		return pathError("sync", f.name, f.ino.syncs[f.seen-1])
	}
	return nil
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	if err := f.m.begin(Op{Kind: OpTruncate, Name: f.name, Offset: size}); err != nil {
		return pathError("truncate", f.name, err)
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	if f.m.fits(f.ino, 0, int(size)) < int(size) && size > int64(len(f.ino.data)) {
		return pathError("truncate", f.name, ErrNoSpace)
	}
	f.m.resize(f.ino, size)
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.ino.data)), nil
}

// Close implements File.
func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("close", false); err != nil {
		return err
	}
	f.closed = true
	delete(f.m.mu.open, f)
	f.ino.opens--
	f.m.release(f.ino)
	return nil
}
