//go:build interop

package interop

import (
	"crypto/x509"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// A client that asks for a second handshake within a connection, as OpenSSL's does at the letter R, loses the
// connection; one that does not is answered.
func TestRenegotiationIsRefused(t *testing.T) {
	ca, dir := pki.NewCA("ca"), t.TempDir()
	for name, text := range map[string][]byte{
		"server.pem": ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}}).PEM(), "trust.pem": ca.PEM(),
		"client.pem": ca.Issue(pki.Options{Name: "app", Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}).PEM(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	cfg := config.Default()
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.DataLogDir, cfg.ClientPort, cfg.SecureClientPort, cfg.PreAllocSizeKB = cfg.DataDir, config.PortUnset, 0, 64
	cfg.SecureClientPortAddress, cfg.Admin.Enabled, cfg.DiskWatermark.Bytes = "127.0.0.1", false, 0
	cfg.TLS.KeyStore.Location, cfg.TLS.TrustStore.Location = filepath.Join(dir, "server.pem"),
		filepath.Join(dir, "trust.pem")
	s := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	require.NoError(t, s.Start())
	defer s.Stop()
	port := must.Port(t, s.SecureAddr().String())
	for typed, again := range map[string]bool{"srvr": false, "R\n": true} {
		client := exec.Command("openssl", "s_client", "-tls1_2", "-connect", "127.0.0.1:"+port, "-CAfile",
			filepath.Join(dir, "trust.pem"), "-cert", filepath.Join(dir, "client.pem"), "-key",
			filepath.Join(dir, "client.pem"), "-verify_return_error")
		in := must.Do(client.StdinPipe())(t)
		var out strings.Builder
		client.Stdout, client.Stderr = &out, &out
		require.NoError(t, client.Start())
		guard := time.AfterFunc(time.Minute, func() { _ = client.Process.Kill() })
		must.Do(io.WriteString(in, typed))(t)
		_ = client.Wait() // the server ends the connection either way
		require.True(t, guard.Stop(), "the connection stays: %s", out.String())
		require.Contains(t, out.String(), "Protocol  : TLSv1.2", "the first handshake succeeds")
		require.Equal(t, again, strings.Contains(out.String(), "RENEGOTIATING"), out.String())
		require.Equal(t, again,
			strings.Contains(out.String(), "no renegotiation") || strings.Contains(out.String(), "alert"),
			out.String())
		require.Equal(t, !again, strings.Contains(out.String(), "Zookeeper version"), out.String())
	}
}
