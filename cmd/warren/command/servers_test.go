package command

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/pki"
)

func TestWithPort(t *testing.T) {
	for address, want := range map[string]string{
		"zk1": "zk1:2181", "zk1:2182": "zk1:2182", "10.0.0.1": "10.0.0.1:2181", "[::1]:5": "[::1]:5", "[::1]": "[::1]:2181", "::1": "[::1]:2181",
		"zk1:2181:x": "zk1:2181:x",
	} {
		require.Equal(t, want, withPort(address))
	}
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
			require.Equal(t, exitOK, code, "%s %v: %s%s", name, args, out, errs)
		}
		code, _, errs := run(name, "--servers", addr, addr)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, "not both")
	}
	for _, flag := range []string{"-s", "--server", "--servers", "-server", "-servers"} {
		code, out, errs := run("shell", flag, addr, "ls", "/")
		require.Equal(t, exitOK, code, "%s: %s", flag, errs)
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
	r := startServer(t, "--data-dir", filepath.Join(dir, "data"), "--client-port", "0", "-D", "admin.enableServer=false", "-D", "4lw.commands.whitelist=*",
		"-D", "secureClientPort="+port, "-D", "secureClientPortAddress=127.0.0.1", "-D", "ssl.keyStore.location="+key, "-D", "ssl.clientAuth=none")
	configuration := put("client.cfg", []byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+put("ca.pem", ca.PEM())+"\n"))
	for _, args := range [][]string{{"status", addr}, {"health", addr}, {"smoketest", addr}, {"doctor", "--admin-port", "0", "--no-measure", addr}, {"4lw", addr, "ruok"}} {
		code, out, errs := run(append(args, "--client-configuration", configuration)...)
		require.Equal(t, exitOK, code, "%v: %s%s", args, out, errs)
		code, _, _ = run(append(args, "--client-configuration", "/none")...)
		require.NotEqual(t, exitOK, code, "%v", args)
		if args[0] != "smoketest" {
			code, _, _ = run(append(args, "--timeout", "300ms")...)
			require.NotEqual(t, exitOK, code, "%v", args)
		}
	}
	require.Zero(t, r.stop(t, syscall.SIGTERM))
}
