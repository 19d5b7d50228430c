//go:build interop

package ensemble

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
)

// guard is what the servers of an ensemble know each other by: certificates and passwords, for each server in files
// of its own, which a test may replace, and settings, which count when the server is launched.
type guard struct {
	pki.Files
	t        *testing.T
	settings map[int]map[string]string
	logins   map[int]map[string]string // properties of servers in Java, which take some settings from nowhere else
}

func newGuard(t *testing.T) *guard {
	return &guard{t: t, Files: pki.Files{Dir: t.TempDir(), CA: pki.NewCA("ca")}, settings: map[int]map[string]string{},
		logins: map[int]map[string]string{}}
}

// Settings of a guarded ensemble.
var (
	overTLS = map[string]string{"sslQuorum": "true"}
	// overTLS13 says what ZooKeeper 3.8 has to be told: by default it takes 1.2 only, and its list of suites has none
	// of 1.3.
	overTLS13 = map[string]string{"sslQuorum": "true", "ssl.quorum.protocol": "TLSv1.3",
		"ssl.quorum.enabledProtocols": "TLSv1.3",
		"ssl.quorum.ciphersuites":     "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384"}
	bySASL = map[string]string{"quorum.auth.enableSasl": "true", "quorum.auth.learnerRequireSasl": "true",
		"quorum.auth.serverRequireSasl": "true"}
	bothWays = map[string]string{"sslQuorum": "true", "quorum.auth.enableSasl": "true",
		"quorum.auth.learnerRequireSasl": "true", "quorum.auth.serverRequireSasl": "true"}
)

// configure gives a server its files and settings.
func (g *guard) configure(settings map[string]string) func(id int, o *cluster.Options) {
	return func(id int, o *cluster.Options) {
		names := pki.Options{}
		if o.Host != "" { // what it dials comes from 127.0.0.1 all the same
			names.Hosts = []string{o.Host, "127.0.0.1"}
		}
		g.WriteKey(id, g.issue(names))
		g.WriteTrust(id, g.CA)
		g.WriteLogin(id, "zksecret")
		maps.Copy(o.Settings, settings)
		maps.Copy(o.Settings, map[string]string{"ssl.quorum.keyStore.location": g.File("key", id, "pem"),
			"ssl.quorum.trustStore.location":  g.File("trust", id, "pem"),
			"java.security.auth.login.config": g.File("jaas", id, "conf")})
		o.Properties = map[string]string{"java.security.auth.login.config": g.File("jaas", id, "conf")}
		g.settings[id], g.logins[id] = o.Settings, o.Properties
	}
}

// issue returns a certificate of the authority, for this host unless o names others.
func (g *guard) issue(o pki.Options) *pki.Leaf {
	o.Name = "zk"
	if o.Hosts == nil {
		o.Hosts = []string{"127.0.0.1", "localhost"}
	}
	return g.CA.Issue(o)
}

// restart stops a server and starts it with more settings.
func (g *guard) restart(c *chaos, node *cluster.Node, settings map[string]string) {
	g.t.Helper()
	node.Stop()
	maps.Copy(g.settings[node.ID()], settings)
	node.Launch()
	c.whole()
}

// shown returns the certificate that a server shows on its election port to one that has a certificate of ca; nil if
// it lets none such in.
func (g *guard) shown(node *cluster.Node, ca *pki.CA) *x509.Certificate {
	return g.shownAt(node.ElectionAddr(), ca)
}

// shownAt does the same at any port between servers. With TLS 1.2 the handshake does not end before the server has
// decided.
func (g *guard) shownAt(addr string, ca *pki.CA) *x509.Certificate {
	mine := ca.Issue(pki.Options{Name: "zk", Hosts: []string{"127.0.0.1"}})
	key := must.Do(tls.X509KeyPair(mine.PEM(), mine.PEM()))(g.t)
	nc, err := tls.Dial("tcp", addr,
		&tls.Config{Certificates: []tls.Certificate{key}, InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err != nil {
		return nil
	}
	defer nc.Close()
	return nc.ConnectionState().PeerCertificates[0]
}

// until waits for what servers do in their own time, such as looking at files.
func (g *guard) until(what string, condition func() bool) {
	g.t.Helper()
	cluster.Eventually(g.t, condition, 40*time.Second, "%s", what)
}
