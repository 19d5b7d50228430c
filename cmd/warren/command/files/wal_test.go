package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// TestWALDump holds the txns of storage 13.
func TestWALDump(t *testing.T) {
	dir := cmdline.Fixtures + "zookeeper-3.8/11-tiny"
	const want = `2026-11-21T05:53:54.413Z session=0x100002c4c590000 cxid=0 zxid=0x1 createSession size=48 timeoutMs=1000000000 digest=1371985504
2026-11-21T05:53:54.424Z session=0x100002c4c590000 cxid=1 zxid=0x2 create /a size=87 data=1 digest=4872376239
2026-11-21T05:53:54.435Z session=0x100002c4c590000 cxid=2 zxid=0x3 setData /a size=60 data=2 version=1 digest=3123476289
2026-11-21T05:53:54.438Z session=0x100002c4c590000 cxid=3 zxid=0x4 error size=36 error=NodeExists
2026-11-21T05:53:54.440Z session=0x100002c4c590000 cxid=4 zxid=0x5 create2 /e size=89 data=3 ephemeral digest=6278454753
2026-11-21T05:53:54.768Z session=0x100002c4c590000 cxid=11 zxid=0x6 delete /a size=50 digest=5678412170
2026-11-21T05:53:54.771Z session=0x100002c4c590000 cxid=12 zxid=0x7 closeSession size=54 delete=/e digest=2653987572
`
	out := runs(t, "wal", "dump", dir)
	require.Equal(t, want, out)
	lines := strings.SplitAfter(want, "\n")

	out = runs(t, "wal", "dump", dir+"/version-2/log.6")
	require.Equal(t, strings.Join(lines[5:], ""), out)

	out = runs(t, "wal", "dump", "--from", "0x3", "--to", "4", dir+"/version-2")
	require.Equal(t, strings.Join(lines[2:4], ""), out)

	out = runs(t, "wal", "dump", "--output", "json", "--from", "5", "--to", "5", dir)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, map[string]any{
		"time": "2026-11-21T05:53:54.440Z", "session": "0x100002c4c590000", "cxid": 4.0, "zxid": "0x5",
		"type": "create2", "path": "/e", "size": 89.0, "dataLength": 3.0, "acl": []any{"world:anyone:cdrwa"},
		"ephemeral": true, "digest": 6278454753.0, "file": filepath.Join(dir, "version-2/log.1"), "offset": 299.0,
	}, got)
}

// TestWALDumpOfEveryType reads the fixture that holds every type of txn.
func TestWALDumpOfEveryType(t *testing.T) {
	out := runs(t, "wal", "dump", cmdline.Fixtures+"zookeeper-3.8/01-log-only")
	require.Equal(t, 0x34, strings.Count(out, "\n"))
	require.NotContains(t, out, "decoded")
	for _, s := range []string{" create /", " create2 /", " createContainer /", " createTTL /", "ttlMs=", " setACL /",
		" delete /", " deleteContainer /", " multi size=", " [create /", " [error ", "data=-1"} {
		require.Contains(t, out, s)
	}
}

func TestWALDumpOfADamagedFile(t *testing.T) {
	code, out, errs := runWAL("dump", cmdline.Fixtures+"zookeeper-3.8/05-crc-mismatch-last-record")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, 0x3d, strings.Count(out, "\n"), "all but the damaged one")
	require.Contains(t, errs, "log.35 at offset")
	require.Contains(t, errs, "zxid 0x3e")
}

func TestWALVerify(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		want []string
	}{
		"02-snapshot-and-log": {0, []string{
			"log.35: 10 txns from 0x35 to 0x3e, 65552 bytes",
			"newest snapshot: 0x34\nto replay: 10 txns from 0x35 to 0x3e\nok\n"}},
		"03-torn-tail-zeros": {0, []string{"will be done at start: cut ",
			"log.35 at offset 899: torn tail, the write after txn 0x3d did not finish\nok\n"}},
		"06-crc-mismatch-middle-record": {1,
			[]string{"PROBLEM: a server would refuse to start: ", "log.35 at offset ", "zxid 0x37: corrupt log: ",
				"what to do: "}},
		"11-tiny": {0, []string{"log.1: 5 txns from 0x1 to 0x5, 5136 bytes, 4735 of them behind the last txn\n"}},
	} {
		code, out, errs := runWAL("verify", cmdline.Fixtures+"zookeeper-3.8/"+name)
		require.Equal(t, c.code, code, name)
		require.Equal(t, c.code == 0, errs == "", errs)
		for _, s := range c.want {
			require.Contains(t, out, s, name)
		}
	}
}

// TestWALVerifyPassesOverDamagedSnapshots checks a log that leads over a damaged snapshot. The damaged snapshot need
// not even be plausible.
func TestWALVerifyPassesOverDamagedSnapshots(t *testing.T) {
	out := runs(t, "wal", "verify", cmdline.Fixtures+"zookeeper-3.8/08-corrupt-newest-snapshot")
	require.Contains(t, out, "newest snapshot: 0x0\nto replay: 62 txns from 0x1 to 0x3e\nok\n")

	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	require.NoError(t, os.WriteFile(dir+"/version-2/snapshot.3e", nil, 0o600))
	runs(t, "wal", "verify", dir)
	require.NoError(t, os.WriteFile(dir+"/version-2/snapshot.100000007", []byte("no snapshot"), 0o600))
	code, out, _ := runWAL("verify", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out,
		"a server would refuse to start: the log does not lead to it: no txn 0x100000007 in the log "+
			"after snapshot 0x34, but there is snapshot.100000007\nwhat to do: ")
	code, out, _ = runWAL("verify", "--from", "1", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out, "after snapshot 0x0, but there is snapshot.100000007")
}

// withHole returns a data directory whose only log has lost a block in the middle, as a crash may leave a write that
// was never synced: txns stand behind it. last is the txn before it.
func withHole(t *testing.T) (dir string, last proto.Zxid) {
	t.Helper()
	dir = cmdline.CopyFixture(t, "02-snapshot-and-log")
	log := filepath.Join(dir, "version-2/log.1")
	require.NoError(t, errors.Join(os.Remove(filepath.Join(dir, "version-2/snapshot.34")),
		os.Remove(filepath.Join(dir, "version-2/log.35"))))
	b := must.ReadFile(t, log)
	clear(b[2048:2560])
	require.NoError(t, os.WriteFile(log, b, 0o644))
	_, err := wal.Scan(vfs.OS(), log, func(r *wal.Record) error { last = r.Zxid; return nil })
	require.ErrorIs(t, err, wal.ErrCorrupt, "of an older file it is damage")
	return dir, last
}

// TestWALTornByACrash: verify, dump and repair call the rest of a write that was never synced what a server calls it,
// and the exit code is 0. The same hole below a snapshot is damage.
func TestWALTornByACrash(t *testing.T) {
	dir, last := withHole(t)
	code, out, errs := runWAL("verify", dir)
	require.Zero(t, code, out+errs)
	require.Contains(t, out, "torn tail, the write after txn "+last.String()+" did not finish\nok\n")

	for _, path := range []string{dir, filepath.Join(dir, "version-2"), filepath.Join(dir, "version-2/log.1")} {
		code, out, errs = run("wal", "dump", path)
		require.Zero(t, code, errs)
		require.Equal(t, int(last), strings.Count(out, "\n"))
		require.Contains(t, errs, "log.1: torn tail at offset ")
		require.Contains(t, errs, "will be cut at start")
	}

	code, out, errs = runWAL("repair", dir, "--yes")
	require.Zero(t, code, out+errs)
	require.Contains(t, out, "to txn "+last.String()+"\n")
	out = runs(t, "wal", "verify", dir)
	require.Contains(t, out, fmt.Sprintf("log.1: %d txns from 0x1 to %v,", last, last))

	dir, _ = withHole(t)
	later := must.ReadFile(t, cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "version-2/snapshot.34"), later, 0o644))
	for _, args := range [][]string{{"verify", dir}, {"dump", dir}, {"repair", dir, "--yes"}} {
		code, out, errs = runWAL(args...)
		require.Equal(t, cli.ExitUnexpected, code, "%v", args)
		require.Contains(t, out+errs, "txn 0x")
	}
}

// The file was written by a ZooKeeper follower that has logged 12 txns twice.
func TestWALOfRepeatedTxns(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "wal", "testdata", "repeated")
	out := runs(t, "wal", "verify", dir, "--from", "0x100000ab7")
	require.Contains(t, out, "to replay: 14 txns from 0x100000ab7 to 0x100000ac4\n")
	require.Contains(t, out, "log.100000ab7 repeats 12 txns, which do not count\n")
	code, out, errs := run("wal", "dump", dir)
	require.Zero(t, code, errs)
	require.Equal(t, 26, strings.Count(out, "\n"), "all are shown, as they stand in the file")
	require.Contains(t, errs, "12 of the records repeat a txn and do not count\n")
}

func TestWALVerifyChangesNothing(t *testing.T) {
	name := cmdline.Fixtures + "zookeeper-3.8/03-torn-tail-zeros/version-2/log.35"
	before := must.ReadFile(t, name)
	_, _, _ = runWAL("verify", filepath.Dir(name))
	after := must.ReadFile(t, name)
	require.True(t, bytes.Equal(before, after))
}

func TestWALVerifyOfOlderFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log")))
	old := filepath.Join(dir, "version-2/log.1")
	b := must.ReadFile(t, old)
	b[100] ^= 1
	require.NoError(t, os.WriteFile(old, b, 0o644))
	code, out, _ := runWAL("verify", "--output", "json", dir)
	require.Equal(t, cli.ExitUnexpected, code)
	var v walVerdict
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.Len(t, v.Problems, 1)
	require.Equal(t, old, v.Problems[0].File)
	require.False(t, v.Problems[0].Needed)
	require.Equal(t, 10, v.Replayed)

	require.NoError(t, os.Remove(filepath.Join(dir, "version-2/snapshot.34")))
	code, out, _ = runWAL("verify", dir)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "PROBLEM: a server would refuse to start")

	require.NoError(t, os.Remove(old))
	code, out, _ = runWAL("verify", dir)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "missing log: it is the first record after the snapshot at 0x0")
	runs(t, "wal", "verify", "--from", "0x35", dir)
}

func TestWALVerifyWithSnapshotsElsewhere(t *testing.T) {
	dir, logs := t.TempDir(), filepath.Join(t.TempDir(), "version-2")
	require.NoError(t, os.CopyFS(dir, os.DirFS(cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log")))
	require.NoError(t, os.Mkdir(logs, 0o755))
	require.NoError(t, os.Rename(filepath.Join(dir, "version-2/log.35"), filepath.Join(logs, "log.35")))
	out := runs(t, "wal", "verify", "--dataDir", dir, filepath.Dir(logs))
	require.Contains(t, out, "newest snapshot: 0x34\nto replay: 10 txns")
}

func TestWALUsage(t *testing.T) {
	for _, args := range [][]string{
		{"dump"}, {"dump", "a", "b"}, {"verify"}, {"verify", "--output", "xml", "."}, {"dump", "--from", "-1", "."},
		{"dump", "--to", "zz", "."}, {"none"},
	} {
		code, _, errs := runWAL(args...)
		require.Equal(t, cli.ExitUsage, code, args)
		require.NotEmpty(t, errs)
	}
	code, _, _ := runWAL("dump", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, cli.ExitUnexpected, code)
	code, _, errs := runWAL("dump", t.TempDir())
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "no log files")
}

// runWAL runs `warren wal args`.
func runWAL(args ...string) (code int, stdout, stderr string) {
	return run(append([]string{"wal"}, args...)...)
}
