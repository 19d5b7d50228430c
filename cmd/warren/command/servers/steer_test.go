package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
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
	out := runs(t, "drain", "--admin", url, "--auth-file", secret, "--rate", "7")
	require.Equal(t, "2 clients, of which 7 leave per second\n"+
		"drained: the server takes no clients until it is restarted, or until `warren drain --resume`\n", out)
	ask := `POST /commands/drain digest super:secret `
	require.Equal(t, []string{ask + `{"rate":7}`, ask + `{"dry_run":true}`, ask + `{"dry_run":true}`}, *asked)

	url, _ = adminOf(t, two)
	fails(t, cli.ExitUnexpected, "2 clients left after 1ms", "drain", "--admin", url, "--wait", "1ms")
	out = runs(t, "drain", "--admin", url, "--dry-run", "--rate", "1")
	require.Equal(t, "the server is being drained already, at 7 per second; 2 clients would leave within 2s\n", out)

	url, _ = adminOf(t, two, `{"draining": false, "clients": 2, "rate": 0, "error": null}`)
	fails(t, cli.ExitUnexpected, "resumed or restarted meanwhile", "drain", "--admin", url)

	for _, args := range [][]string{
		{"drain", "x"}, {"drain", "--rate", "0"}, {"drain", "--resume", "--dry-run"}, {"shed"}, {"shed", "101"},
		{"shed", "-1"}, {"shed", "x"}, {"lead"}, {"lead", "zk2"}, {"end-session"}, {"end-session", "1", "2"},
		{"loglevel", "--for", "1m"}, {"loglevel", "debug", "--for", "1ms"}, {"loglevel", "debug", "--for", "-1s"},
		{"loglevel", "info", "debug"}, {"take-snapshot", "x"}, {"balance", "zk1"}, {"balance"},
		{"balance", "a", "b", "--rounds", "0"}, {"balance", "a", "b", "--tolerance", "-1"},
	} {
		code, _, _ := run(args...)
		require.Equal(t, cli.ExitUsage, code, args)
	}
}

// An order that comes too soon waits for its turn; one that would have to wait for longer than --timeout fails.
// Without Retry-After the refusal is final: it may be one of a guard of passwords.
func TestOrdersWaitForTheirTurn(t *testing.T) {
	refusals, after := 1, "1"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusals--; refusals >= 0 {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error": "asked too often: at most once in 1s"}`)
			return
		}
		_, _ = io.WriteString(w, `{"draining": false, "clients": 2, "rate": 0, "error": null}`)
	}))
	t.Cleanup(web.Close)
	at := web.Listener.Addr().String()
	require.Equal(t, "the server takes clients again\n", runs(t, "drain", "--resume", "--admin", at))
	refusals, after = 1, "60"
	fails(t, cli.ExitUnexpected, "asked too often", "drain", "--resume", "--admin", at, "--timeout", "5s")
	refusals, after = 1, ""
	fails(t, cli.ExitUnexpected, "asked too often: at most once in 1s", "drain", "--resume", "--admin", at)
}

func TestLeadCommand(t *testing.T) {
	url, asked := adminOf(t, `{"from": 3, "to": 2, "leader": 2, "took_ms": 4, "error": null}`)
	out := runs(t, "lead", "2", "--admin", url)
	require.Equal(t, "server 2 leads, after server 3; it took 4 ms\n", out)
	require.Equal(t, []string{`POST /commands/hand_over  {"dry_run":false,"to":2}`}, *asked)
	_, out, _ = run("lead", "2", "--admin", url, "--dry-run")
	require.Equal(t, "server 3 would hand over to server 2\n", out)
	_, out, _ = run("lead", "3", "--admin", url)
	require.Equal(t, "server 3 leads already\n", out)
	url, _ = adminOf(t, `{"error": "this server does not lead: ask server 1, which does"}`)
	fails(t, cli.ExitUnexpected, "ask server 1", "lead", "2", "--admin", url)
}

func TestEndSessionCommand(t *testing.T) {
	url, asked := adminOf(t, `{"label": "s-1", "client": "10.0.0.9:4001", "ephemerals": 1, "error": null}`)
	out := runs(t, "end-session", "0x7", "--admin", url)
	require.Equal(t, "the session s-1, of the client 10.0.0.9:4001, has ended; 1 ephemeral znode went with it\n", out)
	require.Equal(t, []string{`POST /commands/end_session  {"dry_run":false,"session":"0x7"}`}, *asked)
	url, _ = adminOf(t, `{"label": "s-1", "client": "", "ephemerals": 0, "error": null}`)
	_, out, _ = run("end-session", "0x7", "--admin", url, "--dry-run")
	require.Equal(t, "the session s-1, of a client of another server, or none, would end; "+
		"0 ephemeral znodes would go with it\n", out)
	url, _ = adminOf(t, `{"error": "there is no session with this id"}`)
	fails(t, cli.ExitUnexpected, "there is no session", "end-session", "0x7", "--admin", url)
}

func TestLogLevelCommand(t *testing.T) {
	url, asked := adminOf(t, `{"level": "info", "then": "", "until": 0, "error": null}`,
		`{"level": "debug", "then": "info", "until": 1800000000000, "error": null}`)
	_, out, _ := run("loglevel", "--admin", url)
	require.Equal(t, "the level is info\n", out)
	_, out, _ = run("loglevel", "debug", "--for", "2m", "--admin", url)
	require.Contains(t, out, "the level is debug, and info again at 2027-01-1")
	require.Equal(t, []string{`POST /commands/log_level  {"dry_run":false}`,
		`POST /commands/log_level  {"dry_run":false,"level":"debug","seconds":120}`}, *asked)
	url, _ = adminOf(t, `{"level": "info", "then": "", "until": 0, "error": null}`)
	_, out, _ = run("loglevel", "debug", "--dry-run", "--admin", url)
	require.Equal(t, "the level is info; it would be debug\n", out)
}

func TestTakeSnapshotCommand(t *testing.T) {
	for answer, want := range map[string]string{
		`"zxid": "0x1", "bytes": 7, "txns": 0, "taken": true`:  "the snapshot 0x1, of 7 bytes, was written",
		`"zxid": "0x1", "bytes": 7, "txns": 0, "taken": false`: "the snapshot 0x1, of 7 bytes, has every txn: there",
		`"zxid": "0x1", "bytes": 7, "txns": 5`:                 "is the newest one, with 5 txns since then",
		`"zxid": "0x1", "bytes": 7, "txns": -1`:                "is the newest one; the txns since then are of",
		`"zxid": "", "bytes": 0, "txns": 0`:                    "there is no snapshot yet",
	} {
		url, asked := adminOf(t, `{`+answer+`, "error": null}`)
		_, out, errs := run("take-snapshot", "--admin", url, "--dry-run")
		require.Contains(t, out, want, errs)
		require.Equal(t, []string{`POST /commands/take_snapshot  {"dry_run":true}`}, *asked)
	}
}

// A group of servers whose clients go to the others, in turn, when their connections end.
type group struct{ clients []int }

// admin serves the commands of server i.
func (g *group) admin(t *testing.T, i int, draining bool) (url string) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/shed_connections") {
			fmt.Fprintf(w, `{"draining": %t, "clients": %d, "error": null}`, draining, g.clients[i])
			return
		}
		var order struct{ Percentage int }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&order))
		n := (g.clients[i]*order.Percentage + 50) / 100
		g.clients[i] -= n
		for j := range n {
			g.clients[(i+1+j)%len(g.clients)]++
		}
		fmt.Fprintf(w, `{"connections_shed": %d, "error": null}`, n)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/commands"
}

// Clients spread over the servers, whichever server had them, and those that are even are left alone.
func TestBalanceCommand(t *testing.T) {
	for _, c := range []struct {
		clients []int
		shed    bool
	}{
		{[]int{100, 100, 0}, true}, {[]int{0, 0, 900, 10, 10}, true}, {[]int{2, 0}, true},
		{[]int{100, 100, 100}, false}, {[]int{104, 100, 96}, false}, {[]int{0, 0}, false}, {[]int{1, 0, 0}, false},
		{[]int{1, 1, 0}, false},
	} {
		g := &group{clients: slices.Clone(c.clients)}
		args := []string{"balance", "--pause", "0s"}
		sum := 0
		for i, n := range c.clients {
			args, sum = append(args, g.admin(t, i, false)), sum+n
		}
		out := runs(t, append(args, "--dry-run")...)
		require.Equal(t, c.clients, g.clients, "a dry run changes nothing")
		require.Equal(t, c.shed, strings.Contains(out, "%"), out)
		code, out, errs := run(args...)
		require.Zero(t, code, "%v: %s%s", c.clients, out, errs)
		require.Equal(t, c.shed, strings.Contains(out, "ended"), out)
		for _, n := range g.clients {
			require.LessOrEqual(t, float64(n), max(1.1*float64(sum)/float64(len(g.clients)), 1), "%v", g.clients)
		}
	}
}

// A server that is drained counts for nothing, and clients that do not go elsewhere are not chased forever.
func TestBalanceGivesUp(t *testing.T) {
	g := &group{clients: []int{10, 10, 7}}
	args := []string{"balance", g.admin(t, 0, false), g.admin(t, 1, false), g.admin(t, 2, true)}
	out := runs(t, args...)
	require.Contains(t, out, "drained")
	require.Contains(t, out, "balanced")

	stubborn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"clients": 10, "connections_shed": 5, "error": null}`)
	}))
	t.Cleanup(stubborn.Close)
	url, _ := adminOf(t, `{"clients": 0, "error": null}`)
	fails(t, cli.ExitUnexpected, "not balanced after 1 round:",
		"balance", stubborn.URL+"/commands", url, "--rounds", "1", "--pause", "0s")
}

// The commands reach a real server, which says why it refuses.
func TestSteeringCommandsOfAServer(t *testing.T) {
	admin := freePort(t)
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.serverPort="+admin,
		"-D", "admin.serverAddress=127.0.0.1",
		"-D", "DigestAuthenticationProvider.superDigest="+auth.DigestIdentity("super:secret").ID)
	secret := filepath.Join(t.TempDir(), "super.txt")
	require.NoError(t, os.WriteFile(secret, []byte("digest super:secret"), 0o600))
	at := []string{"-s", r.Addr} // which tells its admin port
	c := wire.Open(t, r.Addr, wire.Options{})

	fails(t, cli.ExitUnexpected, cli.NeedsCredentials, append([]string{"shed", "100"}, at...)...)
	at = append(at, "--auth-file", secret)
	fails(t, cli.ExitUnexpected, "clients have no other server", append([]string{"drain"}, at...)...)
	require.NoError(t, c.Err())
	fails(t, cli.ExitUnexpected, "this server does not lead", append([]string{"lead", "1"}, at...)...)
	out := runs(t, append([]string{"loglevel", "debug", "--for", "1h"}, at...)...)
	require.Contains(t, out, "the level is debug, and info again at ")
	fails(t, cli.ExitUnexpected, "http://127.0.0.1:"+admin+"/commands: clients have no other server",
		"balance", r.Addr, r.Addr, "--dry-run", "--auth-file", secret)
	out = runs(t, "take-snapshot", "--dry-run", "--admin", "127.0.0.1:"+admin, "--auth-file", secret)
	require.Contains(t, out, "the newest one")
	out = runs(t, append([]string{"take-snapshot", "--dry-run"}, at...)...)
	require.Contains(t, out, "the newest one")
	victim := wire.Open(t, r.Addr, wire.Options{})
	out = runs(t, append([]string{"end-session", victim.Session().String()}, at...)...)
	require.Contains(t, out, "has ended; 0 ephemeral znodes went with it")
	require.NoError(t, victim.WaitClosed())
	out = runs(t, append([]string{"shed", "100"}, at...)...)
	require.Equal(t, "ended 1 connection\n", out)
	require.NoError(t, c.WaitClosed())
	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
}

// An order goes to no other server than the one that is named, whatever listens at the usual admin port.
func TestOrdersGoToTheServerThatIsNamed(t *testing.T) {
	silent := cmdline.Answers(t, "fact is not executed because it is not in the whitelist.\n")
	fails(t, cli.ExitUnexpected, silent+" tells no admin port, so name it with --admin: ", "drain", "-s", silent)
	fails(t, cli.ExitUsage, "use either --server or --admin", "drain", "-s", silent, "--admin", "127.0.0.1:1")
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	return must.Port(t, ln.Addr().String())
}
