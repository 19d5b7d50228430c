package snapshot

import (
	"errors"
	"fmt"
	"time"

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
	if s.isClosed() {
		return Meta{}, ErrClosed
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
		if err := s.o.Catalogue.DropSnapshot(twin); err != nil {
			s.o.Warn(twin, err)
		}
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
	raw := &rawWriter{f: f, syncBytes: max(s.o.SyncBytes, 0)}
	z := packed(raw, s.o.Compression)
	start := s.now()
	err = encode(z, zxid, src, s.ensemble(), s.o.OmitLastZxid, func() error { return s.pace(start, raw.size) })
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

// pace waits until the written bytes conform to BytesPerSecond, and notices Close.
func (s *Store) pace(start time.Time, written int64) error {
	if s.o.BytesPerSecond > 0 {
		due := time.Duration(float64(written) / float64(s.o.BytesPerSecond) * float64(time.Second))
		if early := due - s.now().Sub(start); early > 0 {
			s.wait(early, s.closed)
		}
	}
	if s.isClosed() {
		return ErrClosed
	}
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// wait returns after d or when stop is closed.
func wait(d time.Duration, stop <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
}
