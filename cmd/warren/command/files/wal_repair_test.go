package files

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestWALRepair(t *testing.T) {
	for _, tt := range []struct {
		fixture string
		args    []string
		says    []string // of the plan
		needs   string   // the flag without which nothing happens, besides --yes
		last    string   // txn after the repair
		saved   []string
	}{
		{fixture: "03-torn-tail-zeros", says: []string{"a write that did not finish", "lost: nothing"}, last: "0x3d",
			saved: []string{"repair.log.35.*"}},
		{fixture: "04-torn-tail-truncated", says: []string{"lost: nothing"}, last: "0x3d",
			saved: []string{"repair.log.35.*"}},
		{fixture: "05-crc-mismatch-last-record", says: []string{"checksum", "LOST: whatever is damaged"},
			needs: "--lose-txns", last: "0x3d", saved: []string{"repair.log.35.*"}},
		{fixture: "06-crc-mismatch-middle-record", says: []string{"LOST: 7 txns that can still be read, 0x38 to 0x3e"},
			needs: "--lose-txns", last: "0x36", saved: []string{"repair.log.35.*"}},
		{fixture: "02-snapshot-and-log", args: []string{"--after", "0x38"},
			says: []string{"LOST: 6 txns that can still be read, 0x39 to 0x3e"}, needs: "--lose-txns", last: "0x38",
			saved: []string{"repair.log.35.*"}},
		{fixture: "02-snapshot-and-log", args: []string{"--after", "0x34"},
			says: []string{"cut at offset 16", "LOST: 10 txns"}, needs: "--lose-txns", last: "0x34",
			saved: []string{"repair.log.35"}},
		{fixture: "02-snapshot-and-log", args: []string{"--after", "0x20"},
			says: []string{"set aside", "1 later log file;", "LOST: 30 txns"}, needs: "--lose-txns", last: "0x20",
			saved: []string{"repair.log.1.*", "repair.log.35", "repair.snapshot.34"}},
	} {
		t.Run(tt.fixture+strings.Join(tt.args, ""), func(t *testing.T) {
			dir := cmdline.CopyFixture(t, tt.fixture)
			before := cmdline.Contents(t, dir)
			args := append([]string{"repair", dir}, tt.args...)
			code, out, errs := runWAL(args...)
			require.Equal(t, 1, code)
			for _, s := range tt.says {
				require.Contains(t, out, s)
			}
			require.Contains(t, errs, "nothing was changed")
			require.Equal(t, before, cmdline.Contents(t, dir))
			args = append(args, "--yes")
			if tt.needs != "" {
				code, _, errs = runWAL(args...)
				require.Equal(t, 1, code)
				require.Contains(t, errs, tt.needs)
				require.Equal(t, before, cmdline.Contents(t, dir))
				args = append(args, tt.needs)
			}
			code, out, errs = runWAL(args...)
			require.Zero(t, code, errs)
			require.Contains(t, out, "to txn "+tt.last+"\n")
			for _, pattern := range tt.saved {
				require.Len(t, must.Glob(t, filepath.Join(dir, "version-2", pattern)), 1, pattern)
			}
			runs(t, "wal", "verify", dir)
			if len(tt.args) == 0 {
				_, out, _ = runWAL("repair", dir)
				require.Contains(t, out, "nothing to repair")
			}
		})
	}
}

// A log that ends with the txn after which everything is to go is whole, but a server does not start on it beside a
// newer snapshot: that is set aside.
func TestWALRepairBesideANewerSnapshot(t *testing.T) {
	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	repair := []string{"repair", dir, "--after", "0x20", "--yes", "--lose-txns"}
	code, _, errs := runWAL(repair...)
	require.Zero(t, code, errs)
	code, out, _ := runWAL(repair...)
	require.Zero(t, code)
	require.Contains(t, out, "nothing to repair")
	snapshot := dir + "/version-2/snapshot.34"
	require.NoError(t, os.Rename(dir+"/version-2/repair.snapshot.34", snapshot))
	code, out, errs = runWAL(repair[:len(repair)-1]...)
	require.Equal(t, 1, code)
	require.Contains(t, out, "nothing to cut: the log ends with txn 0x20\nset aside "+snapshot)
	require.Contains(t, errs, "--lose-txns")
	require.FileExists(t, snapshot)
	code, out, errs = runWAL(repair...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "ok: the log is whole from snapshot 0x0 to txn 0x20")
	require.NoFileExists(t, snapshot)
	require.FileExists(t, dir+"/version-2/repair.snapshot.34")
}

// What is cut and what is saved are together what was there.
func TestWALRepairSavesEveryByte(t *testing.T) {
	dir := cmdline.CopyFixture(t, "06-crc-mismatch-middle-record")
	whole := must.ReadFile(t, dir+"/version-2/log.35")
	runs(t, "wal", "repair", dir, "--yes", "--lose-txns")
	kept := must.ReadFile(t, dir+"/version-2/log.35")
	saved := must.Glob(t, dir+"/version-2/repair.log.35.*")
	rest := must.ReadFile(t, saved[0])
	require.True(t, bytes.Equal(whole, append(kept, rest...)))
}

// What an earlier repair has saved under the same name is kept.
func TestSecondWALRepairKeepsWhatTheFirstHasSaved(t *testing.T) {
	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	log := dir + "/version-2/log.35"
	first := must.ReadFile(t, log)
	repair := func() {
		runs(t, "wal", "repair", dir, "--after", "0x34", "--yes", "--lose-txns")
	}
	repair()
	second := append(bytes.Clone(first), make([]byte, 64)...) // the server has begun a file of that name again
	require.NoError(t, os.WriteFile(log, second, 0o600))
	repair()
	for name, want := range map[string][]byte{"repair.log.35": first, "repair.log.35.2": second} {
		b := must.ReadFile(t, dir+"/version-2/"+name)
		require.True(t, bytes.Equal(want, b), name)
	}
}

// A member of an ensemble does not start with less than it knows to be committed, so a repair says what to do then.
func TestWALRepairOfAMember(t *testing.T) {
	dir := t.TempDir()
	e := embed.Start(t, embed.Options{Servers: 3, Dir: dir})
	c := must.Do(client.Dial(t.Context(), e.ConnectString()))(t)
	for _, path := range []string{"/a", "/b", "/c"} {
		must.Do(c.Create(t.Context(), path, nil, client.Persistent))(t)
	}
	require.NoError(t, c.Close())
	for id := 1; id <= 3; id++ {
		e.Stop(id)
	}
	data := filepath.Join(dir, "server-1")
	code, out, errs := runWAL("dump", data)
	require.Zero(t, code, errs)
	first := regexp.MustCompile(`zxid=(\w+)`).FindStringSubmatch(out)[1]
	code, out, _ = runWAL("repair", data, "--after", first)
	require.Equal(t, 1, code)
	require.Contains(t, out, "a member of an ensemble does not start from what is left")
	require.Contains(t, out, "warren restore BACKUP DATA_DIR --force")
}

func TestWALRepairRefuses(t *testing.T) {
	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	out := runs(t, "wal", "repair", dir)
	require.Contains(t, out, "nothing to repair")

	code, _, errs := runWAL("repair", dir, "--after", "0x99", "--yes", "--lose-txns")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "does not contain txn 0x99")

	lock := must.Do(vfs.OS().Lock(dir + "/version-2/.warren.lock"))(t)
	code, _, errs = runWAL("repair", dir, "--after", "0x38", "--yes", "--lose-txns")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "stop the server first")
	require.NoError(t, lock.Close())

	require.NoError(t, os.Remove(dir+"/version-2/snapshot.0"))
	before := cmdline.Contents(t, dir)
	code, _, errs = runWAL("repair", dir, "--after", "0x20", "--yes", "--lose-txns")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no snapshot that knows nothing after txn 0x20")
	require.Equal(t, before, cmdline.Contents(t, dir))

	dir = cmdline.CopyFixture(t, "02-snapshot-and-log")
	require.NoError(t, os.WriteFile(dir+"/version-2/snapshot.3f", nil, 0o600)) // damaged, and not in the log
	before = cmdline.Contents(t, dir)
	code, _, errs = runWAL("repair", dir, "--yes", "--lose-txns")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no txn 0x3f in the log after snapshot 0x34, but there is snapshot.3f")
	require.Equal(t, before, cmdline.Contents(t, dir))
	out = runs(t, "wal", "repair", dir, "--after", "0x38", "--yes", "--lose-txns")
	require.Contains(t, out, "renamed snapshot.3f to repair.snapshot.3f", "a server would not start beside it")

	code, _, errs = runWAL("repair", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no log files")
}

func FuzzSalvage(f *testing.F) {
	b := must.ReadFile(f, cmdline.Fixtures+"zookeeper-3.8/11-tiny/version-2/log.1")
	f.Add(b[:600])
	f.Add(b[20:600])
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := vfs.NewMem()
		file := must.Do(mem.Create("/x"))(t)
		must.Do(file.Write(data))(t)
		require.LessOrEqual(t, len(must.Do(salvage(file, 0))(t)), len(data)/45)
		require.NoError(t, file.Close())
	})
}
