package server_test

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// secrets are what only the servers of a run and their clients may know: passwords, right and wrong ones, and
// values derived from them.
var secrets = []string{
	"changeit", "wrongstore", // key stores
	"quorumsecret", "wrongquorum", // SASL between servers
	"bobsecret", "rootsecret", "guessedsecret", "supersasl", // SASL for clients
	"digestsecret", "badformsecret", "ensemblesecret", "super:test", // packets of auth
	"D/InIHSb7yEEbrWz8b9l71RjZJU=", "fyVmFCwVbTJYrznoSu1koqYEYF0=", // hashes, the second in an ACL
	"znodesecret", "PRIVATE KEY", "response=", "nonce=",
}

// requireNoSecret searches a text for all of them.
func requireNoSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s has %q: ...%s...", where, secret, text[max(0, i-200):min(len(text), i+80)])
		}
	}
}

// An ensemble with every kind of secret is used and attacked. None of the secrets is in its logs at the most
// verbose level, in its audit logs, in the answers to four-letter words or in its errors.
func TestNoSecretOfAnEnsembleIsShown(t *testing.T) {
	var stranger string
	g := startGuarded(t, func(g *guarded, c *config.Config) {
		both(g, c)
		id := int(c.ServerID)
		stranger = g.File("stranger", 0, "conf")
		g.Write(stranger, []byte(strings.ReplaceAll(jaasOfEnsemble, "quorumsecret", "wrongquorum")))
		g.Write(g.File("jaas", id, "conf"), []byte(jaasOfEnsemble))
		c.ClientPortUnification, c.TLS.ClientAuth = true, "none"
		keys := filepath.Join("internal", "keystore", "testdata", "openssl.p12")
		c.TLS.KeyStore = config.Store{Location: keys, Password: "changeit"}
		c.SASL.SuperUsers, c.SASL.SuperPassword = []string{"root"}, "supersasl"
		c.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "sasl"}, {Suffix: "2", Scheme: "ensemble"}}
		c.EnsembleAuthNames, c.SuperDigest = []string{"ours"}, "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
		c.Audit.Enabled, c.Audit.File = true, g.File("audit", id, "log")
	})
	l := &locked{Ensemble: g.Ensemble, t: t}
	var sessions []string // their passwords, as they are and in hex
	for _, id := range g.IDs() {
		use := func(o wire.Options, work func(c *wire.Conn)) {
			c := connect(t, g.Ensemble, id, o)
			sessions = append(sessions, string(c.Password()), fmt.Sprintf("%x", c.Password()))
			work(c)
			c.Close()
		}
		use(wire.Options{TLS: &tls.Config{InsecureSkipVerify: true}}, func(c *wire.Conn) {
			for _, credentials := range []string{"bob:digestsecret", "super:test"} {
				require.NoError(t, c.Auth("digest", credentials))
			}
			require.Equal(t, proto.OK, l.login(c, "bob", "bobsecret"))
			for _, r := range []wire.Request{wire.Create(fmt.Sprintf("/n%d", id), []byte("znodesecret"), wire.OpenACL,
				0),
				wire.SetACL(fmt.Sprintf("/n%d", id), wire.ACL(31, "digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="), -1),
				wire.SetData(fmt.Sprintf("/n%d", id), []byte("znodesecret"), 77),
				wire.SetACL("/none", wire.ACL(31, "digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="), -1),
				{Op: proto.OpSetACL, Body: []byte("znodesecret")}} {
				c.MustDo(t, r)
			}
		})
		use(wire.Options{}, func(c *wire.Conn) { require.Equal(t, proto.OK, l.login(c, "super", "supersasl")) })
		for _, user := range []string{"bob", "nobody"} {
			use(wire.Options{}, func(c *wire.Conn) {
				require.NotEqual(t, proto.OK,
					l.login(c, user, "guessedsecret"))
			})
		}
		for scheme, token := range map[string]string{"nope": "bob:badformsecret", "ensemble": "ensemblesecret",
			"x509": "badformsecret"} {
			use(wire.Options{}, func(c *wire.Conn) { _ = c.Auth(scheme, token) }) // it is refused
		}
		for _, word := range []string{"conf", "envi", "cons", "dump", "mntr", "srvr", "stat", "wchs", "isro", "hash"} {
			text := wire.MustFourLetter(t, g.Addr(id), word, time.Minute)
			requireNoSecret(t, word, text)
		}
	}

	// One server comes back with a wrong password, then with certificates of others, then not at all.
	bad := g.IDs()[0]
	g.Stop(bad)
	login := g.cfgs[bad].SASL.LoginConfig
	g.cfgs[bad].SASL.LoginConfig = stranger
	require.NoError(t, g.Ensemble.Start(bad))
	until(t, "refusal", func() bool { return g.logs.FilterMessage("refusing connection").Len() > 0 })
	g.Stop(bad)
	g.cfgs[bad].SASL.LoginConfig = login
	g.WriteKey(bad, pki.NewCA("other").Issue(pki.Options{Hosts: []string{address(bad)}}))
	require.NoError(t, g.Ensemble.Start(bad))
	g.Write(g.File("key", bad, "pem"),
		[]byte("-----BEGIN PRIVATE KEY-----\nbadformsecret\n-----END PRIVATE KEY-----\n"))
	err := g.Server(bad).ReloadCertificates()
	require.Error(t, err)
	requireNoSecret(t, "the error of a reload", err.Error())
	g.Stop(bad)
	for name, spoil := range map[string]func(c *config.Config){
		"a wrong password of a key store": func(c *config.Config) { c.TLS.KeyStore.Password = "wrongstore" },
		"a key store that is not one": func(c *config.Config) {
			c.TLS.KeyStore = config.Store{Location: g.File("key", bad, "pem"), Password: "changeit"}
		},
		"a JAAS file that cannot be read": func(c *config.Config) {
			c.SASL.LoginConfig = g.File("broken", bad,
				"conf")
		},
		"a JAAS file without a password": func(c *config.Config) { c.QuorumAuth.LearnerLoginContext = "Server" },
		"a JAAS file that asks for a Kerberos": func(c *config.Config) {
			c.QuorumAuth.ServerLoginContext = "Kerberos"
		},
	} {
		g.WriteKey(bad, g.CA.Issue(pki.Options{Hosts: []string{address(bad)}}))
		if strings.HasPrefix(name, "a key store") {
			g.Write(g.File("key", bad, "pem"),
				[]byte("-----BEGIN PRIVATE KEY-----\nbadformsecret\n-----END PRIVATE KEY-----\n"))
		}
		g.Write(g.File("broken", bad, "conf"), []byte(strings.ReplaceAll(jaasOfEnsemble, ";", "")))
		kept := *g.cfgs[bad]
		spoil(g.cfgs[bad])
		err := g.Ensemble.Start(bad)
		require.Error(t, err, name)
		requireNoSecret(t, name, err.Error())
		*g.cfgs[bad] = kept
	}
	for _, id := range g.IDs() {
		g.Stop(id)
	}

	require.NotZero(t, g.logs.FilterLevelExact(zapcore.DebugLevel).Len())
	text := logText(t, g.logs)
	requireNoSecret(t, "the log", text)
	for _, id := range g.IDs() {
		lines := must.ReadFile(t, g.File("audit", id, "log"))
		require.Contains(t, string(lines), "operation=setAcl\tznode=/n"+fmt.Sprint(id)+"\tacl=digest:bob:x:cdrwa",
			"the server does write")
		requireNoSecret(t, "the audit log", string(lines))
		for _, secret := range sessions {
			require.NotContains(t, string(lines), secret, "the password of a session")
		}
	}
	for _, secret := range sessions {
		require.NotContains(t, text, secret, "the password of a session")
	}
}

// jaasOfEnsemble has the users of both kinds.
const jaasOfEnsemble = clientJAAS + `
QuorumServer { org.apache.zookeeper.server.auth.DigestLoginModule required user_zk="quorumsecret"; };
QuorumLearner { org.apache.zookeeper.server.auth.DigestLoginModule required username=zk password="quorumsecret"; };
Kerberos { com.sun.security.auth.module.Krb5LoginModule required password="quorumsecret"; };
`

// logText is all lines of a log as they are printed.
func logText(t *testing.T, logs *observer.ObservedLogs) string {
	t.Helper()
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	var b strings.Builder
	for _, e := range logs.All() {
		line := must.Do(encoder.EncodeEntry(e.Entry, e.Context))(t)
		b.Write(line.Bytes())
		line.Free()
	}
	return b.String()
}
