package files

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/wal/vfs"
)

// The power fails at every operation of warren wal repair.
func TestInterruptedRepair(t *testing.T) {
	all := map[string]*cmdline.Interruption{}
	for kind, logDir := range cmdline.DataFolders {
		for name, after := range map[string]proto.Zxid{"repair after a txn, ": 0x20, "repair, ": 0} {
			r := &cmdline.Interruption{LogDir: logDir,
				Run: func(fsys vfs.FS) error {
					r := &walRepair{fs: fsys, out: io.Discard, command: "warren wal repair"}
					if err := r.find(logDir+"/version-2", "/d", after, after > 0); err != nil {
						return err
					}
					return r.run(true, true)
				},
				Wants: func(t *testing.T, before, now cmdline.Sight) { require.Less(t, now.Last, before.Last) }}
			if after == 0 {
				r.Start = func(t *testing.T, mem *vfs.Mem) {
					require.NoError(t, mem.Flip(logDir+"/version-2/log.35", 400, 1))
				}
				r.Wants = func(t *testing.T, _, now cmdline.Sight) { require.Greater(t, now.Last, proto.Zxid(0x34)) }
			}
			all[name+kind] = r
		}
	}
	cmdline.Interrupt(t, all)
}
