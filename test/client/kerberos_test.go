package client_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/shell"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

const (
	zkPrincipal = "zookeeper/localhost@EXAMPLE.COM"
	bob         = "bob@EXAMPLE.COM"
)

// serveKerberos runs a server with a keytab, in a realm that a krb5.conf describes.
func serveKerberos(t *testing.T, conf, keytab string) (addr string) {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes, cfg.Admin.Enabled = cfg.DataDir,
		0, 0, 0, false
	cfg.SASL.KerberosConfig, cfg.SASL.LoginConfig = conf, writeJAAS(t, "Server", keytab, zkPrincipal)
	s := server.New(cfg, server.Options{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s.Addr().String()
}

// writeJAAS writes a JAAS file with a section for a principal with a keytab.
func writeJAAS(t *testing.T, section, keytab, principal string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "jaas.conf")
	require.NoError(t, os.WriteFile(file, []byte(section+` { com.sun.security.auth.module.Krb5LoginModule required
		useKeyTab=true keyTab="`+keytab+`" principal="`+principal+`"; };`), 0o600))
	return file
}

// A client with tickets is let in. Without a valid one it waits, says why, and goes on when kinit has run; a server
// that does not take the ticket ends it.
func TestKerberos(t *testing.T) {
	forge := krb5.NewForge(t)
	addr := serveKerberos(t, forge.Config("EXAMPLE.COM"), forge.Keytab("zk.keytab", "secret", zkPrincipal))
	cache := forge.Cache("cache", bob, "secret", time.Now().Add(-time.Hour), zkPrincipal)
	login := must.Do(kerberos.NewLogin(kerberos.LoginOptions{TicketCache: cache, Config: forge.Config("EXAMPLE.COM"),
		Timeout: time.Minute}))(t)
	var attempts atomic.Int32
	options := []client.Option{client.WithBackoff(time.Millisecond, time.Millisecond),
		client.WithSASL(func(string) client.Exchange {
			attempts.Add(1)
			return login.Initiate("zookeeper/localhost")
		})}
	c := must.Do(client.New(addr, options...))(t)
	defer c.Close()
	require.Eventually(t, func() bool { return attempts.Load() > 2 }, time.Minute, time.Millisecond)
	require.NotEqual(t, client.AuthFailed, c.State().State, "kinit may run at any time")
	forge.Cache("cache", bob, "secret", time.Now().Add(time.Hour), zkPrincipal)
	require.NoError(t, c.WaitConnected(within(t, time.Minute)))
	who := must.Do(c.WhoAmI(within(t, time.Minute)))(t)
	require.Contains(t, who, client.Identity{Scheme: "sasl", User: bob})

	forged := must.Do(kerberos.NewLogin(kerberos.LoginOptions{TicketCache: forge.Cache("forged", bob, "guessed",
		time.Now().Add(time.Hour), zkPrincipal),
		Config: forge.Config("EXAMPLE.COM")}))(t)
	bad, err := client.New(addr,
		client.WithSASL(func(string) client.Exchange { return forged.Initiate("zookeeper/localhost") }))
	require.NoError(t, err)
	defer bad.Close()
	require.ErrorIs(t, bad.WaitConnected(within(t, time.Minute)), client.ErrAuthFailed)
}

// A session outlives the ticket that it was established with. When its connection is cut after the end of the ticket,
// the client and the shell get a new one by their keytab and go on with the session: at once if a KDC answers, else
// when it is back.
func TestSessionOutlivesItsTicket(t *testing.T) {
	const life = 12 * time.Second
	r := krb5.StartRealm(t)
	app, tool := r.AddService("app/client.host"), r.AddService("tool/client.host")
	r.Limit("app/client.host", life)
	r.Limit("tool/client.host", life)
	proxy := must.Do(relay.New(serveKerberos(t, r.Conf, r.AddService("zookeeper/localhost"))))(t)
	defer proxy.Close()

	var attempts atomic.Int32
	login := r.Login("app/client.host", app)
	c, err := client.New(proxy.Addr(), client.WithSessionTimeout(time.Minute),
		client.WithBackoff(time.Millisecond, 10*time.Millisecond), client.WithSASL(func(string) client.Exchange {
			attempts.Add(1)
			return login.Initiate("zookeeper/localhost")
		}))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.WaitConnected(within(t, time.Minute)))
	session, _ := c.Session()
	must.Do(c.Create(within(t, time.Minute), "/client", nil, client.Ephemeral))(t)

	byFile := shell.Login{File: writeJAAS(t, "Client", tool, "tool/client.host"), Server: "zookeeper/localhost",
		Krb5Conf: r.Conf}
	mechanism := must.Do(byFile.SASL())(t)
	lines, typed := io.Pipe()
	defer typed.Close()
	var out cluster.Output
	s := must.Do(shell.New(shell.Options{Servers: proxy.Addr(), Timeout: time.Minute, ConnectWait: time.Minute,
		SASL: mechanism, Quiet: true, Out: &out, Err: &out}))(t)
	ended := make(chan int, 1)
	go func() {
		ended <- s.Script(t.Context(), lines)
		s.Close()
	}()
	// do returns the line with a text that a command prints. The command that finds out that the connection is lost
	// fails, so it is typed again.
	do := func(command, want string) (line string) {
		t.Helper()
		require.Eventually(t, func() bool {
			out.Take()
			must.Do(io.WriteString(typed, command+"\n"))(t)
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				if _, rest, found := strings.Cut(out.String(), want); found {
					line, _, _ = strings.Cut(rest, "\n")
					return true
				}
			}
			return false
		}, time.Minute, time.Millisecond, command)
		return line
	}
	do("create -e /shell 1", "Created /shell")
	owner := do("stat /shell", "ephemeralOwner")
	require.NotContains(t, owner, " 0x0")

	goesOn := func() {
		t.Helper()
		require.NoError(t, c.WaitConnected(within(t, time.Minute)))
		require.Eventually(t, func() bool {
			who, err := c.WhoAmI(within(t, time.Minute))
			return err == nil && slices.Contains(who,
				client.Identity{Scheme: "sasl", User: "app/client.host@EXAMPLE.COM"})
		}, time.Minute, time.Millisecond)
		now, _ := c.Session()
		require.Equal(t, session, now)
		stat, isThere := must.Do2(c.Exists(within(t, time.Minute), "/client"))(t)
		require.True(t, isThere)
		require.EqualValues(t, session, stat.EphemeralOwner)
		do("whoami", "sasl: tool/client.host@EXAMPLE.COM")
		require.Equal(t, owner, do("stat /shell", "ephemeralOwner"))
	}
	time.Sleep(life)
	proxy.Cut()
	goesOn()

	time.Sleep(life)
	r.Stop()
	before := attempts.Load()
	proxy.Cut()
	require.Eventually(t, func() bool { return attempts.Load() > before+5 }, time.Minute, time.Millisecond)
	require.NotEqual(t, client.Connected, c.State().State)
	r.Start()
	goesOn()
	require.NoError(t, typed.Close())
	require.Zero(t, <-ended)
}
