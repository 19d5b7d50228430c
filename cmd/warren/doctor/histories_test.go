package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// checks returns the findings of some checks.
func (f Findings) checks(names ...string) (some Findings) {
	for _, one := range f {
		for _, name := range names {
			if one.Check == name {
				some = append(some, one)
			}
		}
	}
	return some
}

func TestServerStaysOutside(t *testing.T) {
	check := func(self findings.Server) (string, Findings) {
		self.ID, self.Instance, self.Mode = 3, 1, "looking"
		record := must.Do(json.Marshal(&findings.Record{Self: self}))(t)
		idle := wordServer(t, map[string]string{"srvr": "This ZooKeeper instance is not currently serving requests\n",
			"fact": string(record)})
		e := Ensemble{Servers: []string{idle}, Timeout: 5 * time.Second, Now: time.Now}
		return idle, e.Check(t.Context()).checks("outside", "other-history", "not-serving")
	}
	history := findings.History{Server: 2, Reason: "ensemble 1 is not ensemble 2", Own: "mine", Theirs: "theirs"}
	self := findings.Server{Strangers: []findings.History{history}}
	_, found := check(self)
	require.Len(t, found, 2, "a server that looks for a leader among others")
	require.Equal(t, "says that server 2 has another history: ensemble 1 is not ensemble 2; that server has: theirs",
		found[1].What)

	self.Outside = &history
	address, outside := check(self)
	const what = "stays outside the ensemble that server 2 leads: ensemble 1 is not ensemble 2; " +
		"it has: mine; the leader has: theirs"
	require.Equal(t, Findings{{Severity: Critical, Check: "outside", Subject: address, What: what,
		Remedy: findings.RemedyOutside}}, outside)
}

// What directories of ZooKeeper say is less: the epochs, and how far they go.
func TestCompareDirectoriesOfZooKeeper(t *testing.T) {
	root := t.TempDir()
	old, empty := filepath.Join(root, "old"), filepath.Join(root, "empty")
	require.NoError(t, os.CopyFS(old, os.DirFS(fixtures+"02-snapshot-and-log")))
	require.NoError(t, os.WriteFile(filepath.Join(old, "version-2", "acceptedEpoch"), []byte("7"), 0o644))
	require.NoError(t, os.MkdirAll(empty, 0o755))
	f := CompareDirectories(vfs.OS(), []string{old, empty}, "")
	require.Len(t, f, 2)
	require.Regexp(t, `^ensemble unknown, no epoch, .*; acceptedEpoch 7, currentEpoch 0; last txn 0x\w+ of 20\d\d-`,
		f[0].What)
	require.Regexp(t, `^ensemble unknown, no epoch, .*; acceptedEpoch 0, currentEpoch 0; no data$`, f[1].What)

	// A kill in the middle of a snapshot leaves the beginning of a file, which tells nothing.
	require.NoError(t, os.WriteFile(filepath.Join(old, "version-2", "snapshot.35"), nil, 0o644))
	require.Equal(t, f[0].What, CompareDirectories(vfs.OS(), []string{old}, "")[0].What)

	require.NoError(t, os.WriteFile(filepath.Join(empty, "version-2"), nil, 0o644))
	f = CompareDirectories(vfs.OS(), []string{empty}, "")
	require.Len(t, f, 1)
	require.Equal(t, Error, f[0].Severity)
	require.NotEmpty(t, f[0].Remedy)
}
