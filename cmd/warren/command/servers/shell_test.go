package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// startShellServer starts a server for shells and returns its address.
func startShellServer(t *testing.T, configure ...func(*config.Config)) string {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort = 0
	cfg.PreAllocSizeKB = 0
	cfg.DiskWatermark.Bytes = 0
	cfg.Admin.Enabled = false
	for _, c := range configure {
		c(cfg)
	}
	s := server.New(cfg, server.Options{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s.Addr().String()
}

func TestShellCommand(t *testing.T) {
	addr := startShellServer(t)
	for name, args := range map[string][]string{
		"ours":              {"shell", "-s", addr, "ls", "/"},
		"long":              {"shell", "--server=" + addr, "--timeout", "5s", "ls", "/"},
		"flags of zkCli.sh": {"shell", "-server", addr, "-timeout", "5000", "-r", "-waitforconnection", "ls", "/"},
		"alias":             {"cli", "-server", addr, "ls", "/"},
		"quiet zkCli.sh":    {"zkCli.sh", "-q", "-server", addr, "ls", "/"},
	} {
		code, out, errs := run(args...)
		require.Equal(t, 0, code, "%s: %s", name, errs)
		require.Equal(t, "[zookeeper]\n", out, name)
		require.Empty(t, errs, name)
	}
	out := runs(t, "zkCli.sh", "-server", addr, "ls", "/")
	require.Equal(t, "Connecting to "+addr+"\n\nWATCHER::\n\n"+
		"WatchedEvent state:SyncConnected type:None path:null zxid: -1\n[zookeeper]\n", out)
	code, out, errs := run("shell", "-s", addr, "get", "-s", "/none")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "Node does not exist: /none\n", errs)
	code, _, _ = run("shell", "-s", addr, "nonsense")
	require.Equal(t, 127, code)
	out = runs(t, "shell", "-s", addr, "--output", "json", "ls", "/")
	require.Equal(t, `{"path":"/","children":["zookeeper"]}`+"\n", out)
	out = runs(t, "shell", "-s", addr, "--auth", "digest:bob:secret", "whoami")
	require.Contains(t, out, "digest: bob\n")
	out = runs(t, "shell", "--help")
	require.Contains(t, out, "zkCli.sh's own flags")
}

func TestShellFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	for want, args := range map[string][]string{
		"unknown flag: --colour":         {"--colour"},
		`"soon" is neither milliseconds`: {"--timeout", "soon", "ls"},
		"it must be text or json":        {"--output", "xml", "ls"},
		"it must be more than 0":         {"--connect-wait", "0s", "ls"},
		"--auth is not scheme:auth":      {"--auth", "bob", "ls"},
		"names no server":                {"-s", "/", "ls"},
		"no such file":                   {"--tls-ca", filepath.Join(dir, "none.pem"), "ls"},
		"is not PEM; convert PKCS12":     {"--tls-cert", file("a.p12", "\x30\x82"), "ls"},
		"has no certificate":             {"--tls-ca", file("empty.pem", "-----BEGIN NOTHING-----"), "ls"},
		"it has no setting of a client":  {"-client-configuration", file("bad", "# TLS\nnothing"), "ls"},
		"bad2:2: a.b: malformed ":        {"-client-configuration", file("bad2", "# TLS\na.b=\\u12"), "ls"},
		"stores with a password cannot be re": {"-client-configuration",
			file("pw", "zookeeper.client.secure=true\nzookeeper.ssl.keyStore.password=x"), "ls"},
	} {
		code, out, errs := run(append([]string{"shell"}, args...)...)
		require.Equal(t, 2, code, args)
		require.NotContains(t, out, "WATCHER")
		require.Contains(t, errs, want)
		isFile := strings.Contains(errs, filepath.Dir(dir))
		require.Equal(t, !isFile, strings.Contains(errs, "usage: warren shell"), errs)
	}
}

// zkCli.sh speaks TLS if CLIENT_JVMFLAGS say so, as the guides of ZooKeeper tell.
func TestShellWithTLSOfJavaFlags(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pki.NewCA("ca").PEM(), 0o600))
	options := func(config string) (shell.Options, error) {
		return (&shellOptions{output: "text", connectWait: 1, config: config}).options(newShellCommand())
	}
	t.Setenv("CLIENT_JVMFLAGS", "-Dzookeeper.client.secure=true -Dzookeeper.ssl.trustStore.location="+ca+
		` -Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty -Dother=\u`)
	so := must.Do(options(""))(t)
	require.NotNil(t, so.TLS)
	require.NotNil(t, so.TLS.RootCAs)
	plain := filepath.Join(t.TempDir(), "client.cfg")
	require.NoError(t, os.WriteFile(plain, []byte("zookeeper.client.secure=false"), 0o600))
	so = must.Do(options(plain))(t)
	require.Nil(t, so.TLS)
	t.Setenv("JVMFLAGS", "-Dzookeeper.ssl.keyStore.password=x")
	_, err := options("")
	require.ErrorContains(t, err, "JVMFLAGS: zookeeper.ssl.keyStore.password: stores with a password cannot be read")
}

func TestShellPipe(t *testing.T) {
	addr := startShellServer(t)
	cmd := cmdline.Process(t, "shell", "-s", addr)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("create /a 1\nget /a\nget /b\n"), &out, &errs
	require.Error(t, cmd.Run())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Equal(t, "1\n", out.String())
	require.Equal(t, "Created /a\nNode does not exist: /b\n", errs.String())
}

// Signals end a command, and a shell that waits for lines, with the codes that other programs have.
func TestShellSignals(t *testing.T) {
	addr := startShellServer(t)
	for sig, want := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 1} {
		cmd := cmdline.Process(t, "zkCli.sh", "-server", addr)
		in := must.Do(cmd.StdinPipe())(t)
		out := must.Do(cmd.StdoutPipe())(t)
		require.NoError(t, cmd.Start())
		must.Do(out.Read(make([]byte, 1)))(t) // it has begun
		require.NoError(t, cmd.Process.Signal(sig))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = cmd.Wait()
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("the shell goes on")
		}
		require.Equal(t, want, cmd.ProcessState.ExitCode(), sig)
		in.Close()
	}
}
