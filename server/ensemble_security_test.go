package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// locked is an ensemble in which clients can authenticate in every way.
type locked struct {
	*embed.Ensemble
	t   *testing.T
	dir string
	ca  *pki.CA
}

const clientJAAS = `Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="bobsecret" ` +
	`user_root="rootsecret"; };`

func startLocked(t *testing.T, log *zap.Logger, configure func(id int, c *config.Config)) *locked {
	t.Helper()
	l := &locked{t: t, dir: t.TempDir(), ca: pki.NewCA("ca")}
	l.write("key.pem", l.ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}}).PEM())
	l.write("trust.pem", l.ca.PEM())
	l.write("jaas.conf", []byte(clientJAAS))
	l.Ensemble = embed.Start(t, embed.Options{Servers: 3, Observers: 1, TickTime: patient, Log: log,
		Dir: filepath.Join(l.dir, "data"),
		Configure: func(id int, c *config.Config) {
			c.PreAllocSizeKB, c.DiskWatermark.Bytes = 64, 0
			c.ClientPortUnification, c.TLS.ClientAuth = true, "want"
			c.TLS.KeyStore.Location, c.TLS.TrustStore.Location = l.file("key.pem"), l.file("trust.pem")
			c.SASL.LoginConfig, c.SASL.SuperUsers = l.file("jaas.conf"), []string{"root"}
			c.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "sasl"}}
			c.SuperDigest, c.X509SuperUser = "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", "CN=admin"
			configure(id, c)
		}})
	require.NoError(t, l.WaitServing(within(t), l.IDs()...))
	return l
}

func (l *locked) file(name string) string { return filepath.Join(l.dir, name) }

func (l *locked) write(name string, text []byte) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(l.file(name), text, 0o600))
}

// by opens a session over TLS with a certificate of the given name.
func (l *locked) by(id int, name string) *wire.Conn {
	l.t.Helper()
	leaf := l.ca.Issue(pki.Options{Name: name})
	pool := x509.NewCertPool()
	pool.AddCert(l.ca.Cert)
	cert := tls.Certificate{PrivateKey: leaf.Key, Certificate: [][]byte{leaf.Cert.Raw}}
	c := wire.Open(l.t, l.Addr(id), wire.Options{TimeoutMs: 60_000,
		TLS: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", Certificates: []tls.Certificate{cert}}})
	return c
}

// login authenticates by SASL and returns the code of the last reply.
func (l *locked) login(c *wire.Conn, user, password string) proto.ErrCode {
	l.t.Helper()
	client := digestmd5.NewClient(digestmd5.ClientRealm, user, password, sasl.NewNonce())
	token := []byte{}
	for {
		reply := must.Do(c.Do(wire.Sasl(token)))(l.t)
		var resp proto.SetSASLResponse
		if reply.Header.Err != proto.OK || resp.ReadFrom(reply.Body) != nil || resp.Token == nil {
			return reply.Header.Err
		}
		token = must.Do(client.Step(resp.Token))(l.t)
		if client.Done() {
			return reply.Header.Err
		}
	}
}

func refusedBy(code proto.ErrCode, err error) bool { return err == error(code) }

// An identity that a client has proved to a follower or an observer counts at the leader, which checks permissions:
// each identity opens the znodes that name it and no other znodes, and every kind of super user has access.
func TestIdentitiesCountAtEveryServer(t *testing.T) {
	l := startLocked(t, nil, func(int, *config.Config) {})
	leader, follower, observer := roles(t, l.Ensemble)
	for role, id := range map[string]int{"leader": leader, "follower": follower, "observer": observer} {
		t.Run(role, func(t *testing.T) {
			nobody := connect(t, l.Ensemble, id, wire.Options{})
			digest, super := connect(t, l.Ensemble, id, wire.Options{}), connect(t, l.Ensemble, id, wire.Options{})
			require.NoError(t, digest.Auth("digest", "bob:secret"))
			require.NoError(t, super.Auth("digest", "super:test"))
			user, root := connect(t, l.Ensemble, id, wire.Options{}), connect(t, l.Ensemble, id, wire.Options{})
			require.Equal(t, proto.OK, l.login(user, "bob", "bobsecret"))
			require.Equal(t, proto.OK, l.login(root, "root", "rootsecret"))
			app, admin := l.by(id, "app"), l.by(id, "admin")

			owners := map[string]*wire.Conn{"digest": digest, "sasl": user, "x509": app}
			for scheme, owner := range owners {
				path := fmt.Sprintf("/%s-%s", role, scheme)
				owner.MustDo(t, wire.Create(path, []byte("mine"), wire.ACL(31, "auth", ""), 0))
				acl, _, err := owner.GetACL(path)
				require.NoError(t, err, path)
				require.Len(t, acl, 1)
				require.Equal(t, scheme, acl[0].Id.Scheme.String())
				for other, c := range owners {
					_, err := c.SetData(path, []byte(other), -1)
					require.Equal(t, other != scheme, refusedBy(proto.ErrNoAuth, err), "%s sets %s: %v", other, path,
						err)
				}
				for _, refused := range []wire.Request{wire.SetData(path, nil, -1),
					wire.SetACL(path, wire.OpenACL, -1), wire.Create(path+"/child", nil, wire.OpenACL, 0),
					wire.GetData(path, false)} {
					reply := nobody.MustDo(t, refused)
					require.Equal(t, proto.ErrNoAuth, reply.Header.Err, "%v of %s", refused.Op, path)
				}
				for _, c := range []*wire.Conn{super, root, admin} {
					c.MustSetData(t, path, []byte("super"), -1)
					c.MustCreate(t, path+"/child", nil, 0)
					require.NoError(t, c.Delete(path+"/child", -1))
				}
			}
			reply := nobody.MustDo(t, wire.Create("/"+role+"-none", nil, wire.ACL(31, "auth", ""), 0))
			require.Equal(t, proto.ErrInvalidACL, reply.Header.Err)
		})
	}
}

// letAnySaslUserDoX opens znodes to every SASL user, to write as well as to read, wherever the client is.
func TestAnySASLUserAtEveryServer(t *testing.T) {
	l := startLocked(t, nil, func(_ int, c *config.Config) { c.SASL.AnyUser = "anybody" })
	leader, follower, observer := roles(t, l.Ensemble)
	for _, id := range []int{leader, follower, observer} {
		user := connect(t, l.Ensemble, id, wire.Options{})
		stranger := connect(t, l.Ensemble, id, wire.Options{})
		require.Equal(t, proto.OK, l.login(user, "bob", "bobsecret"))
		path := fmt.Sprintf("/any-%d", id)
		stranger.MustDo(t, wire.Create(path, nil, wire.ACL(31, "sasl", "anybody"), 0))
		user.MustSetData(t, path, []byte("x"), -1)
		user.MustGetData(t, path, false)
		require.ErrorIs(t, must.Err(stranger.SetData(path, []byte("y"), -1)), proto.ErrNoAuth)
	}
}

// Every client may read the configuration of the ensemble, and only a super user may change it. The server's own
// znodes cannot be deleted. This holds at every server.
func TestSystemZnodesAreGuardedAtEveryServer(t *testing.T) {
	l := startLocked(t, nil, func(int, *config.Config) {})
	leader, follower, observer := roles(t, l.Ensemble)
	for _, id := range []int{leader, follower, observer} {
		c := connect(t, l.Ensemble, id, wire.Options{})
		c.MustGetData(t, "/zookeeper/config", false)
		acl, _ := must.Do2(c.GetACL("/zookeeper/config"))(t)
		require.Equal(t, wire.ACL(proto.PermRead, "world", "anyone"), acl)
		require.ErrorIs(t, must.Err(c.SetData("/zookeeper/config", []byte("mine"), -1)), proto.ErrNoAuth)
		require.ErrorIs(t, must.Err(c.SetACL("/zookeeper/config", wire.OpenACL, -1)), proto.ErrNoAuth)
		require.ErrorIs(t, must.Err(c.Create("/zookeeper/config/child", nil, 0)), proto.ErrNoAuth)
		for _, path := range []string{"/", "/zookeeper"} {
			require.Error(t, c.Delete(path, -1), path)
		}
		reply := c.MustDo(t, wire.Reconfig("", "2", "", -1))
		require.NotEqual(t, proto.OK, reply.Header.Err, "nobody in particular reconfigures")
		c.MustGetData(t, "/zookeeper/config", false)
	}
}

// Every server closes a connection that sends a request before it has authenticated, and the leader gets nothing of
// it.
func TestAuthenticationIsEnforcedAtEveryServer(t *testing.T) {
	for name, set := range map[string]func(c *config.Config){
		"enforce.auth": func(c *config.Config) {
			c.EnforceAuth = config.EnforceAuth{Enabled: true, Schemes: []string{"sasl", "x509"}}
		},
		"sessionRequireClientSASLAuth": func(c *config.Config) { c.SessionRequireClientSASLAuth = true },
	} {
		t.Run(name, func(t *testing.T) {
			l := startLocked(t, nil, func(_ int, c *config.Config) { set(c) })
			leader, follower, observer := roles(t, l.Ensemble)
			for _, id := range []int{leader, follower, observer} {
				path := fmt.Sprintf("/n%d", id)
				for _, first := range []wire.Request{wire.Create(path, nil, wire.OpenACL, 0), wire.Sync("/"),
					wire.GetData("/", false), wire.Ping(), wire.CloseSession()} {
					c := connect(t, l.Ensemble, id, wire.Options{})
					require.NoError(t, c.Auth("digest", "bob:secret"), "it is not one of the schemes")
					reply := c.MustDo(t, first)
					require.Equal(t, proto.ErrSessionClosedRequireAuth, reply.Header.Err, "%v", first.Op)
					require.NoError(t, c.WaitClosed())
				}
				wrong := connect(t, l.Ensemble, id, wire.Options{})
				require.NotEqual(t, proto.OK, l.login(wrong, "bob", "wrong"))
				require.NoError(t, wrong.WaitClosed())

				c := connect(t, l.Ensemble, id, wire.Options{})
				require.Equal(t, proto.OK, l.login(c, "bob", "bobsecret"))
				require.NoError(t, must.Err(c.Create(path, nil, 0)), "nothing has been created before")
				if name == "enforce.auth" {
					l.by(id, "app").MustCreate(t, path+"/x509", nil, 0)
				}
			}
		})
	}
}
