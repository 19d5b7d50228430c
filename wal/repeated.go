package wal

import (
	"bytes"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// searchesMax bounds how often the first records of repeated txns are searched in the log for one file. ZooKeeper
// repeats one run of txns for each leader that it loses.
const searchesMax = 100

// firsts finds the first record of each txn that a file of the log repeats, and compares the two. It belongs to a
// walk.
type firsts struct {
	w     *walk
	index int // of the file that repeats

	compared int // repeated records
	searches int
	at       int // index of the file that is open
	file     vfs.File
	sc       *scanner
	record   Record
}

// compare refuses a repeated record that differs from the first one of its zxid, and one whose first is missing. A
// txn that the snapshot has needs no first: its file may have been purged.
func (f *firsts) compare(r *Record) error {
	f.compared++
	found := false
	var err error
	if f.sc != nil && f.record.Zxid+1 == r.Zxid { // the next one of a run
		found, err = f.advance(r)
	}
	if err == nil && !found {
		found, err = f.search(r)
	}
	switch {
	case err != nil:
		return err
	case !found && r.Zxid < f.w.from:
		return nil
	case !found:
		return corrupt(r.File, r.Offset, r.Zxid, "the record comes after a later txn")
	case !bytes.Equal(f.record.Payload, r.Payload):
		return corrupt(r.File, r.Offset, r.Zxid,
			"the record repeats the zxid of the one in %s at offset %d and differs from it", f.record.File,
			f.record.Offset)
	}
	return nil
}

// search opens the file in which the first record of a txn must be, and reads up to it.
func (f *firsts) search(r *Record) (found bool, err error) {
	if f.searches++; f.searches > searchesMax {
		return false, corrupt(r.File, r.Offset, r.Zxid, "the zxids of the file go back more than %d times",
			searchesMax)
	}
	f.at = needed(f.w.segments[:f.index+1], r.Zxid)
	if err := f.open(r); err != nil {
		return false, err
	}
	for {
		found, err = f.advance(r)
		if found || err != nil || f.record.Zxid > r.Zxid || f.sc == nil {
			return found, err
		}
	}
}

// advance reads the next first record, and reports whether it has the zxid of r.
func (f *firsts) advance(r *Record) (found bool, err error) {
	ok, err := f.sc.nextNew(&f.record)
	if err != nil {
		return false, err
	}
	if ok {
		return f.record.Zxid == r.Zxid, nil
	}
	f.at++
	return false, f.open(r)
}

// open opens the file at index at, if it is not behind the one that repeats, and reads it up to the record r.
func (f *firsts) open(r *Record) (err error) {
	f.close()
	if f.at > f.index {
		return nil
	}
	s := f.w.segments[f.at]
	path, limit := f.w.o.path(s.name), f.w.sizes[s]
	if f.at == f.index {
		limit = r.Offset
	}
	if f.file, err = f.w.o.FS.Open(path); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	f.sc, err = newScanner(f.file, path, limit, proto.Zxid(0), nil)
	return err
}

// close closes the file that is open.
func (f *firsts) close() {
	if f.file != nil {
		_ = f.file.Close() // it was read only
	}
	f.file, f.sc, f.record = nil, nil, Record{}
}
