package docs

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// Secrets of a server and its clients, right and wrong. Each is written nowhere but in this file and in the files
// that the server reads.
const (
	storeSecret = "changeit" // of the key stores in testdata of server/internal/keystore
	jaasOfAll   = `Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="bobs-secret-1"; };
QuorumServer { org.apache.zookeeper.server.auth.DigestLoginModule required user_zk="quorum-secret-2"; };
QuorumLearner { org.apache.zookeeper.server.auth.DigestLoginModule required username=zk password="quorum-secret-2"; };
`
)

// leaks collects everything that leaves a process, and says what of it is a secret.
type leaks struct {
	t       *testing.T
	secrets []string
	mu      sync.Mutex
	outputs int
}

func (l *leaks) look(where, text string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outputs++
	for _, secret := range l.secrets {
		if i := strings.Index(text, secret); i >= 0 {
			l.t.Errorf("%s has %q: ...%s...", where, secret, text[max(0, i-200):min(len(text), i+len(secret)+50)])
		}
	}
}

// A server process has every kind of secret, from files, arguments and the environment, is used, refused and
// attacked, and ends with a dump of all its goroutines. None of the secrets is in anything that leaves it: log,
// output, errors of a start, audit log, answers to words and of the admin server, metrics, the errors that clients
// see, and what the commands say of its configuration.
func TestNoSecretLeavesAServer(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(file(name), []byte(text), 0o600))
		return file(name)
	}
	stores := must.Abs(t, "../../server/internal/keystore/testdata")
	superDigest := auth.DigestIdentity("super:super-secret-3").ID
	hash := auth.DigestIdentity("alice:alices-secret-4").ID
	l := &leaks{t: t, secrets: []string{
		storeSecret, "bobs-secret-1", "quorum-secret-2", "super-secret-3", "alices-secret-4", "sasl-super-secret-5",
		"metrics-secret-6", "java-secret-7", "unknown-secret-8", "guessed-secret-9", "wrong-store-secret-10",
		"znode-secret-11", "basic-secret-12", "garbled-secret-13", strings.TrimPrefix(superDigest, "super:"),
		strings.TrimPrefix(hash, "alice:"), "PRIVATE KEY", "response=", "nonce=",
	}}
	ports := cluster.FreePorts(t, 5)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	write("jaas.conf", jaasOfAll)
	require.NoError(t, os.Mkdir(file("data"), 0o700))
	write("data/myid", "1\n")
	settings := fmt.Sprintf(`dataDir=%s/data
clientPort=%d
clientPortAddress=127.0.0.1
client.portUnification=true
ssl.clientAuth=none
ssl.keyStore.location=%s/openssl.p12
ssl.keyStore.password=%s
ssl.quorum.keyStore.location=%s/openssl.p12
ssl.quorum.trustStore.location=%s/trust.p12
ssl.quorum.trustStore.password=%s
metricsProvider.ssl.keyStore.password=metrics-secret-6
javax.net.ssl.keyStorePassword=java-secret-7
my.own.password=unknown-secret-8
DigestAuthenticationProvider.superDigest=%s
java.security.auth.login.config=%s/jaas.conf
authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
portUnification=true
quorum.auth.enableSasl=true
quorum.auth.learnerRequireSasl=true
quorum.auth.serverRequireSasl=true
fips-mode=false
standaloneEnabled=false
server.1=127.0.0.1:%d:%d
initLimit=10
syncLimit=5
admin.serverAddress=127.0.0.1
admin.serverPort=%d
admin.rateLimiterIntervalInMS=0
audit.enable=true
audit.file=%s/audit.log
4lw.commands.whitelist=*
warren.logLevel=debug
`, dir, ports[0], stores, storeSecret, stores, stores, storeSecret, superDigest, dir, ports[1],
		ports[2], ports[3], dir)
	zoo := write("zoo.cfg", settings)
	environment := append(os.Environ(), asCommand+"=1", "GOTRACEBACK=all",
		"WARREN_SSL_QUORUM_KEY_STORE_PASSWORD="+storeSecret)
	run := func(arguments ...string) (string, int) {
		cmd := exec.Command("/proc/self/exe", arguments...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		l.look(strings.Join(arguments, " "), string(out))
		if err != nil {
			require.NotNil(t, cmd.ProcessState, "%v", err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}

	// Starts that fail, each at one of the secrets.
	for name, change := range map[string][2]string{
		"password of a store": {"ssl.keyStore.password=" + storeSecret,
			"ssl.keyStore.password=wrong-store-secret-10"},
		"password of the trust": {"ssl.quorum.trustStore.password=" + storeSecret,
			"ssl.quorum.trustStore.password=wrong-store-secret-10"},
		"kind of store": {"ssl.keyStore.location=" + stores + "/openssl.p12",
			"ssl.keyStore.location=" + write("garbled.pem", "-----BEGIN PRIVATE KEY-----\ngarbled-secret-13\n")},
		"JAAS file": {dir + "/jaas.conf", write("garbled.conf", strings.ReplaceAll(jaasOfAll, ";", ""))},
		"digest of the super": {"superDigest=" + superDigest,
			"digestAlg=unknown\nDigestAuthenticationProvider.superDigest=" + superDigest},
		"a number": {"tickTime", "tickTime=soon\nssl.trustStore.password=wrong-store-secret-10\n#"},
	} {
		text := strings.Replace(settings, change[0], change[1], 1)
		if name == "a number" {
			text = change[1] + "\n" + settings
		}
		out, code := run("server", write("bad.cfg", text))
		require.NotZero(t, code, "%s: %s", name, out)
		run("config", "check", file("bad.cfg"))
	}

	cmd := exec.Command("/proc/self/exe", "server", zoo,
		"-Dzookeeper.SASLAuthenticationProvider.superPassword=sasl-super-secret-5")
	cmd.Env = environment
	var output cluster.Output
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Start())
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the server: %s", output.String())
		}
	}()
	require.Eventually(t, func() bool { return cluster.ModeAt(at(0)) != "" }, time.Minute, 10*time.Millisecond,
		"the server serves")
	dial := func(o wire.Options) *wire.Conn {
		o.TimeoutMs = 30_000
		return wire.Open(t, at(0), o)
	}
	try := func(c *wire.Conn, r wire.Request) proto.ErrCode {
		reply, err := c.Do(r)
		if err != nil {
			l.look("an error of a client", err.Error())
			return proto.ErrConnectionLoss
		}
		return reply.Header.Err
	}
	login := func(c *wire.Conn, user, password string) proto.ErrCode {
		client := digestmd5.NewClient(digestmd5.ClientRealm, user, password, sasl.NewNonce())
		for token := []byte{}; ; {
			reply, err := c.Do(wire.Sasl(token))
			require.NoError(t, err)
			var resp proto.SetSASLResponse
			if reply.Header.Err != proto.OK || resp.ReadFrom(reply.Body) != nil || resp.Token == nil {
				return reply.Header.Err
			}
			if token, err = client.Step(resp.Token); err != nil || client.Done() {
				require.NoError(t, err)
				return proto.OK
			}
		}
	}
	// The secrets are used, by a client that has them and by one that guesses.
	owner := dial(wire.Options{TLS: &tls.Config{InsecureSkipVerify: true}})
	for _, r := range []wire.Request{wire.Auth("digest", []byte("alice:alices-secret-4")),
		wire.Create("/n", []byte("znode-secret-11"), wire.OpenACL, 0),
		wire.SetACL("/n", wire.ACL(31, "digest", hash), -1), wire.Auth("digest", []byte("super:super-secret-3")),
		wire.SetACL("/", wire.ACL(31, "digest", hash), -1)} {
		require.Equal(t, proto.OK, try(owner, r), "%v", r.Op)
	}
	require.Equal(t, proto.OK, login(dial(wire.Options{}), "bob", "bobs-secret-1"))
	require.Equal(t, proto.OK, login(dial(wire.Options{}), "super", "sasl-super-secret-5"))
	require.NotEqual(t, proto.OK, login(dial(wire.Options{}), "bob", "guessed-secret-9"))
	require.NotEqual(t, proto.OK, login(dial(wire.Options{}), "guessed-secret-9", "x"),
		"a password in place of the name")
	stranger := dial(wire.Options{})
	for _, r := range []wire.Request{wire.Auth("digest", []byte("alice:guessed-secret-9")), wire.GetData("/n", false),
		wire.SetData("/n", []byte("znode-secret-11"), -1), wire.SetACL("/n", wire.ACL(31, "digest", hash), -1),
		wire.Create("/m", nil, wire.ACL(31, "digest", "guessed-secret-9"), 0)} {
		require.NotEqual(t, r.Op == proto.OpAuth, try(stranger, r) != proto.OK, "%v", r.Op)
	}
	for scheme, credentials := range map[string]string{
		"nope": "guessed-secret-9", "x509": "guessed-secret-9", "sasl": "guessed-secret-9",
		"ensemble": "guessed-secret-9",
	} {
		require.NotEqual(t, proto.OK, try(dial(wire.Options{}), wire.Auth(scheme, []byte(credentials))), scheme)
	}
	try(dial(wire.Options{}), wire.Request{Op: proto.OpAuth, Body: []byte("guessed-secret-9")})
	try(dial(wire.Options{}), wire.Request{Op: proto.OpCreate, Body: []byte("znode-secret-11")})
	try(dial(wire.Options{}), wire.Request{Op: 99, Body: []byte("znode-secret-11")})
	for i, first := range []string{
		"guessed-secret-9-on-the-client-port", "guessed-secret-9-on-the-quorum-port",
		"guessed-secret-9-on-the-election-port",
	} {
		nc := must.Dial(t, at(i))
		must.Do(io.WriteString(nc, first))(t)
		_ = nc.(*net.TCPConn).CloseWrite()
		_ = nc.SetReadDeadline(time.Now().Add(time.Minute))
		answer, _ := io.ReadAll(nc)
		l.look(first, string(answer))
		_ = nc.Close()
	}

	// Whatever may be asked is asked.
	for _, word := range words {
		text := must.Do(wire.FourLetter(at(0), word, time.Minute))(t, word)
		l.look(word, text)
	}
	web := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, path, authorization string) int {
		r := must.Do(http.NewRequest(method, "http://"+at(3)+path, strings.NewReader("garbled-secret-13")))(t)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		resp := must.Do(web.Do(r))(t)
		defer resp.Body.Close()
		body := must.ReadAll(t, resp.Body)
		if resp.Header.Get("Content-Type") != "application/octet-stream" { // a snapshot has what it has
			l.look(method+" "+path, string(body)+fmt.Sprint(resp.Header))
		}
		return resp.StatusCode
	}
	for name := range commands {
		for _, method := range []string{"GET", "POST"} {
			ask(method, "/commands/"+name, "digest alice:guessed-secret-9")
			ask(method, "/commands/"+name+"?streaming=false", "basic basic-secret-12")
		}
	}
	require.Equal(t, 200, ask("GET", "/commands/snapshot?streaming=false", "digest super:super-secret-3"))
	for _, path := range []string{
		"/metrics", "/healthz", "/readyz", "/commands", "/commands/guessed-secret-9", "/debug/pprof/",
	} {
		if path != "/commands/guessed-secret-9" { // it says which command it does not know
			ask("GET", path, "digest super:super-secret-3")
		}
	}
	for _, arguments := range [][]string{{"config", "check", zoo}, {"config", "check", "--output", "json", zoo},
		{"doctor", "--config", zoo}, {"doctor", at(0)}, {"status", at(0)}, {"word", at(0), "conf"}} {
		run(arguments...)
	}
	for _, hangup := range [][2]string{
		{strings.Replace(settings, "=debug", "=info", 1), "SIGHUP: log level changed"},
		{"ssl.keyStore.password=wrong-store-secret-10\n", "SIGHUP: the configuration cannot be used"},
	} {
		write("zoo.cfg", hangup[0])
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, func() bool { return strings.Contains(output.String(), hangup[1]) }, time.Minute,
			time.Millisecond, hangup[1])
	}
	text := wire.MustFourLetter(t, at(0), "mntr", time.Minute)
	require.NotRegexp(t, `zk_auth_failed_count\t[0-5]\n`, text, "attempts are counted")

	// The dump of a crash, and what was said until then.
	require.NoError(t, cmd.Process.Signal(syscall.SIGABRT))
	require.Error(t, cmd.Wait())
	ended = true
	said := output.String()
	l.look("the output of the server", said)
	for _, line := range []string{"DEBUG", "TLS is on", "SASL is on", "SASL between servers is on",
		"authentication refused", "SASL authentication failed", "client authenticated", "SIGABRT: abort",
		"goroutine 1 "} {
		require.Contains(t, said, line, "the server has not been as busy as it should")
	}
	audit := must.ReadFile(t, file("audit.log"))
	require.Contains(t, string(audit), "acl=digest:alice:x:cdrwa")
	l.look("the audit log", string(audit))
	require.Greater(t, l.outputs, 100)
}
