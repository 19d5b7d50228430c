package facts

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/wal/vfs"
)

// hangingDisk is a disk of which one folder does not answer until it is released.
type hangingDisk struct {
	vfs.FS
	folder   string
	released chan struct{}
}

func (d *hangingDisk) Open(name string) (vfs.File, error) {
	if strings.HasPrefix(name, d.folder) {
		<-d.released
	}
	return d.FS.Open(name)
}

// Who looks at the folders of backups must not wait for a disk that does not answer, as that of another machine.
func TestBackupFolderThatDoesNotAnswer(t *testing.T) {
	d := &hangingDisk{FS: vfs.NewMem(), folder: "/away", released: make(chan struct{})}
	cfg := &config.Config{Admin: config.Admin{ConsoleBackups: []string{"/away", "/here"}}}
	f := &Facts{Env: &env.Env{Config: cfg, FS: d, Runtime: sched.OS()}}
	for range 2 {
		all := f.BackupFolders()
		require.Contains(t, all[0].Trouble, "its disk has not answered for ")
		require.Contains(t, all[1].Trouble, "there is no manifest.json")
	}
	ended := f.lookAtBackup("/away")
	close(d.released)
	<-ended
	require.Contains(t, f.BackupFolders()[0].Trouble, "there is no manifest.json")
}

// A backup is what its manifest tells, as far as the files are there, and a damaged manifest tells nothing.
func TestBackupFolders(t *testing.T) {
	fs := vfs.NewMem()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, vfs.WriteFile(fs, "/b/"+name, []byte(text)))
	}
	signed := func(text string) string { return fmt.Sprintf("%ssha256 %x\n", text, sha256.Sum256([]byte(text))) }
	require.NoError(t, fs.MkdirAll("/b"))
	require.Contains(t, backupIn(fs, "/b").Trouble, "there is no manifest.json")
	manifest := `{"format":1,"source":"zk1:2181","entries":[
		{"kind":"snapshot","file":"snapshot.5","bytes":9,"last":"0x5","taken":"2026-01-31T12:00:00Z"},
		{"kind":"log","file":"log.6","bytes":20,"last":"0x8","txns":3,"lastTime":1769860700000,
			"taken":"2026-01-31T12:00:00Z","sealed":{"bytes":30}}]}
`
	write("manifest.json", signed(manifest))
	write("snapshot.5", strings.Repeat("x", 9))
	require.Equal(t, "1 of its 2 files are missing, or have another size than its manifest tells",
		backupIn(fs, "/b").Trouble)
	write("log.6", strings.Repeat("x", 30))
	require.Equal(t, BackupFolder{Folder: "/b", Source: "zk1:2181", Snapshots: 1, Txns: 3, Bytes: 29, Last: "0x8",
		LastAt: 1769860700000, Taken: 1769860800000, Encrypted: true}, backupIn(fs, "/b"))

	// As many files as a backup may have, as it writes them.
	sum := strings.Repeat("0", sha256.Size*2)
	entry := fmt.Sprintf(`    {
      "kind": "log",
      "file": "log.6",
      "bytes": 30,
      "sha256": "%[1]s",
      "first": "0x500000006",
      "last": "0x500000008",
      "txns": 3,
      "firstTime": 1769860700000,
      "lastTime": 1769860700000,
      "lastSum": "%[1]s",
      "digest": 123456789012,
      "digestZxid": "0x500000008",
      "taken": "2026-01-31T12:00:00Z"
    }`, sum)
	many := strings.Repeat(entry+",\n", backupEntriesMax-1) + entry
	write("manifest.json", signed(`{"format":1,"source":"zk1:2181","entries":[`+many+"]}\n"))
	require.Empty(t, backupIn(fs, "/b").Trouble)

	for _, damaged := range []string{"", "sha256 ", strings.Replace(signed(manifest), "zk1", "zk2", 1),
		signed(`{"format":2}`), signed("[]"), strings.Repeat("x", backupManifestMax+1)} {
		write("manifest.json", damaged)
		require.NotEmpty(t, backupIn(fs, "/b").Trouble)
	}
}
