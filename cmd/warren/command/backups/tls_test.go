package backups

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// secured returns what a server needs, and the --client-configuration with which it is asked.
func secured(t *testing.T, dir string) (server *tls.Config, configuration string) {
	ca := pki.NewCA("ca")
	leaf := ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}})
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	configuration = put("client.cfg",
		"zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+put("ca.pem", string(ca.PEM()))+"\n")
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}},
	}, configuration
}

// A server that speaks nothing but TLS is asked with --client-configuration whether it serves.
func TestNothingIsRestoredBesideAServerThatSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	secure, configuration := secured(t, dir)
	ln := must.Do(tls.Listen("tcp", "127.0.0.1:0", secure))(t)
	at := answering(t, ln, func(c net.Conn) {
		askedWord(c)
		_, _ = io.WriteString(c, leads)
	})
	empty := t.TempDir()
	code, out, errs := run("restore", dir, empty, "--unless-served", at, "--client-configuration", configuration)
	require.Zero(t, code, errs)
	require.Contains(t, out, "clients are served by "+at)
	require.NoDirExists(t, empty+"/version-2")
}

// An admin server that shows a certificate of its owner's CA is asked with --client-configuration.
func TestBackupFromAnAdminServerByTLS(t *testing.T) {
	dir := t.TempDir()
	secure, configuration := secured(t, dir)
	body := must.ReadFile(t, cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34")
	admin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["last_zxid"] = []string{"0x34"}
		_, _ = w.Write(body)
	}))
	admin.TLS = secure
	admin.StartTLS()
	defer admin.Close()
	args := []string{"backup", "create", filepath.Join(dir, "backup"), "--admin", admin.URL + "/commands"}
	fails(t, 1, "unknown authority", args...)
	require.Contains(t, runs(t, append(args, "--client-configuration", configuration)...), "ends with txn 0x34")
}
