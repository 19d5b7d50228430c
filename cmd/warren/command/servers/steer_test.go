package servers

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/wire"
)

// adminOf serves the command drain with one answer after the other, the last one again and again, and returns its URL
// and what it was asked.
func adminOf(t *testing.T, answers ...string) (url string, asked *[]string) {
	asked = new([]string)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		_, _ = io.WriteString(w, answers[min(len(*asked), len(answers))-1])
	}))
	t.Cleanup(web.Close)
	return web.URL + "/commands", asked
}

func TestDrainCommand(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "super.txt")
	require.NoError(t, os.WriteFile(secret, []byte("digest super:secret\n"), 0o600))
	const two, none = `{"draining": true, "clients": 2, "rate": 7, "error": null}`,
		`{"draining": true, "clients": 0, "rate": 7, "error": null}`
	url, asked := adminOf(t, two, two, none)
	code, out, errs := run("drain", "--admin", url, "--auth-file", secret, "--rate", "7")
	require.Zero(t, code, errs)
	require.Equal(t, "2 clients, of which 7 leave per second\n"+
		"drained: the server takes no clients until it is restarted, or until `warren drain --resume`\n", out)
	ask := `POST /commands/drain digest super:secret `
	require.Equal(t, []string{ask + `{"rate":7}`, ask + `{"dry_run":true}`, ask + `{"dry_run":true}`}, *asked)

	url, _ = adminOf(t, two)
	code, _, errs = run("drain", "--admin", url, "--wait", "1ms")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "2 clients are left after 1ms")
	code, out, _ = run("drain", "--admin", url, "--dry-run", "--rate", "1")
	require.Zero(t, code)
	require.Equal(t, "the server is being drained already, at 7 per second; 2 clients would leave within 2s\n", out)

	url, _ = adminOf(t, two, `{"draining": false, "clients": 2, "rate": 0, "error": null}`)
	code, _, errs = run("drain", "--admin", url)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "resumed or restarted meanwhile")

	for _, args := range [][]string{
		{"drain", "x"}, {"drain", "--rate", "0"}, {"drain", "--resume", "--dry-run"}, {"shed"}, {"shed", "101"},
		{"shed", "-1"}, {"shed", "x"}, {"lead"}, {"lead", "zk2"},
	} {
		code, _, _ := run(args...)
		require.Equal(t, cli.ExitUsage, code, args)
	}
}

func TestLeadCommand(t *testing.T) {
	url, asked := adminOf(t, `{"from": 3, "to": 2, "leader": 2, "took_ms": 4, "error": null}`)
	code, out, errs := run("lead", "2", "--admin", url)
	require.Zero(t, code, errs)
	require.Equal(t, "server 2 leads, after server 3; it took 4 ms\n", out)
	require.Equal(t, []string{`POST /commands/hand_over  {"dry_run":false,"to":2}`}, *asked)
	_, out, _ = run("lead", "2", "--admin", url, "--dry-run")
	require.Equal(t, "server 3 would hand over to server 2\n", out)
	_, out, _ = run("lead", "3", "--admin", url)
	require.Equal(t, "server 3 leads already\n", out)
	url, _ = adminOf(t, `{"error": "this server does not lead: ask server 1, which does"}`)
	code, _, errs = run("lead", "2", "--admin", url)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "ask server 1")
}

// The commands reach a real server, which says why it refuses.
func TestSteeringCommandsOfAServer(t *testing.T) {
	admin := freePort(t)
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.serverPort="+admin,
		"-D", "admin.serverAddress=127.0.0.1",
		"-D", "DigestAuthenticationProvider.superDigest="+auth.DigestIdentity("super:secret").ID)
	secret := filepath.Join(t.TempDir(), "super.txt")
	require.NoError(t, os.WriteFile(secret, []byte("digest super:secret"), 0o600))
	at := []string{"--admin", "http://127.0.0.1:" + admin + "/commands"}
	c, err := wire.Dial(r.Addr, wire.Options{})
	require.NoError(t, err)
	defer c.Close()

	code, _, errs := run(append([]string{"shed", "100"}, at...)...)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "Auth info is missing")
	at = append(at, "--auth-file", secret)
	code, _, errs = run(append([]string{"drain"}, at...)...)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "clients have no other server")
	require.NoError(t, c.Err())
	code, _, errs = run(append([]string{"lead", "1"}, at...)...)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "this server does not lead")
	code, out, errs := run(append([]string{"shed", "100"}, at...)...)
	require.Zero(t, code, errs)
	require.Equal(t, "ended 1 connections\n", out)
	require.NoError(t, c.WaitClosed())
	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	return port
}
