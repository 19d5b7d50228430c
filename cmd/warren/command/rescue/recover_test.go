package rescue

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/recovery"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestRecoverIsToldWhatToDo(t *testing.T) {
	_, conf := memberFiles(t)
	for want, args := range map[string][]string{
		"name a zoo.cfg":                      {"recover", "--to", "x"},
		"use either --to or --from":           {"recover", conf},
		"--epoch -1: it must be at least 0":   {"recover", conf, "--to", "x", "--epoch", "-1"},
		"--server \"1=h:1\" is not ID=HOST":   {"recover", conf, "--to", "x", "--server", "1=h:1"},
		"--server \"9=h:1/2\" is not ID=HOST": {"recover", conf, "--to", "x", "--server", "9=h:1/2"},
	} {
		fails(t, cli.ExitUsage, want, args...)
	}
	fails(t, cli.ExitUsage, "use either --to or --from", "recover", conf, "--to", "x", "--from", "y")

	alone := filepath.Join(t.TempDir(), "zoo.cfg")
	require.NoError(t,
		os.WriteFile(alone, []byte("dataDir="+t.TempDir()+"\nclientPort=0\nadmin.enableServer=false\n"), 0o644))
	fails(t, cli.ExitUnexpected, "names no ensemble", "recover", alone, "--to", "x")
}

// recovers runs the command for servers of which none answers.
func recovers(conf string, args ...string) (code int, out, errs string) {
	args = append([]string{"recover", conf}, args...)
	for _, id := range []string{"1", "2", "3"} {
		args = append(args, "--server", id+"=127.0.0.1:1/1")
	}
	return run(args...)
}

// A recovery is refused without a word about the servers that do not answer, goes its way with one, and is done once.
func TestRecover(t *testing.T) {
	root, conf := memberFiles(t)
	backup := filepath.Join(t.TempDir(), "survivor")
	before := cmdline.Contents(t, root)
	code, out, errs := recovers(conf, "--to", backup, "--yes")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "server 1 at 127.0.0.1:1 does not answer")
	require.Contains(t, errs, "--give-up 1")
	require.Contains(t, errs, "--give-up 2")
	require.Contains(t, errs, "servers 1, 2, 3 may have their data and would be a quorum")
	code, _, errs = recovers(conf, "--from", backup, "--yes")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "was not made by warren recover --to")
	require.NoDirExists(t, backup)
	code, _, errs = recovers(conf, "--to", backup, "--give-up", "1,2")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "nothing was changed: add --yes to make the change")
	require.NoDirExists(t, backup)
	require.Equal(t, before, unlocked(t, root))

	code, out, errs = recovers(conf, "--to", backup, "--give-up", "1,2", "--epoch", "20", "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "given up: what only servers 1, 2 had")
	require.Contains(t, out, "begins with epoch 1044, in which")
	r := must.Do(recovery.ReadRecord(vfs.OS(), backup))(t)
	require.Equal(t, []int64{1, 2}, r.GivenUp)
	require.Equal(t, int64(20+recovery.Leap), r.Epoch, "above every epoch that is known, and more")
	require.Len(t, r.Seen, 3)
	log := must.ReadFile(t, filepath.Join(root, "data", recovery.LogFile))
	require.Regexp(t, `(?s)begins a new history .*, given up \[1 2\]: is to be changed\n.*: done\n$`, string(log))

	before = unlocked(t, root)
	code, out, errs = recovers(conf, "--to", backup, "--give-up", "1,2", "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "has the new history of "+backup+" already")
	code, out, errs = recovers(conf, "--from", backup, "--give-up", "1,2", "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "has the new history of "+backup+" already")
	require.Equal(t, before, unlocked(t, root))
}

// A run that was interrupted is completed from its backup, and one of another command is not touched.
func TestRecoverAfterAnInterruption(t *testing.T) {
	root, conf := memberFiles(t)
	backup := filepath.Join(t.TempDir(), "survivor")
	code, _, errs := recovers(conf, "--to", backup, "--give-up", "1,2", "--yes")
	require.Zero(t, code, errs)
	mark := func(command string) {
		for _, dir := range []string{"data", "log"} {
			require.NoError(t,
				os.WriteFile(filepath.Join(root, dir, datadir.MarkFile), []byte(command+"\nrun it again\n"), 0o644))
		}
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "data", "version-2")))
	mark("warren restore")
	code, _, errs = recovers(conf, "--to", backup, "--give-up", "1,2", "--yes")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "warren restore was interrupted")
	mark(recovery.Command)
	code, _, errs = recovers(conf, "--to", filepath.Join(root, "other"), "--give-up", "1,2", "--yes")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "needs its backup")
	code, out, errs := recovers(conf, "--to", backup, "--give-up", "1,2", "--yes")
	require.Zero(t, code, errs)
	require.Contains(t, out, "an earlier run was interrupted")
	require.NoError(t,
		datadir.Check(vfs.OS(), filepath.Join(root, "data", "version-2"), filepath.Join(root, "log", "version-2")))
}

// A directory that changes between the question and the answer is not touched.
func TestRecoverLooksAgain(t *testing.T) {
	root, _ := memberFiles(t)
	y := &recovery.Recovery{FS: vfs.OS(), SnapDir: filepath.Join(root, "data", "version-2"),
		LogDir: filepath.Join(root, "log", "version-2"), Backup: filepath.Join(root, "survivor"), Now: time.Now,
		Unchanged: func() error { return os.ErrInvalid }}
	before := cmdline.Contents(t, y.SnapDir)
	_, err := y.Begin(&recovery.Record{Server: 3, Voters: []int64{3}, Epoch: 2000, Last: 0x3e})
	require.ErrorIs(t, err, os.ErrInvalid)
	require.Equal(t, before, unlocked(t, y.SnapDir))
}

// unlocked is contents without the files that lock directories.
func unlocked(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := cmdline.Contents(t, dir)
	maps.DeleteFunc(all, func(name, _ string) bool { return filepath.Base(name) == datadir.LockFile })
	return all
}

// Servers of which the client port and the admin port speak nothing but TLS are asked with --client-configuration.
func TestRecoverAsksByTLS(t *testing.T) {
	_, conf := memberFiles(t)
	dir, ca := t.TempDir(), pki.NewCA("ca")
	leaf := ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}})
	secure := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}},
	}
	client := must.Do(tls.Listen("tcp", "127.0.0.1:0", secure))(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for c, err := client.Accept(); err == nil; c, err = client.Accept() {
			if _, err := io.ReadFull(c, make([]byte, 4)); err == nil {
				_, _ = io.WriteString(c, cmdline.NotServing)
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { client.Close(); <-over })
	port := client.Addr().(*net.TCPAddr).Port
	admin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w,
			`{"myid":1,"secure_client_port":%d,"zabstate":"election","last_zxid":"0x700000001","current_epoch":7}`,
			port)
	}))
	admin.TLS = secure
	admin.StartTLS()
	defer admin.Close()

	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	trust := put("ca.pem", string(ca.PEM()))
	configuration := put("client.cfg", "zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+trust+"\n")
	at := fmt.Sprintf("1=127.0.0.1:%d/%d", port, admin.Listener.Addr().(*net.TCPAddr).Port)
	args := []string{"recover", conf, "--to", filepath.Join(dir, "survivor"), "--yes", "--give-up", "2",
		"--server", at, "--server", "2=127.0.0.1:1/1", "--server", "3=127.0.0.1:1/1"}
	code, out, errs := run(append(args, "--client-configuration", configuration)...)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "has data up to 0x700000001, of epoch 7", errs)
	require.Contains(t, errs, "nothing is changed")
	code, out, _ = run(args...)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Regexp(t, `server 1 at \S+ does not (say what it has|answer)`, out)
}
