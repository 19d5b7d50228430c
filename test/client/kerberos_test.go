package client_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/krb5"
)

const (
	zkPrincipal = "zookeeper/localhost@EXAMPLE.COM"
	bob         = "bob@EXAMPLE.COM"
)

// serveKerberos runs a server for which a forge writes tickets.
func serveKerberos(t *testing.T, forge *krb5.Forge) (addr string) {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes, cfg.Admin.Enabled = cfg.DataDir,
		0, 0, 0, false
	cfg.SASL.LoginConfig, cfg.SASL.KerberosConfig = filepath.Join(cfg.DataDir, "jaas.conf"),
		forge.Config("EXAMPLE.COM")
	require.NoError(t,
		os.WriteFile(cfg.SASL.LoginConfig, []byte(`Server { com.sun.security.auth.module.Krb5LoginModule required
		useKeyTab=true keyTab="`+forge.Keytab("zk.keytab", "secret", zkPrincipal)+`" principal="`+zkPrincipal+`"; };`),
			0o600))
	s := server.New(cfg, server.Options{})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s.Addr().String()
}

// A client with tickets is let in. Without a valid one it waits, says why, and goes on when kinit has run; a server
// that does not take the ticket ends it.
func TestKerberos(t *testing.T) {
	forge := krb5.NewForge(t)
	addr := serveKerberos(t, forge)
	cache := forge.Cache("cache", bob, "secret", time.Now().Add(-time.Hour), zkPrincipal)
	login, err := kerberos.NewLogin(kerberos.LoginOptions{TicketCache: cache, Config: forge.Config("EXAMPLE.COM"),
		Timeout: time.Minute})
	require.NoError(t, err)
	var attempts atomic.Int32
	options := []client.Option{client.WithBackoff(time.Millisecond, time.Millisecond),
		client.WithSASL(func(string) client.Exchange {
			attempts.Add(1)
			return login.Initiate("zookeeper/localhost")
		})}
	c, err := client.New(addr, options...)
	require.NoError(t, err)
	defer c.Close()
	require.Eventually(t, func() bool { return attempts.Load() > 2 }, time.Minute, time.Millisecond)
	require.NotEqual(t, client.AuthFailed, c.State().State, "kinit may run at any time")
	forge.Cache("cache", bob, "secret", time.Now().Add(time.Hour), zkPrincipal)
	require.NoError(t, c.WaitConnected(within(t, time.Minute)))
	who, err := c.WhoAmI(within(t, time.Minute))
	require.NoError(t, err)
	require.Contains(t, who, client.Identity{Scheme: "sasl", User: bob})

	forged, err := kerberos.NewLogin(kerberos.LoginOptions{TicketCache: forge.Cache("forged", bob, "guessed",
		time.Now().Add(time.Hour), zkPrincipal),
		Config: forge.Config("EXAMPLE.COM")})
	require.NoError(t, err)
	bad, err := client.New(addr,
		client.WithSASL(func(string) client.Exchange { return forged.Initiate("zookeeper/localhost") }))
	require.NoError(t, err)
	defer bad.Close()
	require.ErrorIs(t, bad.WaitConnected(within(t, time.Minute)), client.ErrAuthFailed)
}
