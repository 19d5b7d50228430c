package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/seed94657493/warren/wal/vfs"
)

// setAside gives the folders of one server's data other names, durably, and returns those that it has renamed, by
// their old names. Folders that are missing are left out. It holds the locks of all of them, so no server runs on
// them meanwhile.
//
// The folder with the snapshots must come first: a crash between the two leaves a log without a snapshot, on which no
// server starts.
func setAside(fsys vfs.FS, dirs []string, suffix string) (renamed []string, err error) {
	var there []string
	var locks []io.Closer
	defer func() {
		for _, lock := range locks {
			err = errors.Join(err, lock.Close())
		}
	}()
	for _, dir := range dirs {
		if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		lock, err := fsys.Lock(filepath.Join(dir, ".warren.lock"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w: stop the server first", dir, err)
		}
		there, locks = append(there, dir), append(locks, lock)
	}
	for _, dir := range there {
		if err := fsys.Rename(dir, dir+suffix); err != nil {
			return renamed, err
		}
		renamed = append(renamed, dir)
		if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
			return renamed, err
		}
	}
	return renamed, nil
}
