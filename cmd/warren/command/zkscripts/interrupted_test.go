package zkscripts

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// The power fails at every operation of zkServer-initialize.sh and zkCleanup.sh.
func TestInterruptedScripts(t *testing.T) {
	all := map[string]*cmdline.Interruption{}
	for kind, logDir := range cmdline.DataFolders {
		folders := []string{"/d/version-2", logDir + "/version-2"}
		all["initialize, "+kind] = &cmdline.Interruption{LogDir: logDir,
			Run: func(fsys vfs.FS) error {
				n := initialization{fs: fsys, dataDir: "/d", logDir: logDir, id: 3, force: true, out: io.Discard}
				return n.run()
			},
			Wants: func(t *testing.T, _, after cmdline.Sight) { require.Equal(t, cmdline.Sight{Begins: true}, after) }}
		all["cleanup, "+kind] = &cmdline.Interruption{LogDir: logDir,
			Start: func(t *testing.T, mem *vfs.Mem) {
				b := must.ReadFile(t, cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34")
				// as fuzzy ones, which the log makes exact
				for _, name := range []string{"snapshot.35", "snapshot.36"} {
					cmdline.Write(t, mem, "/d/version-2/"+name, b)
				}
			},
			Run: func(fsys vfs.FS) error {
				c := cleanup{fs: fsys, snapDir: folders[0], logDir: folders[1]}
				files, err := c.obsolete(3)
				for _, file := range files {
					err = errors.Join(err, fsys.Remove(file))
				}
				return err
			},
			Wants: func(t *testing.T, before, after cmdline.Sight) { require.Equal(t, before, after) }}
	}
	cmdline.Interrupt(t, all)
}
