package servers

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

func TestWord(t *testing.T) {
	dir := t.TempDir()
	ca := pki.NewCA("ca")
	leaf := ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}})
	put := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	trusted := put("ca.pem", ca.PEM())
	r := cmdline.StartServer(t, "--data-dir", filepath.Join(dir, "data"), "--client-port", "0",
		"-D", "admin.enableServer=false", "-D", "4lw.commands.whitelist=ruok,stat",
		"-D", "client.portUnification=true", "-D", "ssl.keyStore.location="+put("server.pem", leaf.PEM()),
		"-D", "ssl.clientAuth=none")
	code, out, errs := run("4lw", r.Addr, "ruok")
	require.Zero(t, code, errs)
	require.Equal(t, "imok", out)
	require.Empty(t, errs)

	code, out, errs = run("4lw", r.Addr, "ruok", "--client-configuration",
		put("client.cfg", []byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+trusted+"\n")))
	require.Zero(t, code, errs)
	require.Equal(t, "imok", out)
	out = runs(t, "4lw", r.Addr, "stat", "--client-configuration", put("plain.cfg", nil))
	require.Contains(t, out, "\nMode: standalone\n")

	code, out, errs = run("4lw", r.Addr, "mntr")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, "mntr is not executed because it is not in the whitelist.\n", out)
	require.Empty(t, errs)
	code, out, errs = run("4lw", r.Addr, "quit")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Empty(t, out)
	require.NotEmpty(t, errs)
	require.Zero(t, r.Stop(t, syscall.SIGTERM))

	code, out, _ = run("4lw", cmdline.Answers(t, cmdline.NotServing), "mntr")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, cmdline.NotServing, out)
	fails(t, cli.ExitUnexpected, "127.0.0.1:1: ruok: ", "4lw", "127.0.0.1:1", "ruok")

	silent := must.Listen(t)
	began := time.Now()
	code, _, _ = run("4lw", silent.Addr().String(), "ruok", "--timeout", "50ms")
	require.Equal(t, cli.ExitUnexpected, code)
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)

	for _, args := range [][]string{
		{"4lw"}, {"4lw", "a:1"}, {"4lw", "a:1", "ruo"}, {"4lw", "a:1", "ruok", "x"}, {"4lw", "a:1", "ruok", "--foo"},
	} {
		code, _, _ := run(args...)
		require.Equal(t, cli.ExitUsage, code, args)
	}
	code, _, _ = run("4lw", "a:1", "ruok", "--client-configuration", "/none")
	require.Equal(t, cli.ExitUsage, code)
}
