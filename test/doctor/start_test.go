package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cluster"
)

// TestServersThatDoNotStart makes the failures of docs/TROUBLESHOOTING.md of servers that do not start: warren doctor
// names each of them, and the server ends with the message of the page.
func TestServersThatDoNotStart(t *testing.T) {
	flip := func(t *testing.T, name string) {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		b[len(b)/2] ^= 4
		require.NoError(t, os.WriteFile(name, b, 0o644))
	}
	write := func(t *testing.T, name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for name, tt := range map[string]struct {
		spoil   func(t *testing.T, n *cluster.Node)
		check   string // that finds it
		message string // of the server
	}{
		"a key that is wrong": {check: "config",
			spoil:   func(_ *testing.T, n *cluster.Node) { n.Set(map[string]string{"tickTime": "often"}) },
			message: "Invalid config, exiting abnormally"},
		"an empty directory": {check: "no-data",
			spoil: func(_ *testing.T, n *cluster.Node) {
				n.Wipe()
				n.Set(map[string]string{"db.autocreate": "false"})
			},
			message: "is empty, and db.autocreate is false"},
		"snapshots that are all damaged": {check: "snapshot-damaged", message: "no snapshot can be loaded",
			spoil: func(t *testing.T, n *cluster.Node) {
				for _, name := range files(t, n, "snapshot.*") {
					flip(t, name)
				}
			}},
		"a damaged snapshot to which the log does not lead": {check: "log-gap", message: "the log does not lead to it",
			spoil: func(t *testing.T, n *cluster.Node) {
				snapshots := files(t, n, "snapshot.*")
				flip(t, snapshots[len(snapshots)-1])
				for _, name := range files(t, n, "log.*") {
					require.NoError(t, os.Remove(name))
				}
			}},
		"a command that was interrupted": {check: "unfinished",
			message: "was interrupted, and what it has left must not be served",
			spoil: func(t *testing.T, n *cluster.Node) {
				write(t, filepath.Join(n.DataDir(), datadir.MarkFile), "warren restore\nrun it again\n")
			}},
		"directories that are mixed up": {check: "mixed-directories",
			message: "dataDir and dataLogDir are mixed up or were not moved together",
			spoil: func(t *testing.T, n *cluster.Node) {
				log := filepath.Join(n.Dir(), "log")
				require.NoError(t, os.MkdirAll(filepath.Join(log, "version-2"), 0o755))
				n.Set(map[string]string{"dataLogDir": log})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			n := used(t)
			tt.spoil(t, n)
			refuses(t, n, tt.message)
			v := examine(t, "--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg"))
			require.Contains(t, v.ills(), tt.check, "%+v", v.Findings)
			require.GreaterOrEqual(t, v.severity(tt.check), doctor.Error)
		})
	}
}

// TestMembersThatDoNotStart is the same for members of an ensemble: the directories of two are exchanged, and the
// epochs of the third contradict each other.
func TestMembersThatDoNotStart(t *testing.T) {
	nodes := ensemble(t, nil, nil, nil, nil)
	for _, n := range nodes {
		n.Stop()
	}
	one, two, three := nodes[0], nodes[1], nodes[2]
	aside := filepath.Join(t.TempDir(), "version-2")
	require.NoError(t, os.Rename(filepath.Join(one.DataDir(), "version-2"), aside))
	require.NoError(t, os.Rename(filepath.Join(two.DataDir(), "version-2"), filepath.Join(one.DataDir(), "version-2")))
	require.NoError(t, os.Rename(aside, filepath.Join(two.DataDir(), "version-2")))
	require.NoError(t, os.Remove(filepath.Join(three.DataDir(), "version-2", "meta.db")))
	for name, epoch := range map[string]string{"acceptedEpoch": "1", "currentEpoch": "2"} {
		require.NoError(t, os.WriteFile(filepath.Join(three.DataDir(), "version-2", name), []byte(epoch), 0o644))
	}
	for _, tt := range []struct {
		n              *cluster.Node
		check, message string
	}{
		{one, "other-server", "meta: meta.db belongs to another server"},
		{two, "other-server", "meta: meta.db belongs to another server"},
		{three, "epoch", "meta: epochs are inconsistent"},
	} {
		v := examine(t, "--no-measure", "--config", filepath.Join(tt.n.Dir(), "zoo.cfg"))
		require.Contains(t, v.ills(), tt.check, "%+v", v.Findings)
		require.Equal(t, doctor.Critical, v.severity(tt.check))
		refuses(t, tt.n, tt.message)
	}
}
