package snapshot

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Write writes the body that src produces as the snapshot at zxid. It returns when the snapshot is durable, has been
// read back, and is in the catalogue: a caller may remove the log that leads to it. A file of the same name is
// replaced by rename; then one of the same zxid and another compression is removed. Any error before the rename, among
// them vfs.ErrNoSpace, leaves the directory as it was; one of the catalogue leaves the new file. One Write runs at a
// time; another waits.
//
// The file is read back before it gets its name, so that a name never stands for bytes that were not verified.
func (s *Store) Write(zxid proto.Zxid, src Source) (Meta, error) {
	s.o.Writing.Lock()
	defer s.o.Writing.Unlock()
	if err := s.open(); err != nil {
		return Meta{}, err
	}
	name := FileName(zxid, s.o.Compression)
	tmp := tmpPrefix + name
	wrote, err := s.writeFile(tmp, zxid, src)
	if err == nil {
		err = s.readBack(tmp, wrote)
	}
	if err == nil {
		err = s.o.FS.Rename(s.path(tmp), s.path(name))
	}
	if err != nil {
		return Meta{}, s.abandon(name, tmp, err)
	}
	if err := s.o.FS.SyncDir(s.o.Dir); err != nil {
		return Meta{}, fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	if err := s.remember(name, zxid, wrote); err != nil {
		return Meta{}, fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	if err := s.removeTwins(zxid, name); err != nil {
		return Meta{}, err
	}
	return Meta{Zxid: zxid, Name: name, Size: wrote.size, Verified: true, Checksum: wrote.crc}, nil
}

// removeTwins durably removes a snapshot at zxid with another compression: List might prefer it, and a snapshot
// that was received or restored has another state than the one that was there.
func (s *Store) removeTwins(zxid proto.Zxid, name string) error {
	for _, c := range []Compression{Plain, Gzip, Snappy} {
		twin := FileName(zxid, c)
		if twin == name {
			continue
		}
		switch err := s.o.FS.Remove(s.path(twin)); {
		case isNotExist(err):
			continue
		case err != nil:
			return fmt.Errorf("snapshot: write %s: %w", name, err)
		}
		if err := s.o.FS.SyncDir(s.o.Dir); err != nil {
			return fmt.Errorf("snapshot: write %s: %w", name, err)
		}
		s.warned(twin, s.o.Catalogue.DropSnapshot(twin))
	}
	return nil
}

// abandon removes the unfinished file and adds to err the file that it is about.
func (s *Store) abandon(name, tmp string, err error) error {
	if e := s.o.FS.Remove(s.path(tmp)); e != nil && !isNotExist(e) {
		err = errors.Join(err, e)
	}
	return fmt.Errorf("snapshot: write %s: %w", name, err)
}

// writeFile writes and syncs a file and returns its expected sums.
func (s *Store) writeFile(tmp string, zxid proto.Zxid, src Source) (wrote sums, err error) {
	f, err := s.o.FS.Create(s.path(tmp))
	if err != nil {
		return wrote, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	raw := &rawWriter{f: f, syncBytes: s.syncBytes}
	z := packed(raw, s.o.Compression)
	err = encode(z, zxid, src, s.o.Ensemble(), s.o.OmitLastZxid, s.open)
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = raw.sync()
	}
	return raw.sums, err
}

// readBack verifies a file and compares it with its expected sums.
func (s *Store) readBack(name string, want sums) error {
	_, seen, err := verify(s.o.FS, s.path(name))
	if err == nil && seen != want {
		err = &CorruptError{File: name, What: fmt.Sprintf(
			"read back %d bytes with CRC-32C %#x, wrote %d with %#x", seen.size, seen.crc, want.size, want.crc)}
	}
	return err
}

// open returns ErrClosed after Close.
func (s *Store) open() error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return nil
	}
}
