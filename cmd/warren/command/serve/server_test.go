package serve_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

func TestServerServesAndStops(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		dir := t.TempDir()
		r := cmdline.StartServer(t, "--data-dir", dir, "--client-port", "0", "-D", "admin.serverPort=0",
			"-Dtick"+"Time=500")
		require.Regexp(t, `^warren \S+ serves clients on 127\.0\.0\.1:\d+, data in `+regexp.QuoteMeta(dir)+"\n$",
			r.Ready)
		answer := cmdline.Word(t, r.Addr, "srvr")
		require.Contains(t, answer, "Mode: standalone")
		require.Regexp(t, `Zookeeper version: \d+\.\d+\.\d+-[0-9a-f]{40}, built on `, answer)

		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP), "must not end it")
		require.Contains(t, cmdline.Word(t, r.Addr, "srvr"), "Mode: standalone")

		require.Equal(t, 0, r.Stop(t, sig), r.Log)
		require.Contains(t, r.Log.String(), "INFO\tstopped")
		require.FileExists(t, filepath.Join(dir, "version-2", ".warren.lock"))
	}
}

func TestServerFromFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	require.NoError(t, os.WriteFile(file, []byte("dataDir="+dir+"\nclientPort=0\nclientPortAddress=127.0.0.1\n"+
		"4lw.commands.whitelist=ruok\nfoo=1\nemulate353TTLNodes=true\noraclePath=/o\nadmin.serverPort=0\n"), 0o600))
	r := cmdline.StartServer(t, file, "--log-format", "json", "--log-level", "warn")
	require.Equal(t, "imok", cmdline.Word(t, r.Addr, "ruok"))
	require.Equal(t, 0, r.Stop(t, syscall.SIGTERM))
	log := r.Log.String()
	require.Contains(t, log, `"warning":"`+file+`:5: foo: key is not known and has no effect"`)
	require.Contains(t, log, `"warning":"settings that this version does not act on: emulate353TTLNodes, oraclePath"`)
	require.NotContains(t, log, `"level":"info"`)
}

func TestServerFromArguments(t *testing.T) {
	dir := t.TempDir()
	r := cmdline.StartServer(t, "0", dir, "500", "7", "-D", "admin.serverPort=0", "--client-address", "127.0.0.1")
	require.Contains(t, cmdline.Word(t, r.Addr, "srvr"), "Mode: standalone")
	require.Equal(t, 0, r.Stop(t, syscall.SIGTERM))
}

// All ports of a server are opened on IPv6, however the address is written and wherever it is set. The zone is that of
// the loopback device, which every address may have.
func TestServerOnIPv6(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1%lo]:0")
	if err != nil {
		t.Skip("no IPv6 on the device lo: ", err)
	}
	ln.Close()
	for name, host := range map[string]string{"brackets": "[::1]", "none": "::1", "zone": "[::1%lo]"} {
		t.Run(name, func(t *testing.T) {
			dir, ports := t.TempDir(), cluster.FreePorts(t, 6)
			file := filepath.Join(dir, "zoo.cfg")
			text := fmt.Sprintf("dataDir=%s\nadmin.serverPort=%d\nmetricsProvider.httpPort=%d\n"+
				"metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider\n"+
				"initLimit=5\nsyncLimit=2\nstandaloneEnabled=false\nmyid=1\nserver.1=[::1%%lo]:%d:%d;\n",
				dir, ports[0], ports[1], ports[2], ports[3])
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			t.Setenv(config.EnvName("admin.serverAddress"), host)
			t.Setenv(config.EnvName("metricsProvider.httpHost"), host)
			r := cmdline.StartServer(t, file, "--client-address", host, "--client-port", strconv.Itoa(ports[4]))
			require.Contains(t, r.Ready, "listens for clients on [::1")
			for _, url := range []string{fmt.Sprintf("http://[::1]:%d/readyz", ports[0]),
				fmt.Sprintf("http://[::1]:%d/metrics", ports[1])} {
				require.Eventually(t, func() bool {
					answer, err := http.Get(url)
					if err != nil {
						return false
					}
					defer answer.Body.Close()
					return answer.StatusCode == http.StatusOK
				}, cmdline.HangGuard, 10*time.Millisecond, url)
			}
			require.Contains(t, cmdline.Word(t, fmt.Sprintf("[::1]:%d", ports[4]), "srvr"), "Mode: leader")
			require.Zero(t, r.Stop(t, syscall.SIGTERM), r.Log)
		})
	}
}

func TestServerDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		f := must.Do(os.CreateTemp(dir, "zoo*.cfg"))(t)
		defer f.Close()
		must.Do(f.WriteString(strings.ReplaceAll(text, "DIR", dir)))(t)
		return f.Name()
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "myid"), []byte("1"), 0o600))
	taken := must.Listen(t)
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "jaas.conf"),
		[]byte("Server { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true; };"), 0o600))

	for name, tt := range map[string]struct {
		args []string
		code int
		errs []string
	}{
		"no such file": {[]string{filepath.Join(dir, "none")}, 2,
			[]string{"Invalid config, exiting abnormally", "none file is missing"}},
		"two problems": {[]string{write("tickTime=x\nclientPort=0")}, 2,
			[]string{`:1: tickTime = "x": must be a whole number of milliseconds from 0 to 107374182`,
				"dataDir is not set"}},
		"own id unknown": {[]string{write("dataDir=DIR\ninitLimit=1\nsyncLimit=1\nserver.3=a:1:2\nserver.2=b:1:2\n")},
			2, []string{"id 1 is not in the peer list"}},
		"TLS": {[]string{write("dataDir=DIR\nsecureClientPort=0\nssl.keyStore.location=/none/a.pem\n")}, 2,
			[]string{"/none/a.pem"}},
		"SASL": {[]string{write("dataDir=DIR\nsessionRequireClientSASLAuth=true\n" +
			"authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n")}, 2,
			[]string{"java.security.auth.login.config"}},
		"Kerberos": {[]string{write(
			"dataDir=DIR\nclientPort=0\nauthProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n" +
				"java.security.auth.login.config=DIR/jaas.conf\n")}, 2,
			[]string{"section Server: useKeyTab=true needs the options keyTab and principal"}},
		"Kerberos between servers": {[]string{write(
			"dataDir=DIR\nclientPort=0\nquorum.auth.enableSasl=true\ninitLimit=5\nsyncLimit=2\nmyid=1\n" +
				"quorum.auth.server.saslLoginContext=Server\nquorum.auth.learner.saslLoginContext=Server\n" +
				"java.security.auth.login.config=DIR/jaas.conf\nserver.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\n")}, 2,
			[]string{"section Server: useKeyTab=true needs the options keyTab and principal"}},
		"OCSP": {[]string{write("dataDir=DIR\nclientPort=0\nssl.ocsp=true\n")}, 2,
			[]string{`:3: ssl.ocsp = "true": OCSP is not supported`}},
		"quorum TLS": {[]string{write("dataDir=DIR\nclientPort=0\nsslQuorum=true\n" +
			"ssl.quorum.keyStore.location=a.pem\ninitLimit=5\nsyncLimit=2\nmyid=1\nserver.1=127.0.0.1:1:2\n" +
			"server.2=127.0.0.1:3:4\n")}, 2, []string{"ssl.quorum.trustStore.location is not set"}},
		"quorum SASL": {[]string{write(
			"dataDir=DIR\nclientPort=0\nquorum.auth.enableSasl=true\ninitLimit=5\nsyncLimit=2\nmyid=1\n" +
				"server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\n")}, 2,
			[]string{"quorum.auth.enableSasl needs a JAAS file"}},
		"key store no store": {
			[]string{write("dataDir=DIR\nsecureClientPort=0\nssl.keyStore.location=DIR/jaas.conf\n" +
				"ssl.keyStore.type=PEM\n")}, 2, []string{"jaas.conf"},
		},
		"admin TLS": {[]string{
			write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\nadmin.forceHttps=true\n" +
				"ssl.quorum.keyStore.location=/none/a.pem\n"),
		}, 2,
			[]string{".cfg:5: ssl.quorum.keyStore.location", "/none/a.pem"}},
		"admin TLS without keys": {
			[]string{write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\nadmin.forceHttps=true\n")}, 2,
			[]string{"ssl.quorum.keyStore.location"},
		},
		"metrics TLS": {[]string{write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\n" +
			"metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider\n" +
			"metricsProvider.httpsPort=0\nmetricsProvider.ssl.keyStore.location=/none/a.pem\n")}, 2,
			[]string{".cfg:6: metricsProvider.ssl.keyStore.location", "/none/a.pem"}},
		"audit": {[]string{write("dataDir=DIR\nclientPort=0\naudit.enable=true\naudit.file=/none/audit.log\n")}, 2,
			[]string{"the audit log", "/none"}},
		"dataLogDir below file": {[]string{write("dataDir=DIR\nclientPort=0\ndataLogDir=DIR/file/log\n")}, 3,
			[]string{"DIR/file"}},
		"dataLogDir is a file": {[]string{write("dataDir=DIR\nclientPort=0\ndataLogDir=DIR/file\n")}, 3,
			[]string{"DIR/file"}},
		"no dataLogDir": {
			[]string{write("dataDir=DIR\nclientPort=0\ndatadir.autocreate=false\ndataLogDir=DIR/none\n")}, 3,
			[]string{"datadir.autocreate is false"},
		},
		"foreign address": {
			[]string{write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\nclientPortAddress=192.0.2.1\n")}, 14,
			[]string{"192.0.2.1"},
		},
		"name without address": {
			[]string{write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\nclientPortAddress=none.invalid\n")}, 14,
			[]string{"none.invalid"},
		},
		"foreign admin address": {
			[]string{write("dataDir=DIR\nclientPort=0\nadmin.serverPort=0\nadmin.serverAddress=192.0.2.1\n")}, 4,
			[]string{"192.0.2.1"},
		},
		"client port between servers": {[]string{
			write("dataDir=DIR\nclientPort=2888\ninitLimit=5\nsyncLimit=2\nmyid=1\nserver.1=127.0.0.1:2888:3888\n" +
				"server.2=127.0.0.1:13:14\n"),
		}, 2,
			[]string{"port 2888 is that of clientPort as well"}},
		"data dir no dir": {[]string{"--data-dir", file, "--client-port", "0"}, 3,
			[]string{"Unable to access datadir, exiting abnormally"}},
		"port taken": {[]string{"--data-dir", dir, "--client-port", port, "-D", "admin.serverPort=0"}, 14,
			[]string{"cannot listen on 127.0.0.1:" + port +
				" (clientPort on the command line): address already in use by "}},
		"positional port":  {[]string{"x", dir}, 2, []string{`argument 1: clientPort = "x"`}},
		"-D without value": {[]string{"-D", "=x"}, 2, []string{"does not have the form key=value"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(append([]string{"server"}, tt.args...)...)
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "version-2")))
			require.Equal(t, tt.code, code, errs)
			require.Empty(t, out)
			for _, e := range tt.errs {
				require.Contains(t, errs, strings.ReplaceAll(e, "DIR", dir))
			}
			if len(tt.args) != 1 {
				return
			}
			code, out, checked := run("config", "check", tt.args[0]) // says the same without a start
			require.Equal(t, tt.code, code, out+checked)
			for _, e := range tt.errs {
				if !strings.HasSuffix(e, ", exiting abnormally") {
					require.Contains(t, out, strings.ReplaceAll(e, "DIR", dir))
				}
			}
			require.NoDirExists(t, filepath.Join(dir, "version-2"), "the check changes nothing")
		})
	}
}
