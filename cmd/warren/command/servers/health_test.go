package servers

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// health runs warren health and returns the exit code and both outputs.
func health(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = cli.Run(cli.Root(Commands()...), append([]string{"health"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestHealthOfAServer(t *testing.T) {
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.enableServer=false")
	code, out, errs := health(r.Addr)
	require.Zero(t, code, errs)
	require.Equal(t, r.Addr+": standalone\n", out)
	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
	code, out, errs = health("--timeout", "1s", r.Addr)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Empty(t, out)
	require.Contains(t, errs, r.Addr)
}

// A server whose client port does not answer, because it loads its data or speaks TLS alone, has its admin port.
func TestHealthOfAProcessByItsAdminPort(t *testing.T) {
	probes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer probes.Close()
	_, port := must.Do2(net.SplitHostPort(probes.Listener.Addr().String()))(t)
	code, out, errs := health("--process", "--admin-port", port, cmdline.Answers(t, "\x15\x03"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "admin port")
	code, _, errs = health("--process", "--admin-port", "1", "--timeout", "1s", cmdline.Answers(t, "\x15\x03"))
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "/healthz")
}

func TestHealthByWord(t *testing.T) {
	for name, x := range map[string]struct {
		answers []string
		args    []string
		code    int
		says    string
	}{
		"leader":    {[]string{"Zxid: 0x5\nMode: leader\n"}, nil, 0, ": leader"},
		"read-only": {[]string{"Mode: read-only\n"}, nil, 0, ": read-only"},
		"looking":   {[]string{cmdline.NotServing}, nil, 1, "does not serve"},
		"nonsense":  {[]string{"HTTP/1.1 400 Bad Request\n"}, nil, 1, "answers srvr with"},
		"silence":   {[]string{""}, nil, 1, "closed without an answer"},
		"after a while": {[]string{cmdline.NotServing, cmdline.NotServing, "Mode: follower\n"},
			[]string{"--wait", "30s"}, 0, ": follower"},
		"no quorum, but a process": {[]string{cmdline.NotServing}, []string{"--process"}, 0, "the process answers"},
		"serves":                   {[]string{"Mode: leader\n"}, []string{"--process"}, 0, ": leader"},
		"not a server": {[]string{"SSH-2.0"}, []string{"--process", "--admin-port", "0"}, 1,
			"answers srvr with"},
		"never": {[]string{cmdline.NotServing}, []string{"--wait", "150ms"}, 1, "does not serve"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := health(append(x.args, cmdline.Answers(t, x.answers...))...)
			require.Equal(t, x.code, code)
			require.Contains(t, out+errs, x.says)
		})
	}
}

func TestHealthByURL(t *testing.T) {
	var status atomic.Int32
	web := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer web.Close()
	for code, exit := range map[int]int{
		http.StatusOK: 0, http.StatusServiceUnavailable: 1, http.StatusFound: 1, http.StatusNotFound: 1,
	} {
		status.Store(int32(code))
		got, out, errs := health(web.URL + "/readyz")
		require.Equal(t, exit, got, out+errs)
		require.Contains(t, out+errs, http.StatusText(code))
	}
}

// An admin port with TLS is believed if --client-configuration names the certificates to trust.
func TestHealthByURLWithTLS(t *testing.T) {
	web := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	trusted, file := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "client.cfg")
	require.NoError(t, os.WriteFile(trusted,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(file,
		[]byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+trusted), 0o600))
	code, out, errs := health("--client-configuration", file, web.URL+"/readyz")
	require.Zero(t, code, errs)
	require.Contains(t, out, "200 OK")
	code, _, errs = health(web.URL + "/readyz")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "its certificate is refused")
}

func TestHealthUsage(t *testing.T) {
	code, _, errs := health("a:1", "b:2")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, `unexpected argument "b:2"`)
	code, _, _ = health("no-port")
	require.Equal(t, cli.ExitUnexpected, code)
}

// In a container, the probe of the image asks the port that the variables or the zoo.cfg give to the server.
func TestHealthInAContainer(t *testing.T) {
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.enableServer=false")
	conf := t.TempDir()
	t.Setenv("ZOO_CONF_DIR", conf)
	t.Setenv("ZOO_DATA_DIR", t.TempDir())
	t.Setenv("ZOO_SERVERS", "server.1=localhost:2888:3888;"+r.Addr)
	t.Setenv("ZOO_ADMINSERVER_ENABLED", "false")
	for _, args := range [][]string{nil, {"--process"}} {
		code, out, errs := health(args...)
		require.Zero(t, code, errs)
		require.Equal(t, r.Addr+": standalone\n", out)
	}

	ca := pki.NewCA("ca")
	trusted := x509.NewCertPool()
	trusted.AddCert(ca.Cert)
	leaf := ca.Issue(pki.Options{Name: "server"}).PEM()
	pair := must.Do(tls.X509KeyPair(leaf, leaf))(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted,
		ClientAuth: tls.RequireAndVerifyClientCert})
	require.NoError(t, err)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	require.NoError(t, os.WriteFile(filepath.Join(conf, "zoo.cfg"), fmt.Appendf(nil, "dataDir=%s\n"+
		"secureClientPort=%d\nssl.keyStore.location=/none.pem\nadmin.serverPort=1\n", conf,
		l.Addr().(*net.TCPAddr).Port), 0o600))
	code, out, errs := health("--process")
	require.Zero(t, code, errs)
	require.Contains(t, out, "the process answers by TLS")
	code, _, errs = health()
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, l.Addr().String())
	l.Close()
	code, _, _ = health("--process")
	require.Equal(t, cli.ExitUnexpected, code)
}
