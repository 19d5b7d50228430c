package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

const jaasFile = `Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
    user_bob="bobsecret" user_root="rootsecret" user_super="oldsecret";
};
QuorumServer { org.apache.zookeeper.server.auth.DigestLoginModule required user_zk="zksecret"; };
`

func saslConfig() *config.Config {
	cfg := memConfig()
	cfg.SASL.LoginConfig = "/jaas.conf"
	cfg.SASL.SuperUsers = []string{"root"}
	cfg.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "sasl"}}
	return cfg
}

// newSASL returns a server with a JAAS file, not started.
func newSASL(t testing.TB, cfg *config.Config, jaas string, log *zap.Logger) *Server {
	t.Helper()
	v := &vault{fs: vfs.NewMem()}
	v.put(t, "/jaas.conf", []byte(jaas))
	return New(cfg, Options{FS: v.fs, Meta: meta.NewMem(1), Log: log, Version: testVersion})
}

func serveSASL(t testing.TB, cfg *config.Config, log *zap.Logger) *Server {
	t.Helper()
	s := newSASL(t, cfg, jaasFile, log)
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s
}

// saslStep sends one token.
func saslStep(t testing.TB, c *wire.Conn, token []byte) *wire.Reply {
	t.Helper()
	if token == nil {
		token = []byte{}
	}
	return c.MustDo(t, wire.Sasl(token))
}

// login runs the whole exchange and returns the last reply.
func login(t testing.TB, c *wire.Conn, user, password string) *wire.Reply {
	t.Helper()
	client := digestmd5.NewClient(digestmd5.ClientRealm, user, password, sasl.NewNonce())
	token := must.Do(client.Step(saslToken(t, saslStep(t, c, nil))))(t)
	rep := saslStep(t, c, token)
	if rep.Header.Err == proto.OK {
		if last := saslToken(t, rep); last != nil {
			must.Do(client.Step(last))(t)
			require.True(t, client.Done())
		}
	}
	return rep
}

func saslToken(t testing.TB, rep *wire.Reply) []byte {
	t.Helper()
	var resp proto.SetSASLResponse
	require.NoError(t, resp.ReadFrom(rep.Body))
	return resp.Token
}

func TestSASLLogin(t *testing.T) {
	cfg := saslConfig()
	cfg.SASL.SuperPassword = "newsecret"
	s := serveSASL(t, cfg, nil)
	bob, root := dialWire(t, s, wire.Options{}), dialWire(t, s, wire.Options{})
	require.EqualValues(t, 0, login(t, bob, "bob", "bobsecret").Header.Zxid)
	require.EqualValues(t, 0, login(t, root, "root", "rootsecret").Header.Err)
	require.Equal(t, "ip:127.0.0.1 sasl:bob", whoAmI(t, bob))
	require.Equal(t, "ip:127.0.0.1 sasl:root super:", whoAmI(t, root))

	must.Do(wireCreate(bob, "/bob", wire.ACL(31, "auth", "")))(t)
	must.Do(wireCreate(bob, "/named", wire.ACL(31, "sasl", "bob")))(t)
	nobody := dialWire(t, s, wire.Options{})
	require.ErrorContains(t, must.Err2(nobody.GetData("/bob", false)), "-102")
	root.MustGetData(t, "/bob", false)

	// superPassword is the password of super, whatever the file says.
	require.EqualValues(t, -115, login(t, nobody, "super", "oldsecret").Header.Err)
	super := dialWire(t, s, wire.Options{})
	require.EqualValues(t, 0, login(t, super, "super", "newsecret").Header.Err)
	_, _, err := super.GetData("/bob", false)
	require.NoError(t, err, "the identity sasl:super matches every entry of the scheme")
}

// A failed step is answered with a null token, and the connection ends. The session lives on.
func TestSASLFailure(t *testing.T) {
	s := serveSASL(t, saslConfig(), nil)
	for user, password := range map[string]string{"bob": "wrong", "nobody": "bobsecret", "zk": "zksecret"} {
		c := dialWire(t, s, wire.Options{})
		rep := login(t, c, user, password)
		require.EqualValues(t, -115, rep.Header.Err)
		require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rep.Body)
		require.NoError(t, c.WaitClosed())
		again := wire.Open(t, s.Addr().String(), c.Resume())
		again.Close()
	}
	c := dialWire(t, s, wire.Options{})
	login(t, c, "bob", "bobsecret")
	require.EqualValues(t, -115, saslStep(t, c, nil).Header.Err, "a token after the end")
	require.NoError(t, c.WaitClosed())

	c = dialWire(t, s, wire.Options{})
	require.Error(t, func() error { _, err := c.Do(wire.Sasl(nil)); return err }(), "a null token gets no answer")
	require.NoError(t, c.WaitClosed())

	rep := dialWire(t, s, wire.Options{}).MustDo(t, wire.Auth("sasl", []byte("bob")))
	require.EqualValues(t, -115, rep.Header.Err)
}

func TestSASLFailedClientsMayGoOn(t *testing.T) {
	cfg := saslConfig()
	cfg.AllowSASLFailedClients = true
	s := serveSASL(t, cfg, nil)
	c := dialWire(t, s, wire.Options{})
	rep := login(t, c, "bob", "wrong")
	require.EqualValues(t, 0, rep.Header.Err)
	require.Nil(t, saslToken(t, rep))
	require.Equal(t, "ip:127.0.0.1", whoAmI(t, c))
	require.EqualValues(t, 0, saslStep(t, c, nil).Header.Err)
	require.Equal(t, "ip:127.0.0.1", whoAmI(t, c))
}

func TestSASLIsRequired(t *testing.T) {
	for _, set := range []func(*config.Config){
		func(c *config.Config) { c.SessionRequireClientSASLAuth = true },
		func(c *config.Config) { c.EnforceAuth = config.EnforceAuth{Enabled: true, Schemes: []string{"sasl"}} },
	} {
		cfg := saslConfig()
		set(cfg)
		cfg.AllowSASLFailedClients = true // means nothing then
		s := serveSASL(t, cfg, nil)
		for _, req := range []wire.Request{wire.Ping(), wire.GetData("/", false), wire.CloseSession()} {
			c := dialWire(t, s, wire.Options{})
			require.EqualValues(t, -124, c.MustDo(t, req).Header.Err)
			require.NoError(t, c.WaitClosed())
		}
		c := dialWire(t, s, wire.Options{})
		require.EqualValues(t, -124, login(t, c, "bob", "wrong").Header.Err)
		require.NoError(t, c.WaitClosed())
		c = dialWire(t, s, wire.Options{})
		require.EqualValues(t, 0, c.MustDo(t, wire.Auth("digest", []byte("bob:x"))).Header.Err)
		require.EqualValues(t, 0, login(t, c, "bob", "bobsecret").Header.Err)
		require.NoError(t, c.Ping())
	}
}

func TestSASLConfiguration(t *testing.T) {
	own := func(c *config.Config) { c.AuthProviders = nil }
	for name, c := range map[string]struct {
		jaas string
		set  func(*config.Config)
		want string
	}{
		"no section for clients":  {"QuorumServer { };", own, ""},
		"no section, but SASL is": {"QuorumServer { };", func(*config.Config) {}, ""},
		"no section, and SASL is required": {
			"QuorumServer { };", func(c *config.Config) { c.SessionRequireClientSASLAuth = true },
			"section Server: the section is missing",
		},
		"malformed": {"Server { x s3cr3t", own, "line 1"},
		"no file":   {jaasFile, func(c *config.Config) { c.SASL.LoginConfig = "/none" }, "/none"},
		"required without file": {jaasFile, func(c *config.Config) {
			c.SASL.LoginConfig,
				c.SessionRequireClientSASLAuth = "", true
		},
			"java.security.auth.login.config"},
		"other section": {strings.Replace(jaasFile, "Server {", "Own {", 1),
			func(c *config.Config) { c.SASL.ServerSection = "Own" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := saslConfig()
			c.set(cfg)
			s := newSASL(t, cfg, c.jaas, nil)
			err := s.Start()
			if c.want == "" {
				require.NoError(t, err)
				s.Stop()
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

// No password, hash of one or token is in the log, at any level.
func TestNoSecretInTheLog(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	cfg := saslConfig()
	cfg.SASL.SuperPassword = "newsecret"
	cfg.SuperDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
	cfg.AuthProviders = append(cfg.AuthProviders, config.AuthProvider{Suffix: "2", Scheme: "ensemble"})
	cfg.EnsembleAuthNames = []string{"ours"}
	s := serveSASL(t, cfg, zap.New(core))
	for range 2 {
		c := dialWire(t, s, wire.Options{})
		for _, credentials := range []string{"bob:digestsecret", "super:test"} {
			c.MustDo(t, wire.Auth("digest", []byte(credentials)))
		}
		login(t, c, "bob", "bobsecret")
		login(t, dialWire(t, s, wire.Options{}), "bob", "guessedsecret")
		_, _ = dialWire(t, s, wire.Options{}).Do(wire.Auth("nope", []byte("bob:digestsecret")))
		_, _ = dialWire(t, s, wire.Options{}).Do(wire.Auth("ensemble", []byte("theirsecret")))
		_, err := wireCreate(c, "/a", wire.ACL(31, "auth", ""))
		_ = err
	}
	require.NotZero(t, logs.Len())
	for _, e := range logs.All() {
		text := e.Message
		for k, v := range e.ContextMap() {
			text += " " + k + "=" + strings.TrimSpace(toText(v))
		}
		for _, secret := range []string{"secret", "super:test", "D/InIHSb7yEEbrWz8b9l71RjZJU=", "response=",
			"nonce="} {
			require.NotContains(t, text, secret)
		}
	}
}

func TestEnsembleScheme(t *testing.T) {
	cfg := memConfig()
	cfg.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "ensemble"}}
	cfg.EnsembleAuthNames = []string{"a", "b"}
	s, c := serveOne(t, cfg)
	for _, name := range []string{"a", "b", ""} {
		require.EqualValues(t, 0, c.MustDo(t, wire.Auth("ensemble", []byte(name))).Header.Err)
	}
	require.Equal(t, "ip:127.0.0.1", whoAmI(t, c))
	require.Error(t, must.Err(c.Do(wire.Auth("ensemble", []byte("c")))), "no answer")
	require.NoError(t, c.WaitClosed())

	require.EqualValues(t, 2, s.Metrics.EnsembleSuccess.Total())
	require.EqualValues(t, 1, s.Metrics.EnsembleSkip.Total())
	require.EqualValues(t, 1, s.Metrics.EnsembleFail.Total())

	plain := dialWire(t, serveMem(t, memConfig(), nil), wire.Options{})
	rep := plain.MustDo(t, wire.Auth("ensemble", []byte("a")))
	require.EqualValues(t, -115, rep.Header.Err, "the scheme is not configured")
}

// The password of a super user cannot be tried without end; programs that share an address with one that has an old
// password are not kept out.
func TestPasswordsOfSuperUsersAreNotForGuessing(t *testing.T) {
	cfg := saslConfig()
	s := serveSASL(t, cfg, nil)
	attempt := func(user, password string) proto.ErrCode {
		c := dialWire(t, s, wire.Options{})
		defer c.Close()
		return login(t, c, user, password).Header.Err
	}
	for range 3 * limits.GuessesMax {
		require.Equal(t, proto.ErrAuthFailed, attempt("bob", "guess"))
	}
	require.Equal(t, proto.OK, attempt("bob", "bobsecret"))
	require.Equal(t, proto.OK, attempt("root", "rootsecret"))
	for range 3 * limits.GuessesMax {
		require.Equal(t, proto.ErrAuthFailed, attempt("root", "guess"))
	}
	require.Equal(t, proto.ErrAuthFailed, attempt("root", "rootsecret"), "the right one tells a guesser nothing")
	require.Equal(t, proto.OK, attempt("bob", "bobsecret"))
}
