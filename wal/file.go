package wal

import (
	"fmt"
	"path/filepath"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// FileSummary is what Scan found in one file.
type FileSummary struct {
	Records     int
	First, Last proto.Zxid // of the records that are not repeated, 0 without any
	Size        int64      // bytes, zeros included
	End         int64      // where the records end
	IsTorn      bool       // the remains of a write that did not finish follow them
	Repeated    int        // of these records
}

// Scan reads one file of a log, whatever its name, and hands every record to fn. It judges the file alone, not
// whether its records are contiguous or its repeated ones like the first ones, and changes nothing. On an error the
// summary covers the part that could be read.
func Scan(fsys vfs.FS, path string, fn func(*Record) error) (FileSummary, error) {
	return scan(fsys, path, 0, fn, nil)
}

// ScanLast is Scan of the last file of a log. from is the first txn that no snapshot has, 1 without a snapshot.
// Damage after from that can only belong to a write that was never synced counts as a torn end, as in Replay, and so
// does a header that is not whole. Source: adr 0008.
func ScanLast(fsys vfs.FS, path string, from proto.Zxid, fn func(*Record) error) (FileSummary, error) {
	first, _, _ := FileZxid(filepath.Base(path))
	return scan(fsys, path, max(first-1, 0), fn, func(f vfs.File, sc *scanner, size int64, err error) error {
		return unfinished(f, path, sc.off, size, sc.last, from, err)
	})
}

// scan reads a file whose txns begin after last. pardon, which may be nil, decides which damage at the end of the
// file remains an error.
func scan(fsys vfs.FS, path string, last proto.Zxid, fn func(*Record) error,
	pardon func(f vfs.File, sc *scanner, size int64, err error) error) (FileSummary, error) {
	var sum FileSummary
	f, err := fsys.Open(path)
	if err != nil {
		return sum, fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	if sum.Size, err = f.Size(); err != nil {
		return sum, fmt.Errorf("wal: %w", err)
	}
	if pardon != nil && sum.Size < headerSize {
		sum.IsTorn = sum.Size > 0
		return sum, nil
	}
	sc, err := newScanner(f, path, sum.Size, last, nil)
	if err != nil {
		return sum, err
	}
	var r Record
	for {
		var ok bool
		if ok, err = sc.next(&r); err != nil || !ok {
			break
		}
		if sum.Records++; sum.Records == 1 {
			sum.First = r.Zxid
		}
		if r.Repeated {
			sum.Repeated++
		}
		sum.Last, sum.End = sc.last, sc.off
		if err := fn(&r); err != nil {
			return sum, err
		}
	}
	sum.End = sc.off
	if err == nil {
		sum.IsTorn, err = ending(f, path, sc.off, sum.Size, sc.last)
	}
	if err != nil && pardon != nil {
		err = pardon(f, sc, sum.Size, err)
		sum.IsTorn = err == nil
	}
	return sum, err
}

// Names returns the names of the files of the log in dir, ascending. Errors are those of Open.
func Names(fsys vfs.FS, dir string) ([]string, error) {
	o := Options{FS: fsys, Dir: dir}.withDefaults()
	segments, err := listSegments(&o)
	names := make([]string, len(segments))
	for i, s := range segments {
		names[i] = s.name
	}
	return names, err
}

// Needed returns those of the files names, as Names returned them, that Replay from this zxid
// reads.
func Needed(names []string, from proto.Zxid) []string {
	first := 0
	for i, name := range names {
		if z, _, _ := FileZxid(name); z <= from {
			first = i
		}
	}
	return names[first:]
}
