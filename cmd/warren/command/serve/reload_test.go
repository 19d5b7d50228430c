package serve_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// TestHangupChangesTheLogLevel sends SIGHUP to a server whose file has changed.
func TestHangupChangesTheLogLevel(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	write := func(more string) {
		text := "dataDir=" + dir + "\nclientPort=0\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n" + more
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("warren.logFormat=json\n")
	r := cmdline.StartServer(t, file, "--log-level", "error")
	hangup := func(line string) {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		require.Eventually(t, func() bool { return strings.Contains(r.Log.String(), line) }, cmdline.HangGuard,
			time.Millisecond, line)
	}
	require.NotContains(t, r.Log.String(), `"info"`)
	write("warren.logLevel=debug\n")
	hangup(`"msg":"SIGHUP: log level changed","from":"error","to":"debug"`)
	write("warren.logLevel=loud\n")
	hangup("SIGHUP: the configuration cannot be used: nothing has changed")
	write("warren.logLevel=warn\n")
	hangup(`"from":"debug","to":"warn"`)
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
	require.NotContains(t, r.Log.String(), `"msg":"stopped"`)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP), "must not end a process that has only not ended yet")
}

// TestServerInAnImage starts without a file, with the variables of the official container image.
func TestServerInAnImage(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{
		"ZOO_CONF_DIR": dir + "/conf", "ZOO_DATA_DIR": dir + "/data", "ZOO_DATA_LOG_DIR": dir + "/log",
		"ZOO_MY_ID": "1", "ZOO_SERVERS": "server.1=localhost:2888:3888;127.0.0.1:0",
		"ZOO_ADMINSERVER_ENABLED": "false", "ZOO_4LW_COMMANDS_WHITELIST": "conf", "WARREN_LOG_LEVEL": "error",
		"JVMFLAGS": "-Xmx1g",
	} {
		t.Setenv(name, value)
	}
	r := cmdline.StartServer(t)
	require.Contains(t, cmdline.Word(t, r.Addr, "conf"), "dataLogDir="+dir+"/log/version-2")
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
	require.Empty(t, r.Log.String())
	require.Equal(t, "1\n", string(must.ReadFile(t, dir+"/data/myid")))
	require.FileExists(t, dir+"/conf/zoo.cfg")
}

// TestHangupLoadsCertificates renews the certificate of a server that runs.
func TestHangupLoadsCertificates(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store.pem")
	issue := func(serial int64) {
		key := must.Do(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0),
			NotAfter: time.Now().Add(time.Hour)}
		der := must.Do(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
		private := must.Do(x509.MarshalPKCS8PrivateKey(key))(t)
		both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		require.NoError(t, os.WriteFile(store, both, 0o600))
	}
	issue(1)
	r := cmdline.StartServer(t, "--data-dir", dir, "--client-port", "0", "-D", "client.portUnification=true",
		"-D", "ssl.clientAuth=none", "-D", "ssl.keyStore.location="+store, "-D", "admin.enableServer=false")
	serial := func() int64 {
		conn, err := tls.Dial("tcp", r.Addr, &tls.Config{InsecureSkipVerify: true}) // its number is all that matters
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	issue(2)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return serial() == 2 }, cmdline.HangGuard, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(store, []byte("nonsense"), 0o600))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t,
		func() bool { return strings.Contains(r.Log.String(), "SIGHUP: the certificates cannot be loaded") },
		cmdline.HangGuard, time.Millisecond)
	require.Equal(t, int64(2), serial())
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
}

// A server that starts while its certificate is being replaced waits until the file is whole. It would end with the
// exit code of a wrong configuration, after which the systemd unit does not start it again.
func TestStartDuringAReplacement(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store.pem")
	whole := pki.NewCA("ca").Issue(pki.Options{Name: "one"}).PEM()
	require.NoError(t, os.WriteFile(store, whole[:len(whole)/2], 0o600))
	var log cluster.Output
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(cli.Root(serve.Commands()...), []string{"server", "--data-dir", dir + "/data", "--client-port",
			"0", "-D", "client.portUnification=true", "-D", "ssl.clientAuth=none",
			"-D", "ssl.keyStore.location=" + store, "-D", "admin.enableServer=false"}, &log, &log)
	}()
	holds := func(line string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(log.String(), line) }, cmdline.HangGuard,
			time.Millisecond, "%s", &log)
	}
	holds("waiting until they are whole")
	require.NoError(t, os.WriteFile(store, whole, 0o600))
	holds("serves clients on")
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.Zero(t, <-code)
}
