package rescue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/recovery"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// The power fails at every operation of warren recover and warren adopt.
func TestInterruptedRescue(t *testing.T) {
	all := map[string]*cmdline.Interruption{}
	for kind, logDir := range cmdline.DataFolders {
		folders := []string{"/d/version-2", logDir + "/version-2"}
		recover := func(fsys vfs.FS) error {
			y := &recovery.Recovery{FS: fsys, SnapDir: folders[0], LogDir: folders[1],
				Backup: "/survivor", Now: time.Now}
			interrupted, err := y.Resumes()
			if err != nil {
				return err
			}
			r, err := recovery.ReadRecord(fsys, y.Backup)
			h, failed := doctor.ReadHolding(fsys, "/d", logDir)
			switch {
			case err == nil && failed == nil && !interrupted && h.Ensemble() == r.Identity: // it was complete
				return nil
			case err == nil && (interrupted || r.Server != 3):
				_, err = y.Join(r)
				return err
			case failed != nil:
				return failed
			}
			_, err = y.Begin(&recovery.Record{Server: 3, Voters: []int64{1, 2, 3}, Epoch: 1024,
				Last: backup.Zxid(h.Last)})
			return err
		}
		recovered := func(t *testing.T, _, after cmdline.Sight) {
			require.Equal(t, proto.MakeZxid(1024, 1), after.Last)
		}
		if logDir == "/l" {
			all["recovery, "+kind] = &cmdline.Interruption{LogDir: logDir, Run: recover, Wants: recovered}
		} else {
			all["recovery of a server without data, "+kind] = &cmdline.Interruption{LogDir: logDir, Run: recover,
				Wants: recovered, Empty: true, Start: func(t *testing.T, mem *vfs.Mem) {
					from := &recovery.Recovery{FS: mem, SnapDir: "/source", LogDir: "/source",
						Backup: "/survivor", Now: time.Now}
					source := must.Do(backup.Open(mem, "/backup"))(t)
					must.Do(from.Begin(&recovery.Record{Server: 2, Voters: []int64{1, 2, 3}, Epoch: 1024,
						Last: backup.Zxid(source.Manifest.Last())}))(t)
				}}
		}
		all["adopt, "+kind] = &cmdline.Interruption{LogDir: logDir,
			Run: func(fsys vfs.FS) error {
				_, err := datadir.SetAside(fsys, folders, "warren adopt",
					".set-aside-"+fmt.Sprint(time.Now().UnixNano()))
				return err
			},
			Wants: func(t *testing.T, _, after cmdline.Sight) { require.Equal(t, cmdline.Sight{}, after) }}
	}
	cmdline.Interrupt(t, all)
}
