package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/wal/vfs"
)

// Folder is the name of the folder of a data directory that holds the files of this format generation.
const Folder = "version-2"

// LockFile keeps a second server away from a folder. Java ignores it.
const LockFile = ".warren.lock"

// MarkFile is the mark of a change that has not ended. It is beside the folder.
const MarkFile = "warren.unfinished"

// markMax bounds a mark, in bytes.
const markMax = 64 << 10

// Unfinished is the error for directories in which a Change was interrupted.
type Unfinished struct {
	Mark    string // path of the mark
	Command string // that made the change
	WayOut  string // what is to be done, for operators
}

// Error says what was going on and what to do.
func (u *Unfinished) Error() string {
	return fmt.Sprintf("%s: %s was interrupted, and what it has left must not be served: %s", u.Mark,
		u.Command, u.WayOut)
}

// Check returns an *Unfinished if one of the folders is marked. The folders need not exist.
func Check(fsys vfs.FS, folders ...string) error {
	for _, folder := range folders {
		name := markOf(folder)
		text, err := vfs.ReadFile(fsys, name, markMax)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		u := &Unfinished{Mark: name, Command: "a command", WayOut: "run it again"}
		if command, wayOut, ok := strings.Cut(string(text), "\n"); ok {
			u.Command, u.WayOut = command, strings.TrimSpace(wayOut)
		}
		return u
	}
	return nil
}

func markOf(folder string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(folder)), MarkFile)
}

// Change is a change of the folders of one server. Begin, Mark, the steps, and Finish, or Abandon or Leave after an
// error. It is for one goroutine.
type Change struct {
	fs      vfs.FS
	folders []string
	locks   []io.Closer
	moved   []move
	again   bool // the folders were marked before: an earlier change is not complete
}

// move is a rename.
type move struct{ from, to string }

// LockedError says that another process has a folder open: a server, or a command that changes it.
type LockedError struct {
	Holder string // that process, such as "warren (pid 4711)"; in words if that cannot be told
	Err    error  // vfs.ErrLocked
}

// Error names the process. What comes before it names the folder.
func (e *LockedError) Error() string { return "is in use by " + e.Holder }

// Unwrap returns vfs.ErrLocked.
func (e *LockedError) Unwrap() error { return e.Err }

// Locked returns the error of locking a folder, as a *LockedError if another process has it open.
func Locked(folder string, err error) error {
	if !errors.Is(err, vfs.ErrLocked) {
		return err
	}
	return &LockedError{inuse.LockHolder(filepath.Join(folder, LockFile)), err}
}

// StopFirst is Locked for commands that change a folder, with the name of the folder and what to do.
func StopFirst(folder string, err error) error {
	if err = Locked(folder, err); errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%s %w: stop the server first", folder, err)
	}
	return err
}

// Begin locks the folders, so that no server runs on them, and nothing else changes them. Folders that are missing
// are made. It returns a *LockedError if a server runs.
func Begin(fsys vfs.FS, folders ...string) (*Change, error) {
	c := &Change{fs: fsys}
	for _, folder := range folders {
		if folder = filepath.Clean(folder); !slices.Contains(c.folders, folder) {
			c.folders = append(c.folders, folder)
		}
	}
	for _, folder := range c.folders {
		if err := fsys.MkdirAll(folder); err != nil {
			return nil, c.Leave(err)
		}
		lock, err := fsys.Lock(filepath.Join(folder, LockFile))
		if err != nil {
			return nil, c.Leave(StopFirst(folder, err))
		}
		c.locks = append(c.locks, lock)
	}
	return c, nil
}

// Mark marks the folders, durably: what follows is a change that a server must not see a part of. command is the name
// of the command, wayOut what an operator is to do if it is interrupted. Marks that are there already are replaced.
func (c *Change) Mark(command, wayOut string) error {
	var unfinished *Unfinished
	if err := Check(c.fs, c.folders...); err != nil && !errors.As(err, &unfinished) {
		return err
	}
	c.again = unfinished != nil
	for _, folder := range c.folders {
		if err := vfs.WriteFile(c.fs, markOf(folder), []byte(command+"\n"+wayOut+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// SetAside renames the folders that hold data, durably: each gets suffix behind its name. It returns those, by their
// old names. Folders without data are removed.
func (c *Change) SetAside(suffix string) (renamed []string, err error) {
	for _, folder := range c.folders {
		names, err := c.fs.List(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return renamed, err
		}
		if !slices.ContainsFunc(names, IsData) {
			if err := Discard(c.fs, folder); err != nil {
				return renamed, err
			}
			continue
		}
		if err := c.rename(folder, folder+suffix); err != nil {
			return renamed, err
		}
		renamed = append(renamed, folder)
	}
	return renamed, nil
}

// FormatDir returns the folder of a data directory that holds the files: version-2, or the directory if that is it.
func FormatDir(dir string) string {
	if filepath.Base(filepath.Clean(dir)) == Folder {
		return dir
	}
	return filepath.Join(dir, Folder)
}

// SetAside gives the folders of one server's data other names, as one change, and returns those that it has renamed,
// by their old names. Folders without data are left out. command is named by the mark meanwhile.
func SetAside(fsys vfs.FS, folders []string, command, suffix string) (renamed []string, err error) {
	change, err := Begin(fsys, folders...)
	if err != nil {
		return nil, err
	}
	if err = change.Mark(command, "run it again"); err == nil {
		renamed, err = change.SetAside(suffix)
	}
	if err != nil {
		return nil, change.Abandon(err)
	}
	return renamed, change.Finish()
}

// IsData reports whether a name in a folder is that of a file which a server would miss: it is no lock, and no file
// that was still being written.
func IsData(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "tmp.")
}

// Place gives built, which is beside folder and durable, the name of folder. There is none of that name.
func (c *Change) Place(built, folder string) error { return c.rename(built, folder) }

func (c *Change) rename(from, to string) error {
	if err := c.fs.Rename(from, to); err != nil {
		return err
	}
	c.moved = append(c.moved, move{from, to})
	return c.fs.SyncDir(filepath.Dir(from))
}

// Finish removes the marks and the locks: the change is complete.
func (c *Change) Finish() error {
	for _, folder := range c.folders {
		name := markOf(folder)
		if err := c.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, c.unlock())
		}
		if err := c.fs.SyncDir(filepath.Dir(name)); err != nil {
			return errors.Join(err, c.unlock())
		}
	}
	return c.unlock()
}

// Abandon takes all renames back because of cause, and ends the change. The marks stay if they were there before it.
// It returns cause, with what went wrong besides.
func (c *Change) Abandon(cause error) error {
	for _, m := range slices.Backward(c.moved) {
		if err := errors.Join(c.fs.Rename(m.to, m.from), c.fs.SyncDir(filepath.Dir(m.from))); err != nil {
			return c.Leave(errors.Join(cause, err))
		}
	}
	if c.again {
		return c.Leave(cause)
	}
	return errors.Join(cause, c.Finish())
}

// Leave ends the work on a change that is not complete because of cause, and leaves the marks. It returns cause.
func (c *Change) Leave(cause error) error { return errors.Join(cause, c.unlock()) }

func (c *Change) unlock() (err error) {
	for _, lock := range c.locks {
		err = errors.Join(err, lock.Close())
	}
	c.locks = nil
	return err
}
