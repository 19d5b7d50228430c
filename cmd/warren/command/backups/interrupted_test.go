package backups

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/wal/vfs"
)

// The power fails at every operation of warren restore.
func TestInterruptedRestore(t *testing.T) {
	all := map[string]*cmdline.Interruption{}
	for kind, logDir := range cmdline.DataFolders {
		folders := []string{"/d/version-2", logDir + "/version-2"}
		restore := func(fsys vfs.FS) error {
			b, err := backup.Open(fsys, "/backup")
			if err != nil {
				return err
			}
			_, err = b.Restore(backup.Destination{FS: fsys, SnapDir: folders[0], LogDir: folders[1], Replace: true},
				backup.Target{})
			return err
		}
		all["restore, "+kind] = &cmdline.Interruption{LogDir: logDir, Run: restore,
			Start: func(t *testing.T, mem *vfs.Mem) {
				cmdline.Write(t, mem, "/d/version-2/acceptedEpoch", []byte("7"))
			},
			Wants: func(t *testing.T, before, after cmdline.Sight) {
				require.Equal(t, proto.MakeZxid(8, 1), after.Last)
				require.NotEqual(t, before.Digest, after.Digest)
			}}
		all["restore into empty directories, "+kind] = &cmdline.Interruption{LogDir: logDir, Run: restore, Empty: true,
			Wants: func(t *testing.T, _, after cmdline.Sight) { require.Equal(t, proto.MakeZxid(1, 1), after.Last) }}
		if logDir != "/d" {
			continue
		}
		// With a note in the backup: it is there before the data is, and an interrupted restore can go on.
		once := func(fsys vfs.FS) error {
			b, err := backup.Open(fsys, "/backup")
			if err != nil {
				return err
			}
			to := backup.Destination{FS: fsys, SnapDir: folders[0], LogDir: folders[1], Once: "a"}
			_, noted := fsys.Stat("/backup/restored.a")
			if err := to.Check(); errors.Is(err, backup.ErrNotEmpty) && noted == nil {
				return nil // as --if-empty
			}
			_, err = b.Restore(to, backup.Target{})
			return err
		}
		all["restore once, "+kind] = &cmdline.Interruption{LogDir: logDir, Run: once, Empty: true,
			Wants: func(t *testing.T, _, after cmdline.Sight) { require.Equal(t, proto.MakeZxid(1, 1), after.Last) }}
	}
	cmdline.Interrupt(t, all)
}
