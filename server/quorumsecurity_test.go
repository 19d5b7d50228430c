package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// guarded is an ensemble in which servers authenticate by certificates, by passwords, or by both. A test can
// replace the files, and change the configuration while a server is down.
type guarded struct {
	*embed.Ensemble
	pki.Files
	t    *testing.T
	logs *observer.ObservedLogs
	cfgs map[int]*config.Config
}

// address is the name that embed gives a server on the network between servers.
func address(id int) string { return fmt.Sprintf("10.0.0.%d", id) }

const members = 3

func startGuarded(t *testing.T, configure func(g *guarded, cfg *config.Config)) *guarded {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	g := &guarded{t: t, Files: pki.Files{Dir: t.TempDir(), CA: pki.NewCA("ca")}, logs: logs,
		cfgs: map[int]*config.Config{}}
	for id := 1; id <= members; id++ {
		g.WriteKey(id, g.CA.Issue(pki.Options{Name: "zk", Hosts: []string{address(id)}}))
		g.WriteTrust(id, g.CA)
		g.WriteLogin(id, "secret")
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range logs.All() {
				fmt.Println(e.Time.Format("05.000"), e.LoggerName, e.Level, e.Message, e.ContextMap())
			}
		}
	})
	g.Ensemble = embed.Start(t, embed.Options{Servers: members, TickTime: patient, Dir: filepath.Join(g.Dir, "data"),
		Log: zap.New(core),
		Configure: func(id int, cfg *config.Config) {
			cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 64, 0
			cfg.QuorumTLS.KeyStore.Location, cfg.QuorumTLS.TrustStore.Location = g.File("key", id, "pem"),
				g.File("trust", id, "pem")
			cfg.SASL.LoginConfig = g.File("jaas", id, "conf")
			configure(g, cfg)
			g.cfgs[id] = cfg
		}})
	return g
}

// within returns a context that bounds operations which should be quick.
func (g *guarded) within() context.Context {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	g.t.Cleanup(cancel)
	return ctx
}

// change restarts a server with another configuration and waits until it serves.
func (g *guarded) change(id int, with func(*config.Config)) {
	g.t.Helper()
	g.Stop(id)
	with(g.cfgs[id])
	require.NoError(g.t, g.Ensemble.Start(id))
	require.NoError(g.t, g.WaitServing(g.within(), g.IDs()...))
}

// replaceLeader stops the leader, writes by another server, and starts it again.
func (g *guarded) replaceLeader(path string) {
	g.t.Helper()
	old := leaderOf(g.t, g.Ensemble)
	g.Stop(old)
	must.Do(g.Leader(g.within()))(g.t) // the other server follows it; earlier it may seem to serve
	require.NoError(g.t, g.WaitServing(g.within(), old%members+1))
	g.put(old%members+1, path)
	require.NoError(g.t, g.Ensemble.Start(old))
	require.NoError(g.t, g.WaitServing(g.within(), g.IDs()...))
	require.NoError(g.t, g.WaitEqual(g.within()))
}

// put writes at one server.
func (g *guarded) put(id int, path string) {
	g.t.Helper()
	connect(g.t, g.Ensemble, id, wire.Options{}).MustCreate(g.t, path, []byte(path), proto.ModePersistent)
}

func encrypted(_ *guarded, c *config.Config) { c.SSLQuorum = true }

func authenticated(_ *guarded, c *config.Config) {
	c.QuorumAuth.EnableSASL, c.QuorumAuth.LearnerRequireSASL, c.QuorumAuth.ServerRequireSASL = true, true, true
}

func both(g *guarded, c *config.Config) { encrypted(g, c); authenticated(g, c) }

func TestGuardedEnsembles(t *testing.T) {
	for name, configure := range map[string]func(*guarded, *config.Config){
		"nothing": func(*guarded, *config.Config) {}, "TLS": encrypted, "SASL": authenticated, "SASL over TLS": both,
		"TLS 1.2":       func(g *guarded, c *config.Config) { encrypted(g, c); c.QuorumTLS.Protocol = "TLSv1.2" },
		"TLS, any peer": func(g *guarded, c *config.Config) { encrypted(g, c); c.PortUnification = true },
	} {
		t.Run(name, func(t *testing.T) {
			g := startGuarded(t, configure)
			fill(t, connect(t, g.Ensemble, 1, wire.Options{}), "/n", 2000)
			g.replaceLeader("/a")
			g.replaceLeader("/b")
			leader := leaderOf(t, g.Ensemble)
			wiped := leader%members + 1
			g.Stop(wiped)
			require.NoError(t, os.RemoveAll(filepath.Join(g.cfgs[wiped].DataDir, "version-2")))
			require.NoError(t, g.Ensemble.Start(wiped))
			require.NoError(t, g.WaitServing(g.within(), wiped))
			require.NoError(t, g.WaitEqual(g.within()))
			present(t, connect(t, g.Ensemble, wiped, wire.Options{}), "/n", 2000)
		})
	}
}

// A server that cannot authenticate stays outside, and the others go on. Then its configuration is corrected.
func TestServersThatAreNotLetIn(t *testing.T) {
	for name, c := range map[string]struct {
		configure func(*guarded, *config.Config)
		spoil     func(g *guarded, bad int)
		said      string // by the others
	}{
		"another authority": {encrypted, func(g *guarded, bad int) {
			g.WriteKey(bad, pki.NewCA("ca").Issue(pki.Options{Hosts: []string{address(bad)}}))
		}, "unknown authority"},
		"expired": {encrypted, func(g *guarded, bad int) {
			g.WriteKey(bad, g.CA.Issue(pki.Options{Hosts: []string{address(bad)},
				NotAfter: time.Now().Add(-time.Minute)}))
		}, "expired"},
		"another host": {encrypted, func(g *guarded, bad int) {
			g.WriteKey(bad, g.CA.Issue(pki.Options{Hosts: []string{"10.0.0.9"}}))
		}, "another host"},
		"plain": {encrypted, func(g *guarded, bad int) { g.cfgs[bad].SSLQuorum = false },
			"first record does not look like a TLS handshake"},
		"another password": {authenticated, func(g *guarded, bad int) { g.WriteLogin(bad, "wrong") },
			"authentication failed"},
		"another password over TLS": {both, func(g *guarded, bad int) { g.WriteLogin(bad, "wrong") },
			"authentication failed"},
		"no password": {authenticated,
			func(g *guarded, bad int) { g.cfgs[bad].QuorumAuth = config.QuorumAuth{} }, "does not authenticate"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGuarded(t, c.configure)
			bad := must.Do(g.Leader(g.within()))(t) // it would be leader again if it were let in
			g.Stop(bad)
			one, two := bad%members+1, (bad+1)%members+1
			leader := leaderOf(t, g.Ensemble)
			require.NoError(t, g.WaitServing(g.within(), one, two))
			g.put(one, "/before")
			epoch, auth := g.Server(one).Status().Epoch, g.cfgs[bad].QuorumAuth
			g.logs.TakeAll()
			c.spoil(g, bad)
			require.NoError(t, g.Ensemble.Start(bad))
			until(t, "refusal", func() bool {
				for _, entry := range g.logs.All() {
					if why, ok := entry.ContextMap()["error"].(string); ok &&
						entry.LoggerName != fmt.Sprintf("%d.peers", bad) && strings.Contains(why, c.said) {
						return true
					}
				}
				return false
			})
			for i := range 20 {
				g.put(two, fmt.Sprintf("/during%d", i))
			}
			require.Equal(t, "looking", g.Server(bad).Status().Mode)
			require.Equal(t, leader, leaderOf(t, g.Ensemble))
			require.Equal(t, epoch, g.Server(one).Status().Epoch, "the others did not elect")

			g.WriteKey(bad, g.CA.Issue(pki.Options{Hosts: []string{address(bad)}}))
			g.WriteLogin(bad, "secret")
			g.change(bad, func(cfg *config.Config) { cfg.SSLQuorum, cfg.QuorumAuth = g.cfgs[one].SSLQuorum, auth })
			require.NoError(t, g.WaitEqual(g.within()))
		})
	}
}

// writers creates znodes at every server until the returned function is called, which returns how many there are.
// No create may fail.
func (g *guarded) writers() func() int {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	counts := make([]int, members+1)
	for id := 1; id <= members; id++ {
		c := connect(g.t, g.Ensemble, id, wire.Options{})
		wg.Go(func() {
			for ; ; counts[id]++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Create(fmt.Sprintf("/w%d-%d", id, counts[id]), nil, proto.ModePersistent); err != nil {
					g.t.Errorf("writer at server %d: %v", id, err)
					return
				}
			}
		})
	}
	return func() int {
		close(stop)
		wg.Wait()
		return counts[1] + counts[2] + counts[3]
	}
}

// Authority and certificates are replaced under load, in the order in which an operator does it. No connection
// between the servers ends. Afterwards only the new ones are accepted.
func TestCertificatesAreReplacedUnderLoad(t *testing.T) {
	g := startGuarded(t, encrypted)
	written := g.writers()
	g.logs.TakeAll()
	next := pki.NewCA("next")
	reload := func() {
		t.Helper()
		for _, id := range g.IDs() {
			require.NoError(t, g.Server(id).ReloadCertificates())
		}
	}
	for _, id := range g.IDs() {
		g.WriteTrust(id, g.CA, next)
	}
	reload()
	for _, id := range g.IDs() {
		g.WriteKey(id, next.Issue(pki.Options{Hosts: []string{address(id)}}))
	}
	reload()
	for _, id := range g.IDs() {
		g.WriteTrust(id, next)
	}
	reload()
	require.Positive(t, written())
	for _, what := range []string{"link ended", "election channel ended", "refusing connection"} {
		require.Empty(t, g.logs.FilterMessage(what).All(), what)
	}

	g.replaceLeader("/with-the-new-ones")
	g.WriteKey(2, g.CA.Issue(pki.Options{Hosts: []string{address(2)}}))
	require.NoError(t, g.Restart(2))
	until(t, "refusal of the old one", func() bool {
		for _, entry := range g.logs.FilterMessage("refusing connection").All() {
			if why, _ := entry.ContextMap()["error"].(string); strings.Contains(why, "unknown authority") {
				return true
			}
		}
		return false
	})
	require.Equal(t, "looking", g.Server(2).Status().Mode)
}

// Encryption and passwords are enabled on one server at a time, and there is always a quorum.
func TestGuardIsSwitchedOnServerByServer(t *testing.T) {
	for name, steps := range map[string][]func(*config.Config){
		"TLS": {
			func(c *config.Config) { c.PortUnification = true },
			func(c *config.Config) { c.SSLQuorum = true },
			func(c *config.Config) { c.PortUnification = false },
		},
		"SASL": {
			func(c *config.Config) { c.QuorumAuth.EnableSASL = true },
			func(c *config.Config) { c.QuorumAuth.LearnerRequireSASL = true },
			func(c *config.Config) { c.QuorumAuth.ServerRequireSASL = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGuarded(t, func(*guarded, *config.Config) {})
			for i, step := range steps {
				for _, id := range g.IDs() {
					g.change(id, step)
					g.put(id, fmt.Sprintf("/step%d-%d", i, id))
				}
				g.replaceLeader(fmt.Sprintf("/after%d", i))
			}
		})
	}
}
