package backups

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/cmd/warren/command/rescue"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/cmd/warren/command/servers"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// TestBackupAndRestore goes through the life of a backup on the command line.
func TestBackupAndRestore(t *testing.T) {
	data := cmdline.CopyFixture(t, "02-snapshot-and-log")
	dir := filepath.Join(t.TempDir(), "backup")
	out := runs(t, "backup", "create", dir, data, "--until", "0x38")
	require.Contains(t, out, "snapshot.34: snapshot, ")
	require.Contains(t, out, "log.35: 4 txns, 0x35 to 0x38, 2026-11-21T05:41:28.")
	require.Contains(t, out, dir+" ends with txn 0x38\n")

	out = runs(t, "backup", "create", dir, data+"/version-2", "--output", "json")
	require.True(t, json.Valid([]byte(out)))
	require.Contains(t, out, `"last":"0x3e"`)

	out = runs(t, "backup", "list", dir)
	require.Contains(t, out, "log.39: 6 txns")
	out = runs(t, "backup", "list", dir, "--output", "json")
	require.Contains(t, out, `"lastSum"`)

	out = runs(t, "backup", "verify", dir)
	require.Regexp(t, `^from snapshot.34: txns 0x34 to 0x3e of 2026-11-21T05:41:28.\d+Z, 34 znodes, digest -?\d+, `+
		`10 digests compared\nok\n$`, out)

	to := t.TempDir()
	out = runs(t, "restore", dir, to, "--zxid", "0x3a")
	require.Regexp(t, `^restored txn 0x3a of 2026-.*: snapshot.100000001, \d+ znodes, `+
		`digest -?\d+, 6 digests compared\nit goes on with epoch 1, which ends 2 sessions\n$`, out)
	code, out, _ := cmdline.Run(files.Commands(), "snapshot", "verify", to)
	require.Zero(t, code, out)

	fails(t, 1, "--force sets it aside", "restore", dir, to)
	fails(t, 1, "no txn 0x99", "restore", dir, to, "--force", "--zxid", "0x99")
	require.FileExists(t, to+"/version-2/snapshot.100000001", "what cannot be restored moves nothing")
	out = runs(t, "restore", dir, to, "--force", "--output", "json")
	require.Contains(t, out, `"zxid":"0x3e"`)
	require.Contains(t, out, `"epoch":2`)
	require.FileExists(t, to+"/version-2/snapshot.200000001")
	require.Len(t, must.Do(filepath.Glob(to+"/version-2.before-restore-*/snapshot.100000001"))(t), 1)
	code, out, errs := run("restore", dir, to, "--force", "--epoch", "9")
	require.Zero(t, code, errs)
	require.Contains(t, out, "it goes on with epoch 10, which ends 2 sessions")
	require.Contains(t, errs, "what was there is in "+to+"/version-2.before-restore-")

	// A server runs on it; while it does, nothing is set aside.
	r := cmdline.StartServer(t, "--data-dir", to, "--client-port", "0", "-D", "admin.enableServer=false")
	require.Contains(t, cmdline.Word(t, r.Addr, "srvr"), "Zxid: 0x")
	fails(t, 1, "stop the server first", "restore", dir, to, "--force")
	require.Zero(t, r.Stop(t, syscall.SIGTERM))

	require.NoError(t, os.Truncate(dir+"/log.35", 100))
	code, out, errs = run("backup", "verify", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out, "PROBLEM: log.35: has 100 bytes")
	require.Contains(t, errs, "the backup has 1 problem\n")
	code, out, _ = run("backup", "verify", dir, "--output", "json")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"ok":false`)
}

func TestBackupByConfigAndTime(t *testing.T) {
	data := cmdline.CopyFixture(t, "02-snapshot-and-log")
	logs := t.TempDir()
	require.NoError(t, os.Mkdir(logs+"/version-2", 0o755))
	for _, name := range []string{"log.1", "log.35"} {
		require.NoError(t, os.Rename(data+"/version-2/"+name, logs+"/version-2/"+name))
	}
	cfg := filepath.Join(t.TempDir(), "zoo.cfg")
	require.NoError(t, os.WriteFile(cfg, []byte("dataDir="+data+"\ndataLogDir="+logs+"\nclientPort=1\n"), 0o600))
	dir := filepath.Join(t.TempDir(), "backup")
	out := runs(t, "backup", "create", dir, "--config", cfg)
	require.Contains(t, out, "ends with txn 0x3e")
	to := t.TempDir()
	out = runs(t, "restore", dir, to, "--dataLogDir", t.TempDir(), "--time", "2026-11-21T06:00:00Z")
	require.Contains(t, out, "restored txn 0x3e")
	require.NoError(t, os.RemoveAll(data))
	fails(t, 1, logs+"/version-2, which holds log.1: name that directory with --dataLogDir", "restore", dir, data)
	runs(t, "restore", dir, data, "--dataLogDir", logs, "--force")
	fails(t, 1, "nothing to restore", "restore", dir, t.TempDir(), "--time", "1000")
}

// A restore that was not told where the log is leaves that one behind. The epoch that it begins may be in use there.
func TestRestoreBesideAnOlderLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backup")
	runs(t, "backup", "create", dir, cmdline.CopyFixture(t, "02-snapshot-and-log"))
	logs := t.TempDir()
	args := func(data string) []string {
		return []string{"--data-dir", data, "--client-port", "0", "-D", "admin.enableServer=false", "-D",
			"dataLogDir=" + logs}
	}
	data := t.TempDir()
	runs(t, "restore", dir, data)
	server := cmdline.StartServer(t, args(data)...)
	wire.Open(t, server.Addr, wire.Options{}).MustCreate(t, "/after-the-restore", nil, proto.ModePersistent)
	require.Zero(t, server.Stop(t, syscall.SIGTERM))
	server = cmdline.StartServer(t, args(data)...)
	require.Zero(t, server.Stop(t, syscall.SIGTERM))

	again := t.TempDir()
	runs(t, "restore", dir, again)
	code, _, errs := cmdline.Run(serve.Commands(), append([]string{"server"}, args(again)...)...)
	require.NotZero(t, code)
	require.Contains(t, errs, "epoch 1 began with a restore, and no server has led it, but the log has txn 0x1")
	require.Contains(t, errs, "it is the log of another history, and must be moved away")
	code, out, _ := cmdline.Run(rescue.Commands(), "doctor", again, "--dataLogDir", logs)
	require.NotZero(t, code)
	require.Contains(t, out, "epoch 1 began with a restore")
	require.Contains(t, out, "move the log away")
}

func TestBackupUsage(t *testing.T) {
	for _, args := range [][]string{
		{"backup", "create"}, {"backup", "create", "a"}, {"backup", "create", "a", "b", "c"},
		{"backup", "create", "a", "b", "--admin", "x"}, {"backup", "create", "a", "b", "--output", "xml"},
		{"backup", "verify"}, {"restore", "a"}, {"restore", "a", "b", "--zxid", "0"},
		{"restore", "a", "b", "--zxid", "1", "--time", "5"}, {"restore", "a", "b", "--time", "noon"},
		{"restore", "a", "b", "--time", "-5"}, {"restore", "a", "b", "--epoch", "-1"},
		{"restore", "a", "b", "--if-empty", "--force"}, {"restore", "a", "b", "--identity", "x"},
		{"backup", "create", "a", "b", "--s3-region", "x"}, {"backup", "create", "a", "b", "--encrypt-to", "x"},
		{"backup", "create", "a", "b", "--keep", "-1"}, {"backup", "create", "a", "b", "--full-every", "-1h"},
		{"backup", "create", "a", "b", "--committed", "c", "--until", "5"},
		{"backup", "create", "a", "--admin", "x", "--committed", "c"}, {"backup", "prune", "a"}, {"backup", "prune"},
		{"backup", "prune", "a", "--keep", "1", "--output", "xml"},
		{"backup", "prune", "a", "--keep", "1", "--keep-for", "-1h"},
	} {
		code, _, errs := run(args...)
		require.Equal(t, 2, code, "%v: %s", args, errs)
	}
	for _, args := range [][]string{{"backup", "list", t.TempDir()}, {"restore", t.TempDir(), t.TempDir()},
		{"backup", "create", t.TempDir(), t.TempDir()}, {"backup", "create", t.TempDir(), "--config", "/none"},
		{"backup", "create", "s3://", t.TempDir()},
		{"backup", "create", "s3://b/p", t.TempDir(), "--encrypt-to", "/none"},
		{"backup", "prune", t.TempDir(), "--keep", "1"},
		{"backup", "create", t.TempDir(), "--admin", "http://127.0.0.1:1/commands"},
		{"backup", "create", t.TempDir(), "--admin", "x", "--auth-file", "/none"}} {
		code, _, errs := run(args...)
		require.NotZero(t, code, "%v: %s", args, errs)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	code, _, errs := run("backup", "create", fresh, filepath.Join(t.TempDir(), "missing"))
	require.NotZero(t, code)
	require.Contains(t, errs, "missing")
	require.NoDirExists(t, fresh, "a source that cannot be read")
	require.Contains(t, runs(t, "backup"), "verify")
}

// TestBackupRetention makes snapshots, prunes them with the run that adds one and by the command, and writes figures.
func TestBackupRetention(t *testing.T) {
	data, dir, figures := cmdline.CopyFixture(t, "02-snapshot-and-log"), filepath.Join(t.TempDir(), "backup"),
		filepath.Join(t.TempDir(), "backup.prom")
	older := filepath.Join(t.TempDir(), "version-2")
	require.NoError(t, os.MkdirAll(older, 0o755))
	for _, name := range []string{"snapshot.0", "log.1"} {
		text := must.ReadFile(t, filepath.Join(data, "version-2", name))
		require.NoError(t, os.WriteFile(filepath.Join(older, name), text, 0o600))
	}
	runs(t, "backup", "create", dir, older)
	code, out, errs := run("backup", "create", dir, data, "--full-every", "1ns", "--keep-for", "1h",
		"--metrics", figures)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "removed")
	text := must.ReadFile(t, figures)
	require.Regexp(t, `(?m)^warren_backup_last_success_timestamp_seconds \d{10}\.?\d*$`, string(text))
	require.Contains(t, string(text), "\nwarren_backup_files 4\n")
	require.Contains(t, string(text), "\nwarren_backup_last_zxid 62\n")
	public := filepath.Join(t.TempDir(), "public")
	require.NoError(t, os.WriteFile(public, nil, 0o644))
	require.Equal(t, modeOf(t, public), modeOf(t, figures), "the node exporter is another user")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.99"), []byte("left"), 0o600))
	out = runs(t, "backup", "prune", dir, "--keep", "1")
	require.Equal(t, "removed snapshot.0\nremoved log.1\nnot in the manifest: 1 file of 4 bytes; "+
		"--strays removes them\nremoved: 2 files\n", out)
	out = runs(t, "backup", "prune", dir, "--strays", "--output", "json")
	require.JSONEq(t, `{"removed": ["log.99"], "strays": []}`, out)
	out = runs(t, "backup", "create", dir, data, "--keep", "1", "--output", "json")
	require.Contains(t, out, `"removed":[]`)
	runs(t, "backup", "verify", dir)

	require.NoError(t, os.Truncate(dir+"/snapshot.34", 100))
	require.NoError(t, os.Remove(figures))
	link := filepath.Join(t.TempDir(), "link.prom")
	require.NoError(t, os.Symlink(figures, link))
	code, _, errs = run("backup", "create", dir, data, "--full", "--keep", "1", "--metrics", link)
	require.Zero(t, code, errs, "nothing is to be removed")
	require.FileExists(t, figures, "a link stays a link, and a device a device")
}

// TestBackupOfWhatIsCommitted asks the server what it has applied.
func TestBackupOfWhatIsCommitted(t *testing.T) {
	data := t.TempDir()
	r := cmdline.StartServer(t, "--data-dir", data, "--client-port", "0", "-D", "admin.enableServer=false")
	dir := filepath.Join(t.TempDir(), "backup")
	code, _, errs := run("backup", "create", dir, data, "--committed", r.Addr)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "has applied no txn")
	code, _, errs = cmdline.Run(servers.Commands(), "shell", "-s", r.Addr, "create", "/a", "1")
	require.Zero(t, code, errs)
	out := runs(t, "backup", "create", dir, data, "--committed", r.Addr)
	require.Contains(t, out, "ends with txn 0x")

	// A server that serves stands against a restore that runs at every start, and so does data.
	empty := t.TempDir()
	out = runs(t, "restore", dir, empty, "--if-empty", "--unless-served", "127.0.0.1:1,"+r.Addr)
	require.Contains(t, out, "clients are served by "+r.Addr)
	require.NoDirExists(t, empty+"/version-2")

	// So does it if the restore was interrupted before the others served: the server can take the state from them.
	interrupted := t.TempDir()
	require.NoError(t, os.Mkdir(interrupted+"/version-2", 0o750))
	require.NoError(t, os.WriteFile(interrupted+"/version-2/snapshot.1", nil, 0o640))
	mark := filepath.Join(interrupted, datadir.MarkFile)
	require.NoError(t, os.WriteFile(mark, []byte("warren restore\nagain\n"), 0o640))
	code, out, errs = run("restore", dir, interrupted, "--if-empty", "--unless-served", r.Addr)
	require.Zero(t, code, errs)
	require.Contains(t, out, "clients are served by "+r.Addr)
	require.NoError(t, datadir.Check(vfs.OS(), interrupted+"/version-2"), "no server would start")
	require.NoDirExists(t, interrupted+"/version-2")
	require.Len(t, must.Do(filepath.Glob(interrupted+"/version-2.before-restore-*/snapshot.1"))(t), 1)

	require.Zero(t, r.Stop(t, syscall.SIGTERM))
	for _, says := range []string{"restored txn", "nothing is restored"} {
		out = runs(t, "restore", dir, empty, "--if-empty", "--unless-served", r.Addr)
		require.Contains(t, out, says)
	}
	fails(t, 1, "--committed: "+r.Addr, "backup", "create", dir, data, "--committed", r.Addr)
}

// leads is the answer to srvr of a server that serves.
const leads = "Zookeeper version: 3.9.4\nZxid: 0x1\nMode: leader\nNode count: 5\n"

// answering hands each connection of a listener to fn, and closes it behind that.
func answering(t testing.TB, ln net.Listener, fn func(net.Conn)) (addr string) {
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			fn(c)
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

// askedWord reads the word that a server is asked.
func askedWord(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, 4)) }

// A server that has lost its disk was the leader perhaps. Nothing is restored before the others have elected the next.
func TestRestoreWaitsForAnElection(t *testing.T) {
	var asked atomic.Int64
	at := answering(t, must.Listen(t), func(c net.Conn) {
		askedWord(c)
		answer := "This ZooKeeper instance is not currently serving requests\n"
		if asked.Add(1) > 3 {
			answer = leads
		}
		_, _ = io.WriteString(c, answer)
	})
	empty := t.TempDir()
	out := runs(t, "restore", t.TempDir(), empty, "--unless-served", at)
	require.Contains(t, out, "clients are served by "+at)
	require.Equal(t, int64(4), asked.Load())
	require.NoDirExists(t, empty+"/version-2")
}

// A server that is too busy to answer may serve.
func TestNothingIsRestoredBesideAServerThatIsBusy(t *testing.T) {
	wait, timeout := servedWait, servedTimeout
	servedWait, servedTimeout = 0, 10*time.Millisecond
	t.Cleanup(func() { servedWait, servedTimeout = wait, timeout })
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t) // the system takes the connection
	defer ln.Close()
	empty := t.TempDir()
	fails(t, 1, ln.Addr().String()+" takes the connection, and does not say whether it serves clients",
		"restore", t.TempDir(), empty, "--unless-served", "127.0.0.1:1,"+ln.Addr().String())
	require.NoDirExists(t, empty+"/version-2")
}

// A server that has as many connections as it takes may serve: it closes one more, before or after it has read of it.
func TestNothingIsRestoredBesideAServerThatIsFull(t *testing.T) {
	wait := servedWait
	servedWait = 0
	t.Cleanup(func() { servedWait = wait })
	for _, reads := range []bool{false, true} {
		at := answering(t, must.Listen(t), func(c net.Conn) {
			if reads {
				askedWord(c)
			} else {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
		})
		empty := t.TempDir()
		code, _, errs := run("restore", t.TempDir(), empty, "--unless-served", "127.0.0.1:1,"+at)
		require.Equal(t, 1, code)
		require.Contains(t, errs, "nothing is restored: "+at)
		require.Contains(t, errs, "the connection, and does not say whether it serves clients")
		require.NoDirExists(t, empty+"/version-2")
	}
}

// A server that answers may serve, even if it does not say so, as without srvr in its whitelist.
func TestNothingIsRestoredBesideAServerThatDoesNotSayWhetherItServes(t *testing.T) {
	servedWait = 0
	t.Cleanup(func() { servedWait = 30 * time.Second })
	for _, answer := range []string{"srvr is not executed because it is not in the whitelist.\n", "\x15\x03\x01\x00"} {
		at, empty := cmdline.Answers(t, answer), t.TempDir()
		code, _, errs := run("restore", t.TempDir(), empty, "--unless-served", "127.0.0.1:1,"+at)
		require.Equal(t, 1, code, answer)
		require.Contains(t, errs, at+" answers, and does not say whether it serves clients", answer)
		require.NoDirExists(t, empty+"/version-2")
	}
}

// A directory that was restored into once and has lost its data is not restored again: it would bring an old state
// back beside servers that may have newer data. The server begins empty if another one runs, and does not start
// otherwise.
func TestRestoreOnce(t *testing.T) {
	servedWait = 0
	t.Cleanup(func() { servedWait = 30 * time.Second })
	electing := cmdline.Answers(t, cmdline.NotServing)
	data := t.TempDir()
	r := cmdline.StartServer(t, "--data-dir", data, "--client-port", "0", "-D", "admin.enableServer=false")
	code, _, errs := cmdline.Run(servers.Commands(), "shell", "-s", r.Addr, "create", "/a", "1")
	require.Zero(t, code, errs)
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
	dir := filepath.Join(t.TempDir(), "backup")
	runs(t, "backup", "create", dir, data)

	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	restore := func(data, once string, more ...string) (int, string, string) {
		return run(append([]string{"restore", dir, data, "--if-empty", "--once", once}, more...)...)
	}
	for data, once := range map[string]string{one: "pod-0.x", two: "pod-1.x"} {
		code, out, errs := restore(data, once, "--unless-served", electing)
		require.Zero(t, code, errs)
		require.Contains(t, out, "restored txn", "servers that do not serve have begun with the same moment")
		code, out, errs = restore(data, once)
		require.Zero(t, code, errs)
		require.Contains(t, out, "holds data")
	}
	require.NoError(t, os.RemoveAll(one))
	code, out, errs := restore(one, "pod-0.x", "--unless-served", "127.0.0.1:1")
	require.Equal(t, 1, code, out)
	require.Contains(t, errs, "has lost its data since")
	require.Contains(t, errs, "Start the others first")
	require.NoDirExists(t, one)
	code, out, errs = restore(one, "pod-0.x", "--unless-served", electing)
	require.Zero(t, code, errs)
	require.Contains(t, out, electing+" runs, and may have newer data")
	require.NoDirExists(t, one)
	code, out, errs = restore(one, "pod-0.y")
	require.Zero(t, code, errs)
	require.Contains(t, out, "restored txn", "of another installation")

	for _, args := range [][]string{
		{"--if-empty", "--once", "../x"}, {"--if-empty", "--once", "a/b"}, {"--once", "a"},
	} {
		code, _, errs := run(append([]string{"restore", dir, t.TempDir()}, args...)...)
		require.NotZero(t, code)
		require.Contains(t, errs, map[int]string{3: "letters, digits", 2: "--once needs --if-empty"}[len(args)])
	}
}

// TestFlagsOfTheChart reads the flags that the Helm chart gives to backups and restores: the commands know them.
func TestFlagsOfTheChart(t *testing.T) {
	known := map[string]bool{}
	for _, cmd := range []*cobra.Command{newBackupCreateCommand(), newRestoreCommand()} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	given := regexp.MustCompile(`(?m)^ *- --([a-zA-Z0-9-]+)`)
	for _, name := range []string{"backup.yaml", "_helpers.tpl"} {
		text := must.ReadFile(t, filepath.Join("../../../../deploy/helm/warren/templates", name))
		flags := given.FindAllStringSubmatch(string(text), -1)
		require.Greater(t, len(flags), 5, name)
		for _, f := range flags {
			require.True(t, known[f[1]], "%s: --%s", name, f[1])
		}
	}
}

func modeOf(t *testing.T, file string) os.FileMode {
	info := must.Do(os.Stat(file))(t)
	return info.Mode()
}
