package datadir

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed94657493/warren/wal/vfs"
)

// building is the folder in which the successor of a folder is built. No server reads it.
func building(folder string) string { return filepath.Clean(folder) + ".new" }

// Build makes an empty folder beside folder, in which its successor can be built. What an earlier build has left
// there is removed.
func Build(fsys vfs.FS, folder string) (built string, err error) {
	built = building(folder)
	if err := Discard(fsys, built); err != nil {
		return "", err
	}
	return built, fsys.MkdirAll(built)
}

// Discard removes a folder and the files in it. It is no error if there is none.
func Discard(fsys vfs.FS, folder string) error {
	names, err := fsys.List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fsys.Remove(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return errors.Join(fsys.Remove(folder), fsys.SyncDir(filepath.Dir(folder)))
}
