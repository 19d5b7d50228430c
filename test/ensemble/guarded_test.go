//go:build interop

package ensemble

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// both puts a setting into zoo.cfg, and a system property beside it for what servers in Java take from nowhere else.
func both(o *cluster.Options, settings, properties map[string]string) {
	maps.Copy(o.Settings, settings)
	if o.Properties == nil {
		o.Properties = map[string]string{}
	}
	maps.Copy(o.Properties, properties)
}

// bySASL makes the servers of an ensemble know each other by a password.
func bySASL(t *testing.T, password string) func(*cluster.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jaas.conf")
	const module = "org.apache.zookeeper.server.auth.DigestLoginModule required"
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "QuorumServer { %s user_zk=%q; };\nQuorumLearner { %s username=\"zk\" password=%q; };\n",
		module, password, module, password), 0o600))
	login := map[string]string{"java.security.auth.login.config": file}
	return func(o *cluster.Options) {
		both(o, map[string]string{"quorum.auth.enableSasl": "true", "quorum.auth.learnerRequireSasl": "true", "quorum.auth.serverRequireSasl": "true"}, nil)
		both(o, login, login)
	}
}

// TestGuardedMixedEnsembles lets things happen to ensembles of both kinds whose servers know each other by a password; each kind
// leads. ZooKeeper 3.8.0 of Debian, on Java 17, ends its election listener at once with sslQuorum.
func TestGuardedMixedEnsembles(t *testing.T) {
	configure := bySASL(t, "secret")
	for _, kinds := range [][]cluster.Kind{
		{cluster.ZooKeeper, cluster.ZooKeeper, cluster.Warren},
		{cluster.Warren, cluster.Warren, cluster.ZooKeeper},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			c, seed := newConfigured(t, configure, kinds...)
			led := map[cluster.Kind]bool{}
			c.underLoad(seed, func() {
				for round := 0; round < 3 || round < 10 && len(led) < 2; round++ {
					leader := c.leader()
					led[leader.Kind()] = true
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
			})
			require.Len(t, led, 2, "kinds that have led")
		})
	}
}
