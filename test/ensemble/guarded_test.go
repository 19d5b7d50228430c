//go:build interop

package ensemble

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// mixes are ensembles in which either kind has the majority.
var mixes = [][]cluster.Kind{
	{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
	{cluster.Warren, cluster.Warren, cluster.ZooKeeper},
}

// TestGuardedMixedEnsembles lets leaders crash and stop in ensembles of both kinds whose servers know each other by
// certificates, by a password, or by both, until each kind has led.
func TestGuardedMixedEnsembles(t *testing.T) {
	for _, guarded := range []struct {
		name     string
		settings map[string]string
	}{{"TLS 1.2", overTLS}, {"TLS 1.3", overTLS13}, {"SASL", bySASL}, {"SASL over TLS", bothWays}} {
		for _, kinds := range mixes {
			t.Run(fmt.Sprint(guarded.name, kinds), func(t *testing.T) {
				c, seed := newConfigured(t, newGuard(t).configure(guarded.settings), kinds...)
				c.underLoad(seed, func() { c.changeLeaders(3) })
			})
		}
	}
}

// changeLeaders crashes and stops leaders, a few times and until each kind has led.
func (c *chaos) changeLeaders(rounds int) {
	c.t.Helper()
	kinds := map[cluster.Kind]bool{}
	for _, node := range c.nodes {
		kinds[node.Kind()] = false
	}
	both := func() bool { return !slices.Contains(slices.Collect(maps.Values(kinds)), false) }
	for round := 0; round < rounds || round < rounds+8 && !both(); round++ {
		leader := c.leader()
		kinds[leader.Kind()] = true
		c.logf("leader is %d (%s)", leader.ID(), leader.Kind())
		c.sleep(300, 800)
		if round%2 == 0 {
			c.crash(leader)
		} else {
			leader.Stop()
			c.sleep(50, 300)
			leader.Launch()
			c.whole()
		}
	}
	require.True(c.t, both(), "kinds that have led: %v", kinds)
}

// TestGuardIsSwitchedOnUnderLoad brings mixed ensembles from nothing to a guard, one server and one setting at a
// time, the way ZooKeeper's guide says: no write is lost, no session ends, and at every step either kind may lead.
func TestGuardIsSwitchedOnUnderLoad(t *testing.T) {
	for _, guarded := range []struct {
		name  string
		steps []map[string]string
	}{
		{"TLS", []map[string]string{{"portUnification": "true"}, {"sslQuorum": "true"}, {"portUnification": "false"}}},
		{"SASL", []map[string]string{{"quorum.auth.enableSasl": "true"}, {"quorum.auth.learnerRequireSasl": "true"},
			{"quorum.auth.serverRequireSasl": "true"}}},
	} {
		for _, kinds := range mixes {
			t.Run(fmt.Sprint(guarded.name, kinds), func(t *testing.T) {
				g := newGuard(t)
				c, seed := newConfigured(t, g.configure(nil), kinds...)
				c.underLoad(seed, func() {
					for _, step := range guarded.steps {
						for _, node := range c.nodes {
							c.logf("server %d (%s): %v", node.ID(), node.Kind(), step)
							g.restart(c, node, step)
						}
						c.changeLeaders(1)
					}
				})
			})
		}
	}
}

// TestCertificatesAreReplacedInMixedEnsembles replaces authority and certificates under load, file by file, in the
// order in which an operator does it, and lets each server notice by itself. Then only the new ones count, for
// leaders to come as well.
func TestCertificatesAreReplacedInMixedEnsembles(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			g, next := newGuard(t), pki.NewCA("next")
			c, seed := newConfigured(t,
				g.configure(map[string]string{"sslQuorum": "true", "sslQuorumReloadCertFiles": "true"}), kinds...)
			old := g.CA
			c.underLoad(seed, func() {
				for _, node := range c.nodes {
					g.WriteTrust(node.ID(), old, next)
				}
				for _, node := range c.nodes {
					g.until("trust in the new authority", func() bool { return g.shown(node, next) != nil })
				}
				g.CA = next
				for _, node := range c.nodes {
					g.WriteKey(node.ID(), g.issue(pki.Options{}))
				}
				for _, node := range c.nodes {
					g.until("the new certificate",
						func() bool {
							x := g.shown(node, next)
							return x != nil && x.CheckSignatureFrom(next.Cert) == nil
						})
				}
				for _, node := range c.nodes {
					g.WriteTrust(node.ID(), next)
				}
				for _, node := range c.nodes {
					g.until("the end of the trust in the old authority",
						func() bool { return g.shown(node, old) == nil && g.shown(node, next) != nil })
				}
				c.logf("all certificates are replaced")
				c.changeLeaders(2)
			})
		})
	}
}

// TestStrangersOfMixedEnsembles lets the one server that is of another kind come back with certificates that prove
// nothing: it stays outside, the others go on, and with a good one it is back.
func TestStrangersOfMixedEnsembles(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			g := newGuard(t)
			c, _ := newConfigured(t, g.configure(overTLS), kinds...)
			odd, others := c.nodes[2], c.nodes[:2]
			ours := odd // whose log is read: Warren's
			if odd.Kind() != cluster.Warren {
				ours = others[0]
			}
			for what, bad := range map[string]struct {
				key  *pki.Leaf
				said string // by Warren, when it is the one that refuses
			}{
				"another authority": {pki.NewCA("ca").Issue(pki.Options{Name: "zk", Hosts: []string{"127.0.0.1"}}),
					"unknown authority"},
				"expired":      {g.issue(pki.Options{NotAfter: time.Now().Add(-time.Minute)}), "expired"},
				"another host": {g.issue(pki.Options{Hosts: []string{"10.9.8.7"}}), "another host"},
			} {
				if odd.Kind() == cluster.Warren {
					bad.said = "remote error: tls: " // what Java calls it
				}
				odd.Stop()
				g.WriteKey(odd.ID(), bad.key)
				before := len(ours.Log())
				odd.Launch()
				g.until("refusal of "+what, func() bool { return strings.Contains(ours.Log()[before:], bad.said) })
				for _, node := range others {
					node.WaitServing()
					conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
					conn.MustCreate(t, "/during-", nil, proto.ModePersistentSequential)
					require.NoError(t, conn.CloseSession())
				}
				require.Empty(t, odd.Mode())
			}
			odd.Stop()
			g.WriteKey(odd.ID(), g.issue(pki.Options{}))
			odd.Launch()
			c.same()
		})
	}
}

// TestServerWithoutPasswordSpeaksFirst restarts servers in Java with quorum.auth.enableSasl beside a server of a
// larger id that has not been told of it. They listen on its connections until it has said something, up to syncLimit
// ticks, here 40 s, and ask for others meanwhile, each of which would end the one before.
func TestServerWithoutPasswordSpeaksFirst(t *testing.T) {
	g := newGuard(t)
	c, _ := newConfigured(t, g.configure(map[string]string{"tickTime": "2000", "syncLimit": "20"}), cluster.ZooKeeper,
		cluster.ZooKeeper, cluster.Warren)
	for _, node := range c.nodes[:2] {
		g.restart(c, node, map[string]string{"quorum.auth.enableSasl": "true"})
		text := wire.MustFourLetter(t, node.Addr(), "mntr", 10*time.Second)
		m := regexp.MustCompile(`zk_max_election_time\s+(\d+)`).FindStringSubmatch(text)
		require.NotNil(t, m, text)
		took := must.Atoi(t, m[1])
		c.logf("server %d has elected in %d ms", node.ID(), took)
		require.Less(t, took, 20_000)
	}
}
