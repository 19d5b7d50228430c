package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// cut changes the files, as one change. A crash leaves a log to which the same repair can be applied again: the later
// files go first, the newest of them before the others, and bytes are cut only after they were saved.
func (r *walRepair) cut() error {
	change, err := datadir.Begin(r.fs, r.folders...)
	if err != nil {
		return err
	}
	if info, err := r.fs.Stat(filepath.Join(r.dir, r.file)); r.file != "" && (err != nil || info.Size() != r.size) {
		return change.Leave(fmt.Errorf("%s has changed meanwhile, so nothing was changed: %w", r.file,
			errors.Join(err, errChanged)))
	}
	if err := change.Mark(r.command, "run it again, with the same flags"); err != nil {
		return change.Abandon(err)
	}
	if err := r.change(); err != nil {
		return change.Leave(err)
	}
	report, err := wal.Verify(wal.Options{FS: r.fs, Dir: r.dir}, r.base+1, nil)
	if err != nil {
		return change.Leave(fmt.Errorf("after the repair: %w", err))
	}
	if err := change.Finish(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "ok: the log is whole from snapshot %v to txn %v\n", r.base, report.Last)
	return err
}

// finish ends a repair that was interrupted when nothing was left to do.
func (r *walRepair) finish() error {
	change, err := datadir.Begin(r.fs, r.folders...)
	if err != nil {
		return err
	}
	return change.Finish()
}

// change sets files aside and cuts one.
func (r *walRepair) change() error {
	for _, name := range r.aside {
		if err := r.setAside(r.snapDir, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(r.later) {
		if err := r.setAside(r.dir, name); err != nil {
			return err
		}
	}
	if r.file == "" {
		return nil
	}
	if r.offset <= LogHeaderSize {
		return r.setAside(r.dir, r.file)
	}
	return r.cutFile()
}

// errChanged means that a server has written meanwhile.
var errChanged = errors.New("its size is different now")

// LogHeaderSize is the number of bytes before the first record. Source: storage 4.1.
const LogHeaderSize = 16

// savedAs returns the name under which a file, or the end of one, is saved: one that no earlier repair has used.
func (r *walRepair) savedAs(dir, name string) string {
	to := savedPrefix + name
	for n := 2; ; n++ {
		if _, err := r.fs.Stat(filepath.Join(dir, to)); err != nil {
			return to
		}
		to = fmt.Sprintf("%s%s.%d", savedPrefix, name, n)
	}
}

// setAside renames a file, durably.
func (r *walRepair) setAside(dir, name string) error {
	to := r.savedAs(dir, name)
	if err := errors.Join(r.fs.Rename(filepath.Join(dir, name), filepath.Join(dir, to)),
		r.fs.SyncDir(dir)); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "renamed %s to %s\n", name, to)
	return nil
}

// cutFile saves the end of the file and cuts it off.
func (r *walRepair) cutFile() (err error) {
	f, err := r.fs.OpenWrite(filepath.Join(r.dir, r.file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	saved := r.savedAs(r.dir, fmt.Sprintf("%s.%d", r.file, r.offset))
	name, model := filepath.Join(r.dir, saved), filepath.Join(r.dir, r.file)
	if err := saveEnd(r.fs, f, name, model, r.offset, r.size); err != nil {
		return err
	}
	if err := errors.Join(r.fs.SyncDir(r.dir), f.Truncate(r.offset), f.Sync()); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "cut %s at offset %d, the rest is in %s\n", r.file, r.offset, saved)
	return nil
}

// saveEnd copies the bytes from offset to size of a file into a new file, which no other users may read.
func saveEnd(fs vfs.FS, f vfs.File, name, model string, offset, size int64) (err error) {
	to, err := fs.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := vfs.Like(fs, name, model); err != nil {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(f, offset, size-offset)); err != nil {
		return err
	}
	return to.Sync()
}

// salvageMax bounds the memory that one file's end takes while it is looked through.
const salvageMax = 1 << 30

// salvage returns the zxids of the records that can be read at or behind offset, whatever lies between them.
func salvage(f vfs.File, offset int64) ([]proto.Zxid, error) {
	const prefix, overhead, least = 12, 13, 32 // checksum and length; and the end byte; of a TxnHeader
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size-offset > salvageMax {
		return nil, fmt.Errorf("%d bytes to look through, more than %d", size-offset, salvageMax)
	}
	b := make([]byte, max(0, size-offset))
	if _, err := f.ReadAt(b, offset); err != nil && err != io.EOF {
		return nil, err
	}
	var zxids []proto.Zxid
	budget := int64(len(b))*16 + 64<<20 // bytes to checksum, so that hostile bytes do not take forever
	for at := 0; at+overhead+least <= len(b); {
		length := int(int32(binary.BigEndian.Uint32(b[at+8:])))
		if length < least || length > len(b)-at-overhead || b[at+prefix+length] != 'B' ||
			binary.BigEndian.Uint32(b[at:]) != 0 {
			at++
			continue
		}
		payload := b[at+prefix : at+prefix+length]
		if budget -= int64(length); budget < 0 {
			return zxids, nil
		}
		if binary.BigEndian.Uint32(b[at+4:]) != adler32.Checksum(payload) {
			at++
			continue
		}
		zxids = append(zxids, proto.Zxid(binary.BigEndian.Uint64(payload[12:])))
		at += overhead + length
	}
	return zxids, nil
}
