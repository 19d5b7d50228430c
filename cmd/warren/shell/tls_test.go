package shell

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/relay"
)

// A shell with a certificate talks to a server that demands one.
func TestTLS(t *testing.T) {
	ca := pki.NewCA("ca")
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	caFile, clientFile := file("ca.pem", ca.PEM()), file("client.pem", ca.Issue(pki.Options{Name: "shell"}).PEM())
	rest := []byte(nil)
	for text, _ := os.ReadFile(clientFile); ; {
		block, more := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			rest = append(rest, pem.EncodeToMemory(block)...)
		} else {
			file("key.pem", pem.EncodeToMemory(block))
		}
		text = more
	}
	serverPEM := ca.Issue(pki.Options{Name: "server", Hosts: []string{"zk.test"}}).PEM()
	cert := must.Do(tls.X509KeyPair(serverPEM, serverPEM))(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	front := forward(t, &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert})

	for name, files := range map[string]TLSFiles{
		"one file": {CA: caFile, Cert: clientFile, ServerName: "zk.test"},
		"two files": {CA: caFile, Cert: file("cert.pem", rest), Key: filepath.Join(dir, "key.pem"),
			ServerName: "zk.test"},
		"insecure": {Cert: clientFile, Insecure: true},
	} {
		c, err := files.Config()
		require.NoError(t, err, name)
		x := open(t, Options{Servers: front, TLS: c, Quiet: true})
		require.Equal(t, "[config, quota]\n", x.must("ls /zookeeper"), name)
	}
	for want, files := range map[string]TLSFiles{
		"zk.test": {CA: caFile, Cert: clientFile, ServerName: "other.test"}, // the names that are valid
		"certificate signed by unknown authority": {CA: file("other.pem", pki.NewCA("other").PEM()), Cert: clientFile,
			ServerName: "zk.test"},
	} {
		c := must.Do(files.Config())(t)
		x := open(t, Options{Servers: front, TLS: c, Quiet: true, ConnectWait: 200 * time.Millisecond})
		require.Eventually(t, func() bool { // the first attempt may take longer
			_, errs, code := x.do("ls /")
			return code == codeFailed && strings.Contains(errs, want)
		}, time.Minute, time.Millisecond, want)
	}
	// What is wrong with a file is said with the flag or the setting that names it.
	notPEM, key := file("not.pem", []byte("nothing")), file("key.pem", clientKey(t, clientFile))
	otherKey := file("other-key.pem", clientKey(t, file("other.pem", ca.Issue(pki.Options{Name: "other"}).PEM())))
	noCertificate := file("none.pem", []byte("-----BEGIN NOTHING-----\n-----END NOTHING-----\n"))
	for want, files := range map[string]TLSFiles{
		"--tls-ca " + dir + "/missing: there is no such file or directory":  {CA: dir + "/missing"},
		"--tls-ca " + notPEM + ": it is not PEM; convert PKCS12 with ":      {CA: notPEM},
		"--tls-ca " + key + ": it has no certificate that can be read":      {CA: key},
		"--tls-cert " + dir + ": it is a directory, not a file":             {Cert: dir},
		"--tls-cert " + noCertificate + ": it has no certificate":           {Cert: noCertificate},
		"--tls-cert " + caFile + ": it has no private key: name the file":   {Cert: caFile},
		"--tls-key " + dir + "/gone: there is no such file or directory":    {Cert: caFile, Key: dir + "/gone"},
		"--tls-key " + caFile + ": it has no private key":                   {Cert: caFile, Key: caFile},
		"--tls-cert " + clientFile + ": the private key is not the one of ": {Cert: clientFile, Key: otherKey},
		"--tls-key needs --tls-cert":                                        {Key: key},
		"client.cfg: zookeeper.ssl.keyStore.location " + caFile + ": it has no private key": {Cert: caFile,
			CertBy: "client.cfg: zookeeper.ssl.keyStore.location"},
		"client.cfg: zookeeper.ssl.trustStore.location " + notPEM + ": it is not PEM": {CA: notPEM,
			CABy: "client.cfg: zookeeper.ssl.trustStore.location"},
	} {
		require.ErrorContains(t, must.Err(files.Config()), want)
	}
}

// clientKey is the private key in a PEM file.
func clientKey(t *testing.T, file string) []byte {
	t.Helper()
	text := must.ReadFile(t, file)
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return pem.EncodeToMemory(block)
		}
	}
	t.Fatal("there is no key in ", file)
	return nil
}

// forward decrypts connections and hands them on to the server of the tests.
func forward(t *testing.T, c *tls.Config) string {
	t.Helper()
	l := must.Do(tls.Listen("tcp", "127.0.0.1:0", c))(t)
	r := relay.On(l, address)
	t.Cleanup(r.Close)
	return r.Addr()
}
