package wal

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// FileSummary is what Scan found in one file.
type FileSummary struct {
	Records     int
	First, Last proto.Zxid // of the records, 0 without any
	Size        int64      // bytes, zeros included
	End         int64      // where the records end
	IsTorn      bool       // the remains of a write that did not finish follow them
}

// Scan reads one file of a log, whatever its name, and hands every record to fn. It judges the
// file alone, not whether its records are contiguous, and changes nothing. On an error the summary
// covers what could be read.
func Scan(fsys vfs.FS, path string, fn func(*Record) error) (FileSummary, error) {
	var sum FileSummary
	f, err := fsys.Open(path)
	if err != nil {
		return sum, fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	if sum.Size, err = f.Size(); err != nil {
		return sum, fmt.Errorf("wal: %w", err)
	}
	sc, err := newScanner(f, path, sum.Size, 0, nil)
	if err != nil {
		return sum, err
	}
	var r Record
	for {
		ok, err := sc.next(&r)
		if err != nil {
			return sum, err
		}
		if !ok {
			break
		}
		if sum.Records++; sum.Records == 1 {
			sum.First = r.Zxid
		}
		sum.Last, sum.End = r.Zxid, sc.off
		if err := fn(&r); err != nil {
			return sum, err
		}
	}
	sum.End = sc.off
	sum.IsTorn, err = ending(f, path, sc.off, sum.Size, sc.last)
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
