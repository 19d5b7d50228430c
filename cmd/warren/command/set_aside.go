package command

import (
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// setAside gives the folders of one server's data other names, as one change, and returns those that it has renamed,
// by their old names. Folders without data are left out.
func setAside(fsys vfs.FS, folders []string, command, suffix string) (renamed []string, err error) {
	change, err := datadir.Begin(fsys, folders...)
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
