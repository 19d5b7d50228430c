package meta

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/wal/vfs"
)

// Names of ZooKeeper's epoch files, in the version-2 directory of dataDir.
const (
	acceptedFile = "acceptedEpoch"
	currentFile  = "currentEpoch"
	tmpSuffix    = ".tmp" // of vfs.WriteFile, and of the reference
)

// epochFileMax bounds an epoch file: its first line is a number.
const epochFileMax = 4096

// epochFiles reads and writes ZooKeeper's epoch files. Source: storage 1.4.
type epochFiles struct {
	fs  vfs.FS
	dir string
}

// blankFile is beside meta.db as long as the server is blank, so that a meta.db which is made anew knows it. It is
// written before meta.db says so, and removed before meta.db says that the server counts: where the file is, the
// server is blank.
const blankFile = "warren.blank"

// mark writes or removes blankFile, durably.
func (e epochFiles) mark(blank bool) error {
	if blank {
		return e.write(blankFile, 1)
	}
	if err := e.fs.Remove(filepath.Join(e.dir, blankFile)); err != nil {
		if errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
		return err
	}
	return e.fs.SyncDir(e.dir)
}

// marked reports whether there is a blankFile, whatever it holds.
func (e epochFiles) marked() (bool, error) {
	f, err := e.fs.Open(filepath.Join(e.dir, blankFile))
	if errors.Is(err, iofs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// read returns the epoch in a file; ok is false if there is no such file.
func (e epochFiles) read(name string) (epoch int64, ok bool, err error) {
	path := filepath.Join(e.dir, name)
	b, err := vfs.ReadFile(e.fs, path, epochFileMax)
	if errors.Is(err, iofs.ErrNotExist) {
		return unset, false, nil
	}
	if err != nil {
		return unset, false, err
	}
	line := string(b)
	if i := strings.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	epoch, err = strconv.ParseInt(line, 10, 64)
	if err != nil || epoch < 0 {
		return unset, false, fmt.Errorf("%s does not hold an epoch but %.40q", path, line)
	}
	return epoch, true, nil
}

// write replaces a file: no newline, as the reference.
func (e epochFiles) write(name string, epoch int64) error {
	return vfs.WriteFile(e.fs, filepath.Join(e.dir, name), strconv.AppendInt(nil, epoch, 10))
}
