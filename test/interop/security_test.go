//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// secureJars is the class path of clients with Netty, which TLS in Java needs.
func secureJars(classes string) string {
	jars := []string{classes, zookeeperJar, "/usr/share/java/slf4j-nop.jar"}
	for _, part := range []string{
		"handler", "transport", "codec", "buffer", "common", "resolver", "transport-native-unix-common",
		"transport-native-epoll",
	} {
		jars = append(jars, "/usr/share/java/netty-"+part+".jar")
	}
	return strings.Join(jars, ":")
}

// stores writes the key and trust store of a server in the three formats and of clients in PEM.
func stores(t *testing.T, ca *pki.CA) (dir string) {
	dir = t.TempDir()
	put := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	put("server.pem", ca.Issue(pki.Options{Name: "localhost", Hosts: []string{"127.0.0.1", "localhost"}}).PEM())
	put("client.pem", ca.Issue(pki.Options{Name: "app, the first"}).PEM())
	put("stranger.pem", pki.NewCA("ca").Issue(pki.Options{Name: "app"}).PEM())
	put("trust.pem", ca.PEM())
	put("password", []byte("changeit\n"))
	in := func(name string) string { return filepath.Join(dir, name) }
	compile(t, "openssl", "pkcs12", "-export", "-in", in("server.pem"), "-inkey", in("server.pem"), "-out",
		in("server.p12"), "-passout", "pass:changeit")
	compile(t, "keytool", "-importkeystore", "-srckeystore", in("server.p12"), "-srcstorepass", "changeit",
		"-deststoretype", "JKS", "-destkeystore", in("server.jks"), "-deststorepass", "changeit")
	for _, kind := range []string{"JKS", "PKCS12"} {
		name := map[string]string{"JKS": "trust.jks", "PKCS12": "trust.p12"}[kind]
		compile(t, "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", in("trust.pem"), "-storetype", kind,
			"-keystore", in(name), "-storepass", "changeit")
	}
	return dir
}

// TestJavaClientByTLS lets the Java client in by its certificate, whatever format the server's stores have, on a port
// of its own and on the one that also takes plain text, and refuses a client with another certificate.
func TestJavaClientByTLS(t *testing.T) {
	classes, dir := compileJava(t, "Secure"), stores(t, pki.NewCA("ca"))
	in := func(name string) string { return filepath.Join(dir, name) }
	client := func(addr, certificate string, args ...string) string {
		all := append([]string{"-Xmx128m", "-Dzookeeper.client.secure=true",
			"-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty",
			"-Dzookeeper.ssl.keyStore.location=" + in(certificate), "-Dzookeeper.ssl.trustStore.location=" +
				in("trust.pem"), "-cp", secureJars(classes), "Secure", addr}, args...)
		return string(must.Output(t, exec.CommandContext(programContext(t), "java", all...)))
	}
	for _, kind := range []string{"pem", "p12", "jks"} {
		t.Run(kind, func(t *testing.T) {
			secure := strconv.Itoa(cluster.FreePort(t))
			node := cluster.Start(t, cluster.Options{Settings: map[string]string{
				"client.portUnification": "true", "secureClientPort": secure, "secureClientPortAddress": "127.0.0.1",
				"ssl.keyStore.location": in("server." + kind), "ssl.keyStore.passwordPath": in("password"),
				"ssl.trustStore.location": in("trust." + kind), "ssl.trustStore.password": "changeit",
			}})
			for _, addr := range []string{node.Addr(), "127.0.0.1:" + secure} {
				out := client(addr, "client.pem")
				require.Contains(t, out, "WHO ip:127.0.0.1 x509:CN=app\\, the first\n")
				require.Contains(t, out, "OK acl")
			}
			require.Contains(t, client(node.Addr(), "stranger.pem", "refused"), "OK refused")
		})
	}
}

const serverJAAS = `Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
    user_bob="bob's \"secret\"" user_root="rootsecret";
};
QuorumServer { org.apache.zookeeper.server.auth.DigestLoginModule required user_zk="zksecret"; };
QuorumLearner { org.apache.zookeeper.server.auth.DigestLoginModule required username="zk" password="zksecret"; };
`

func startSASL(t *testing.T) *cluster.Node {
	t.Helper()
	file := writeJAAS(t, serverJAAS)
	return cluster.Start(t, cluster.Options{Settings: map[string]string{
		"authProvider.1":                  "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"java.security.auth.login.config": file, "sessionRequireClientSASLAuth": "true", "superUser": "root",
	}})
}

func writeJAAS(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jaas.conf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestJavaClientBySASL lets the Java client in by DIGEST-MD5, and not with a wrong password.
func TestJavaClientBySASL(t *testing.T) {
	classes, node := compileJava(t, "Secure"), startSASL(t)
	client := func(user, password string, args ...string) string {
		file := writeJAAS(t,
			fmt.Sprintf("Client { org.apache.zookeeper.server.auth.DigestLoginModule required username=%q "+
				"password=%q; };", user, password))
		all := append([]string{"-Xmx128m", "-Djava.security.auth.login.config=" + file, "-cp", secureJars(classes),
			"Secure", node.Addr()}, args...)
		return string(must.Output(t, exec.CommandContext(programContext(t), "java", all...)))
	}
	require.Contains(t, client("bob", `bob's "secret"`), "WHO ip:127.0.0.1 sasl:bob\nOK acl")
	require.Contains(t, client("root", "rootsecret"), "WHO ip:127.0.0.1 sasl:root super:\nOK acl")
	require.Contains(t, client("bob", "wrong", "refused"), "OK refused")
	require.Contains(t, client("zk", "zksecret", "refused"), "OK refused")
}

// TestKazooBySASL does the same with kazoo.
func TestKazooBySASL(t *testing.T) {
	node := startSASL(t)
	for _, c := range [][]string{{"root", "rootsecret", "accepted"}, {"root", "wrong", "refused"}} {
		python := kazooProgram(t, "sasl.py", append([]string{node.Addr()}, c...)...)
		python.Stderr = new(bytes.Buffer) // a thread of kazoo writes a trace there, at any time
		out, err := python.Output()
		require.NoError(t, err, "%s%s", out, python.Stderr)
		require.Contains(t, string(out), "OK "+c[2])
	}
}

// TestQuorumSASL runs the exchange between servers against ZooKeeper's own classes, in both directions, with right
// and wrong passwords.
func TestQuorumSASL(t *testing.T) {
	classes := compileJava(t, "QuorumSasl")
	jaas := must.Do(sasl.ParseJAAS([]byte(serverJAAS)))(t)
	users := must.Do(jaas.Users("QuorumServer"))(t)
	user, password := must.Do2(jaas.Credentials("QuorumLearner"))(t)
	java := func(ctx context.Context, text string, args ...string) *exec.Cmd {
		all := append([]string{"-Xmx64m", "-Djava.security.auth.login.config=" + writeJAAS(t, text), "-cp",
			secureJars(classes), "QuorumSasl"}, args...)
		return exec.CommandContext(ctx, "java", all...)
	}
	for _, wrong := range []bool{false, true} {
		text := serverJAAS
		if wrong {
			text = strings.ReplaceAll(serverJAAS, "zksecret", "other")
		}
		t.Run(fmt.Sprintf("accepting, wrong %v", wrong), func(t *testing.T) {
			ln := must.Listen(t)
			cmd := java(programContext(t), text, "learner", "127.0.0.1", strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
			out := &strings.Builder{}
			cmd.Stdout, cmd.Stderr = out, out
			require.NoError(t, cmd.Start())
			nc := must.Do(ln.Accept())(t)
			defer nc.Close()
			require.NoError(t, nc.SetDeadline(time.Now().Add(20*time.Second)))
			adm, err := (&sasl.QuorumAcceptor{Mechanism: sasl.NewDigest(digestmd5.QuorumRealm, users),
				Required: true}).Accept(nc)
			runErr := cmd.Wait()
			if wrong {
				require.ErrorIs(t, err, sasl.ErrAuth)
				require.Error(t, runErr, out.String())
				return
			}
			require.NoError(t, err)
			require.NoError(t, runErr, out.String())
			require.Equal(t, "zk", adm.User)
			require.Contains(t, out.String(), "OK authenticated")
		})
		t.Run(fmt.Sprintf("connecting, wrong %v", wrong), func(t *testing.T) {
			cmd := java(programContext(t), text, "server")
			stdout := must.Do(cmd.StdoutPipe())(t)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(stdout)
			require.True(t, lines.Scan())
			nc := must.Dial(t, "127.0.0.1:"+strings.TrimPrefix(lines.Text(), "PORT "))
			require.NoError(t, nc.SetDeadline(time.Now().Add(20*time.Second)))
			err := sasl.NewDigestInitiator(user, password).Connect(programContext(t), nc, "localhost")
			said := lines.Scan() && lines.Text() == "OK authenticated"
			_ = cmd.Wait()
			require.Equal(t, !wrong, said)
			if wrong {
				require.ErrorIs(t, err, sasl.ErrAuth)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
