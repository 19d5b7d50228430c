package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

const (
	zkService    = "zookeeper/zk1.example.com@EXAMPLE.COM"
	kerberosJAAS = `Server {
  com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/zk.keytab" storeKey=true principal="` +
		zkService + `";
  org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="bobsecret";
};`
)

// kerberosServer is a server for which a forge gives out tickets.
type kerberosServer struct {
	*Server
	*krb5.Forge
	t     *testing.T
	files *vault
}

// newKerberos returns such a server, not started.
func newKerberos(t *testing.T, cfg *config.Config, log *zap.Logger) *kerberosServer {
	t.Helper()
	k := &kerberosServer{Forge: krb5.NewForge(t), t: t, files: &vault{fs: vfs.NewMem()}}
	cfg.SASL.KerberosConfig = k.Config("EXAMPLE.COM")
	k.files.put(t, "/jaas.conf", []byte(kerberosJAAS))
	k.files.put(t, "/zk.keytab", k.Keys("secret", zkService))
	k.Server = New(cfg, Options{FS: k.files.fs, Meta: meta.NewMem(1), Log: log, Version: testVersion})
	return k
}

func serveKerberos(t *testing.T, cfg *config.Config, log *zap.Logger) *kerberosServer {
	t.Helper()
	k := newKerberos(t, cfg, log)
	require.NoError(t, k.Start())
	t.Cleanup(k.Stop)
	return k
}

// login authenticates a connection with a ticket that the service's key of password has made, and returns the last
// reply.
func (k *kerberosServer) login(c *wire.Conn, user, password string) *wire.Reply {
	k.t.Helper()
	cache := k.Cache("cache", user, password, time.Now().Add(time.Hour), zkService)
	l := must.Do(kerberos.NewLogin(kerberos.LoginOptions{TicketCache: cache, Config: k.Config("EXAMPLE.COM"),
		Timeout: time.Minute}))(k.t)
	x := l.Initiate(zkService)
	var challenge []byte
	for {
		token, isLast := must.Do2(x.Next(challenge))(k.t)
		rep := saslStep(k.t, c, token)
		if rep.Header.Err != proto.OK {
			return rep
		}
		if challenge = saslToken(k.t, rep); isLast {
			require.Nil(k.t, challenge, "clients in Java and C know the end by a null token")
			return rep
		}
		require.NotNil(k.t, challenge)
	}
}

// A client is known by its ticket, at once and by the name that the settings give it.
func TestKerberosLogin(t *testing.T) {
	for want, configure := range map[string]func(*config.SASL){
		"sasl:bob/admin@EXAMPLE.COM": func(*config.SASL) {},
		"sasl:bob@EXAMPLE.COM":       func(c *config.SASL) { c.RemoveHostFromPrincipal = true },
		"sasl:bob": func(c *config.SASL) {
			c.RemoveHostFromPrincipal, c.RemoveRealmFromPrincipal = true, true
		},
		"sasl:admin/admin": func(c *config.SASL) {
			c.AuthToLocal, c.RemoveRealmFromPrincipal = "RULE:[2:$2] DEFAULT", true
		},
	} {
		cfg := saslConfig()
		configure(&cfg.SASL)
		k := serveKerberos(t, cfg, nil)
		c := dialWire(t, k.Server, wire.Options{})
		k.login(c, "bob/admin@EXAMPLE.COM", "secret")
		require.Equal(t, "ip:127.0.0.1 "+want, whoAmI(t, c))
		must.Do(wireCreate(c, "/bob", wire.ACL(31, "auth", "")))(t)
		require.ErrorContains(t, must.Err2(dialWire(t, k.Server, wire.Options{}).GetData("/bob", false)), "-102")
	}
}

func TestKerberosSuperUser(t *testing.T) {
	cfg := saslConfig()
	cfg.SASL.SuperUsers = []string{"root@EXAMPLE.COM"}
	k := serveKerberos(t, cfg, nil)
	for user, want := range map[string]string{
		"root@EXAMPLE.COM":   "ip:127.0.0.1 sasl:root@EXAMPLE.COM super:",
		"root/x@EXAMPLE.COM": "ip:127.0.0.1 sasl:root/x@EXAMPLE.COM",
	} {
		c := dialWire(t, k.Server, wire.Options{})
		k.login(c, user, "secret")
		require.Equal(t, want, whoAmI(t, c))
	}
}

// A client that cannot prove its principal, or whose principal has no name here, is closed. The log has the reason.
func TestKerberosFailure(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	k := serveKerberos(t, saslConfig(), zap.New(core))
	for reason, attempt := range map[string]func(c *wire.Conn) *wire.Reply{
		"it is forged": func(c *wire.Conn) *wire.Reply {
			return k.login(c, "bob@EXAMPLE.COM", "guessed")
		},
		"no rule of security.auth_to_local": func(c *wire.Conn) *wire.Reply {
			return k.login(c, "bob@OTHER.ORG", "secret")
		},
		"the client sends no ticket": func(c *wire.Conn) *wire.Reply { return saslStep(t, c, nil) },
		"the token is malformed": func(c *wire.Conn) *wire.Reply {
			return saslStep(t, c, []byte("hello"))
		},
		"the token is for another mechanism": func(c *wire.Conn) *wire.Reply {
			return saslStep(t, c, append([]byte{0x60, 15}, make([]byte, 15)...))
		},
		"a token after the end of the exchange": func(c *wire.Conn) *wire.Reply {
			k.login(c, "bob@EXAMPLE.COM", "secret")
			return saslStep(t, c, []byte{})
		},
	} {
		c := dialWire(t, k.Server, wire.Options{})
		rep := attempt(c)
		require.EqualValues(t, -115, rep.Header.Err, reason)
		require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rep.Body)
		require.NoError(t, c.WaitClosed())
		require.Eventually(t, func() bool {
			for _, e := range logs.FilterMessage("SASL authentication failed").All() {
				if err, _ := e.ContextMap()["error"].(string); strings.Contains(err, reason) {
					return true
				}
			}
			return false
		}, time.Minute, time.Millisecond, reason)
	}
}

// What a server cannot start with.
func TestKerberosConfiguration(t *testing.T) {
	for want, change := range map[string]func(k *kerberosServer, cfg *config.Config){
		"keytab: ": func(k *kerberosServer, _ *config.Config) {
			require.NoError(t, k.files.fs.Remove("/zk.keytab"))
		},
		"not a keytab": func(k *kerberosServer, _ *config.Config) { k.files.put(t, "/zk.keytab", []byte("no")) },
		"the keytab has no key of zoo": func(k *kerberosServer, _ *config.Config) {
			k.files.put(t, "/zk.keytab", k.Keys("secret", "HTTP/x@EXAMPLE.COM"))
		},
		"is not a service": func(k *kerberosServer, _ *config.Config) {
			k.jaas(`principal="zk@EXAMPLE.COM"`)
		},
		"not a principal":              func(k *kerberosServer, _ *config.Config) { k.jaas(`principal="*@"`) },
		"options keyTab and principal": func(k *kerberosServer, _ *config.Config) { k.jaas("") },
		"krb5.conf": func(_ *kerberosServer, cfg *config.Config) {
			cfg.SASL.KerberosConfig = "/none/krb5.conf"
		},
		"security.auth_to_local, at": func(_ *kerberosServer, cfg *config.Config) { cfg.SASL.AuthToLocal = "RULE:[x" },
	} {
		cfg := saslConfig()
		k := newKerberos(t, cfg, nil)
		change(k, cfg)
		require.ErrorContains(t, k.Start(), want)
	}
	k := newKerberos(t, saslConfig(), nil)
	k.jaas(`principal="zookeeper/zk1.example.com"`) // of the default realm
	require.NoError(t, k.Start())
	k.Stop()
}

// jaas writes a JAAS file with other options than the keytab.
func (k *kerberosServer) jaas(options string) {
	k.files.put(k.t, "/jaas.conf",
		[]byte(`Server { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/zk.keytab" `+
			options+`; };`))
}
