package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// withAdmin adds an admin server to the settings, and returns its port.
func withAdmin(t *testing.T, host string, settings map[string]string) (port string) {
	t.Helper()
	port = strconv.Itoa(cluster.FreePort(t))
	settings["admin.enableServer"], settings["admin.serverAddress"], settings["admin.serverPort"] = "true", host, port
	return port
}

// says waits until the log of a server has a message.
func says(t *testing.T, n *cluster.Node, message string) {
	t.Helper()
	cluster.Eventually(t, func() bool { return strings.Contains(n.Log(), message) }, patience,
		"no %q in the log", message)
}

// TestClientsThatAreRefused brings clients to a standalone server that it refuses, each for another reason, and fills
// quotas and snapshots.
func TestClientsThatAreRefused(t *testing.T) {
	t.Parallel()
	ca, files := pki.NewCA("ca"), t.TempDir()
	put := func(name string, text []byte) string {
		file := filepath.Join(files, name)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		return file
	}
	secure := "127.0.0.1:" + strconv.Itoa(cluster.FreePort(t))
	forge := krb5.NewForge(t)
	keytab := forge.Keytab("zk.keytab", "secret", "zookeeper/localhost@EXAMPLE.COM")
	jaas := put("jaas.conf",
		[]byte("Server {\n  com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=\""+keytab+
			"\" storeKey=true principal=\"zookeeper/localhost@EXAMPLE.COM\";\n};\n"))
	server := ca.Issue(pki.Options{Name: "s", Hosts: []string{"127.0.0.1"}, NotAfter: time.Now().AddDate(1, 0, 0)})
	settings := map[string]string{
		"maxClientCnxns": "8", "ensembleAuthName": "blue", "snapCount": "10", "enforceQuota": "true",
		"dataLogDir": t.TempDir(), "preAllocSize": "64",
		"authProvider.ensemble": "org.apache.zookeeper.server.auth.EnsembleAuthenticationProvider",
		"secureClientPort":      secure[strings.LastIndexByte(secure, ':')+1:], "secureClientPortAddress": "127.0.0.1",
		"ssl.keyStore.location": put("server.pem", server.PEM()), "ssl.trustStore.location": put("ca.pem", ca.PEM()),
		"ssl.clientAuth": "need", "X509AuthenticationProvider.clientCertIdType": "SAN",
		"java.security.auth.login.config": jaas, "java.security.krb5.conf": forge.Config("EXAMPLE.COM"),
		"authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
	}
	port := withAdmin(t, "127.0.0.1", settings)
	n := cluster.Start(t, cluster.Options{Settings: settings})
	look := func() visit { return examine(t, "--admin-port", port, n.Addr()) }
	require.Empty(t, look().ills())

	first := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 30_000})
	second := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 30_000})
	var more []*wire.Conn
	for len(more) < 8 {
		c, err := wire.Dial(n.Addr(), wire.Options{TimeoutMs: 30_000})
		if err != nil {
			break
		}
		more = append(more, c)
	}
	require.Less(t, len(more), 8)
	says(t, n, "too many connections from this address: maxClientCnxns is reached")
	v := look()
	require.Equal(t, doctor.Notice,
		v.names(t, "too many connections from this address: maxClientCnxns is reached").Severity)
	require.Equal(t, doctor.Warning, v.severity("connection-limit"))
	for _, c := range more {
		c.Close()
	}

	_, err := second.Do(wire.Auth("ensemble", []byte("green")))
	require.Error(t, err)
	says(t, n, "closing client connection: the client names another ensemble; see ensembleAuthName")
	second.Close()
	other := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 30_000})
	_, _ = other.Do(wire.Sasl([]byte("no ticket"))) // it is answered, or closed
	defer other.Close()
	says(t, n, "SASL authentication failed")
	v = look()
	v.names(t, "closing client connection: the client names another ensemble; see ensembleAuthName")
	v.names(t, "SASL authentication failed")

	plain := must.Dial(t, secure)
	must.Do(plain.Write([]byte("ruok")))(t)
	says(t, n, "plain text on a port for TLS only")
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	nameless := ca.Issue(pki.Options{Name: "a client"})
	handshake := func(cfg *tls.Config) {
		if nc, err := tls.Dial("tcp", secure, cfg); err == nil {
			_, _ = nc.Read(make([]byte, 1)) // the verdict on a certificate comes after the handshake
			nc.Close()
		}
	}
	handshake(&tls.Config{RootCAs: x509.NewCertPool()})
	says(t, n, "TLS handshake failed")
	handshake(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{
		{Certificate: [][]byte{nameless.Cert.Raw}, PrivateKey: nameless.Key}}})
	says(t, n, "certificate refused")
	v = look()
	v.names(t, "plain text on a port for TLS only")
	v.names(t, "TLS handshake failed")
	v.names(t, "certificate refused")

	require.NoError(t, os.Remove(keytab))
	v = examine(t, "--no-measure", "--config", filepath.Join(n.Dir(), "zoo.cfg"))
	require.Equal(t, doctor.Error,
		v.names(t, "the keytab cannot be used: the keys that were read before stay in use").Severity)

	first.MustCreate(t, "/q", nil, proto.ModePersistent)
	must.Output(t, exec.Command(cluster.Binary(t), "shell", "-s", n.Addr(), "setquota", "-N", "2", "/q"))
	first.MustCreate(t, "/q/a", nil, proto.ModePersistent)
	_, err = first.Create("/q/b", nil, proto.ModePersistent)
	require.ErrorIs(t, err, proto.ErrQuotaExceeded)
	says(t, n, "quota exceeded")
	look().names(t, "quota exceeded")

	folder := filepath.Join(n.DataDir(), "version-2")
	require.NoError(t, os.Rename(folder, folder+".away"))
	for watch := cluster.NewWatch(); !strings.Contains(n.Log(), "ERROR\tcannot write a snapshot") &&
		watch.Elapsed() < patience; {
		first.MustSetData(t, "/q", make([]byte, 100), -1)
	}
	require.Equal(t, doctor.Error, look().names(t, "cannot write a snapshot").Severity)
	require.NoError(t, os.Rename(folder+".away", folder))
}

// TestConnectionsAndHandshakesAreLimited reaches the limits of all clients together, and sees a slow disk.
func TestConnectionsAndHandshakesAreLimited(t *testing.T) {
	t.Parallel()
	ca := pki.NewCA("ca")
	key := filepath.Join(t.TempDir(), "server.pem")
	require.NoError(t, os.WriteFile(key, ca.Issue(pki.Options{Name: "s", Hosts: []string{"127.0.0.1"}}).PEM(), 0o600))
	secure := cluster.FreePort(t)
	settings := map[string]string{"maxCnxns": "2", "netty.server.outstandingHandshake.limit": "0",
		"secureClientPort": strconv.Itoa(secure), "secureClientPortAddress": "127.0.0.1",
		"ssl.keyStore.location": key, "ssl.clientAuth": "none"}
	port := withAdmin(t, "127.0.0.1", settings)
	n := cluster.Start(t, cluster.Options{Settings: settings})
	_, err := tls.Dial("tcp", "127.0.0.1:"+strconv.Itoa(secure), &tls.Config{InsecureSkipVerify: true})
	require.Error(t, err)
	says(t, n, "too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")
	var open []*wire.Conn
	for len(open) < 5 {
		c, err := wire.Dial(n.Addr(), wire.Options{TimeoutMs: 30_000, Reply: 10 * time.Second})
		if err != nil {
			break
		}
		defer c.Close()
		open = append(open, c)
	}
	require.Len(t, open, 2)
	says(t, n, "too many connections: maxCnxns is reached")
	v := examine(t, "--admin-port", port, n.Addr())
	v.names(t, "too many TLS handshakes under way: netty.server.outstandingHandshake.limit is reached")
	v.names(t, "too many connections: maxCnxns is reached")
}

// TestSlowSyncs has a threshold that every sync exceeds, and a server that answers one four-letter word.
func TestSlowSyncs(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"fsync.warningthresholdms": "1", "4lw.commands.whitelist": "srvr"}
	port := withAdmin(t, "127.0.0.1", settings)
	n := cluster.Start(t, cluster.Options{Settings: settings})
	v := examine(t, "--admin-port", port, n.Addr())
	require.Equal(t, doctor.Notice, v.names(t, "is not executed because it is not in the whitelist.").Severity)
	c := wire.Open(t, n.Addr(), wire.Options{TimeoutMs: 30_000})
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	for watch := cluster.NewWatch(); !strings.Contains(n.Log(),
		"syncing the log was slow: every write waits for it"); {
		if watch.Elapsed() > 10*time.Second {
			t.Skip("no sync takes a millisecond here")
		}
		c.MustSetData(t, "/n", make([]byte, 900_000), -1)
	}
	v = examine(t, "--admin-port", port, n.Addr())
	require.Equal(t, doctor.Warning, v.names(t, "syncing the log was slow: every write waits for it").Severity)
}
