package vfs

import (
	"errors"
	"io/fs"
	"os"
)

// Like gives a file of the operating system the mode of another one, and its owner where this process may: what takes
// the place of a file, or holds a part of its content, is not to be read by more users than that file. On other
// filesystems, and if the other file does not exist, it does nothing.
func Like(fsys FS, name, model string) error {
	if _, ok := fsys.(osFS); !ok {
		return nil
	}
	info, err := os.Stat(model)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := takeOwner(name, info); err != nil {
		return err
	}
	return os.Chmod(name, info.Mode().Perm())
}
