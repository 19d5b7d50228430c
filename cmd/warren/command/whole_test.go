package command

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// freePorts returns the first of n ports in a row that, with all their companions of warren dev, are free at this
// moment. They lie below those that cluster.FreePort takes.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 1000 {
		port := 4000 + rand.IntN(10_000-3000-n-4000)
		free := true
		for _, distance := range []int{0, 1000, 2000, 3000} {
			for i := range n {
				ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+distance+i)))
				if err != nil {
					free = false
					break
				}
				require.NoError(t, ln.Close())
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func TestDevServesAndStatusSeesIt(t *testing.T) {
	port := freePorts(t, 4)
	ctx, stop := context.WithCancel(t.Context())
	root := newRootCommand()
	var out cluster.Output
	root.SetOut(&out)
	root.SetErr(&out)
	t.Chdir(t.TempDir())
	dir := must.Do(filepath.Abs("ensemble"))(t)
	root.SetArgs([]string{"dev", "--observers", "1", "--dir", "ensemble", "--port", strconv.Itoa(port)})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "connect string") || len(ended) > 0 },
		time.Minute, 10*time.Millisecond)
	require.Contains(t, out.String(), "connect string")
	require.Contains(t, out.String(), " Data is in "+dir+".\n")

	var status bytes.Buffer
	code := Main([]string{"status", "--config", dir + "/1/zoo.cfg", "--output", "json"}, &status, &status)
	require.Equal(t, cli.ExitOK, code, status.String())
	var got struct {
		Verdict string
		Servers []reach.Status
	}
	require.NoError(t, json.Unmarshal(status.Bytes(), &got))
	require.Equal(t, "healthy", got.Verdict)
	roles := map[string]int{}
	for _, s := range got.Servers {
		roles[s.Role]++
	}
	require.Equal(t, map[string]int{"leader": 1, "follower": 2, "observer": 1}, roles)

	stop()
	require.NoError(t, <-ended)
	status.Reset()
	require.Equal(t, 2, Main([]string{"status", "--config", dir + "/1/zoo.cfg"}, &status, &status))
	require.Contains(t, status.String(), "no client can write")
}

func TestDevIsStoppedBeforeItServes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	root := newRootCommand()
	var out, log bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&log) // servers that begin slowly say what they wait for, until they are stopped
	root.SetArgs([]string{"dev", "--dir", t.TempDir(), "--port", strconv.Itoa(freePorts(t, 3))})
	require.NoError(t, root.ExecuteContext(ctx))
	require.Empty(t, out.String())
}

// Servers may be named in the same ways wherever they are asked.
func TestServersAreNamedAlike(t *testing.T) {
	addr := embed.Start(t, embed.Options{}).ConnectString()
	for _, name := range []string{"status", "smoketest", "doctor"} {
		for _, args := range [][]string{{addr}, {"-s", addr}, {"--servers", addr}, {"--servers=" + addr}} {
			if name == "doctor" {
				args = append([]string{"--admin-port", "0"}, args...)
			}
			code, out, errs := run(append([]string{name}, args...)...)
			require.Equal(t, cli.ExitOK, code, "%s %v: %s%s", name, args, out, errs)
		}
		code, _, errs := run(name, "--servers", addr, addr)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, errs, "not both")
	}
	for _, flag := range []string{"-s", "--server", "--servers", "-server", "-servers"} {
		code, out, errs := run("shell", flag, addr, "ls", "/")
		require.Equal(t, cli.ExitOK, code, "%s: %s", flag, errs)
		require.Contains(t, out, "[zookeeper]")
	}
}

// A server that speaks nothing but TLS is asked with the configuration that zkCli.sh has for it.
func TestServersThatSpeakTLS(t *testing.T) {
	dir := t.TempDir()
	ca := pki.NewCA("ca")
	put := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	key := put("server.pem", ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"},
		NotAfter: time.Now().AddDate(1, 0, 0)}).PEM())
	port := strconv.Itoa(freePorts(t, 1))
	addr := net.JoinHostPort("127.0.0.1", port)
	r := cmdline.StartServer(t, "--data-dir", filepath.Join(dir, "data"), "--client-port", "0",
		"-D", "admin.enableServer=false", "-D", "4lw.commands.whitelist=*",
		"-D", "secureClientPort="+port, "-D", "secureClientPortAddress=127.0.0.1",
		"-D", "ssl.keyStore.location="+key, "-D", "ssl.clientAuth=none")
	trusted := put("ca.pem", ca.PEM())
	configuration := put("client.cfg",
		[]byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+trusted+"\n"))
	for _, args := range [][]string{
		{"status", addr}, {"health", addr}, {"smoketest", addr}, {"doctor", "--admin-port", "0", "--no-measure", addr},
		{"4lw", addr, "ruok"},
	} {
		code, out, errs := run(append(args, "--client-configuration", configuration)...)
		require.Equal(t, cli.ExitOK, code, "%v: %s%s", args, out, errs)
		code, _, _ = run(append(args, "--client-configuration", "/none")...)
		require.NotEqual(t, cli.ExitOK, code, "%v", args)
		if args[0] != "smoketest" {
			code, _, _ = run(append(args, "--timeout", "300ms")...)
			require.NotEqual(t, cli.ExitOK, code, "%v", args)
		}
	}
	const secure = "-Xmx256m -Dzookeeper.client.secure=true -Dzookeeper.ssl."
	for _, name := range []string{"shell", "zkCli.sh"} { // as for ZooKeeper's script
		t.Setenv("CLIENT_JVMFLAGS", secure+"trustStore.location="+trusted)
		code, out, errs := run(name, "--server", addr, "ls", "/")
		require.Equal(t, cli.ExitOK, code, errs)
		require.Contains(t, out, "[zookeeper]")
		t.Setenv("CLIENT_JVMFLAGS", secure+"trustStore.location=/none.pem")
		code, _, errs = run(name, "--server", addr, "ls", "/")
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, errs, "CLIENT_JVMFLAGS: zookeeper.ssl.trustStore.location /none.pem: there is no such")
		t.Setenv("CLIENT_JVMFLAGS", secure+"keyStore.password=x")
		code, _, errs = run(name, "--server", addr, "ls", "/")
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, errs, "CLIENT_JVMFLAGS: zookeeper.ssl.keyStore.password: stores with a password")
	}
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
}

// Commands refuse a directory in which another one was interrupted, and say so.
func TestInterruptedDirectoryIsRefused(t *testing.T) {
	data := cmdline.CopyFixture(t, "02-snapshot-and-log")
	require.NoError(t,
		os.WriteFile(filepath.Join(data, datadir.MarkFile), []byte("warren restore\nrun it again\n"), 0o644))
	conf := filepath.Join(t.TempDir(), "zoo.cfg")
	require.NoError(t, os.WriteFile(conf, []byte("dataDir="+data+"\nclientPort=0\nadmin.enableServer=false\n"), 0o644))
	before := cmdline.Contents(t, data)
	for _, args := range [][]string{
		{"server", "--config", conf},
		{"backup", "create", filepath.Join(t.TempDir(), "backup"), data},
		{"wal", "repair", data, "--after", "0x38", "--yes", "--lose-txns"},
		{"zkCleanup.sh", "--config", filepath.Dir(conf), "-n", "3"},
	} {
		code, _, errs := run(args...)
		require.NotZero(t, code, args)
		require.Contains(t, errs,
			datadir.MarkFile+": warren restore was interrupted, and what it has left must not be served: run it again",
			args)
	}
	code, out, _ := run("doctor", "--no-measure", data)
	require.Equal(t, 2, code)
	require.Regexp(t, `critical +unfinished +`+data, out)
	require.Equal(t, before, cmdline.Contents(t, data))
}
