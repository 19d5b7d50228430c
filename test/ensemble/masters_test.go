//go:build interop

package ensemble

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// masterOf is the server that an observer says it learns from, 0 if it says none.
func masterOf(node *cluster.Node) int {
	text, err := wire.FourLetter(node.Addr(), "mntr", 5*time.Second)
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`(?m)^zk_observer_master_id\t(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	id, _ := strconv.Atoi(m[1])
	return id
}

// servesObservers reports whether a server says that n observers learn from it.
func servesObservers(node *cluster.Node, n int) bool {
	text, err := wire.FourLetter(node.Addr(), "mntr", 5*time.Second)
	return err == nil && regexp.MustCompile(fmt.Sprintf(`(?m)^zk_synced_observers\t%d(\.0)?$`, n)).MatchString(text)
}

// TestObserverMasters: observers of one kind learn from followers of the other, under load, and find another one when
// theirs, the leader or they themselves are killed. With TLS it is the language of that port, too. Every server has
// an address of its own, since all use the same port.
func TestObserverMasters(t *testing.T) {
	for _, run := range []struct {
		voter, observer cluster.Kind
		between         map[string]string
	}{
		{cluster.Warren, cluster.ZooKeeper, nil}, {cluster.ZooKeeper, cluster.Warren, nil},
		{cluster.Warren, cluster.Warren, nil}, {cluster.Warren, cluster.ZooKeeper, overTLS},
		{cluster.ZooKeeper, cluster.Warren, bothWays},
	} {
		t.Run(fmt.Sprintf("%s behind %s, %d settings between", run.observer, run.voter,
			len(run.between)), func(t *testing.T) {
			g := newGuard(t)
			c, seed := newConfigured(t, func(id int, o *cluster.Options) {
				o.Host = fmt.Sprintf("127.0.0.%d", id)
				o.Settings["observerMasterPort"], o.Settings["tickTime"] = "28912", "1000"
				g.configure(run.between)(id, o)
				if id > 3 {
					observing(o)
				}
			}, run.voter, run.voter, run.voter, run.observer, run.observer)
			settled := func() {
				t.Helper()
				cluster.Eventually(t, func() bool {
					leader := c.leader()
					for _, observer := range c.nodes[3:] {
						master := masterOf(observer)
						// no follower has served when it came
						if master == leader.ID() && observer.Kind() == cluster.Warren {
							c.logf("observer %d had to learn from the leader", observer.ID())
							observer.Stop()
							observer.Launch()
						}
						if master == 0 || master == leader.ID() {
							return false
						}
						of := 0
						for _, other := range c.nodes[3:] {
							if masterOf(other) == master {
								of++
							}
						}
						if !servesObservers(c.nodes[master-1], of) {
							return false
						}
					}
					return servesObservers(leader, 0)
				}, time.Minute, "the observers to learn from followers")
			}
			settled()
			for _, observer := range c.nodes[3:] {
				port := fmt.Sprintf("127.0.0.%d:28912", masterOf(observer))
				require.Equal(t, run.between != nil, g.shownAt(port, g.CA) != nil, "whether %s speaks TLS", port)
			}
			c.underLoad(seed, func() {
				c.sleep(500, 1000)
				observer := c.nodes[3]
				master := masterOf(observer)
				require.NotZero(t, master)
				c.logf("observer %d loses its master %d", observer.ID(), master)
				c.crash(c.nodes[master-1])
				c.sleep(500, 1000)
				c.crash(c.nodes[4])
				c.sleep(500, 1000)
				c.crash(c.leader())
				c.sleep(500, 1000)
			})
			settled()
		})
	}
}
