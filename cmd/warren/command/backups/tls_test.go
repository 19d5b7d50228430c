package backups

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/pki"
)

// An admin server that shows a certificate of its owner's CA is asked with --client-configuration.
func TestBackupFromAnAdminServerByTLS(t *testing.T) {
	dir, ca := t.TempDir(), pki.NewCA("ca")
	leaf := ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}})
	body, err := os.ReadFile(cmdline.Fixtures + "zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34")
	require.NoError(t, err)
	admin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["last_zxid"] = []string{"0x34"}
		_, _ = w.Write(body)
	}))
	admin.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Cert.Raw}, PrivateKey: leaf.Key}},
	}
	admin.StartTLS()
	defer admin.Close()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	configuration := put("client.cfg",
		"zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+put("ca.pem", string(ca.PEM()))+"\n")
	args := []string{"backup", "create", filepath.Join(dir, "backup"), "--admin", admin.URL + "/commands"}
	code, _, errs := run(args...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "unknown authority")
	out := runs(t, append(args, "--client-configuration", configuration)...)
	require.Contains(t, out, "ends with txn 0x34")
}
