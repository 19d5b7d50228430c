//go:build interop

package ensemble

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestSecondAddresses gives the servers of mixed ensembles two addresses each, and takes away the networks of the
// first addresses, and then of the second ones, from all servers: each time they find each other by the other ones,
// and nothing is lost.
func TestSecondAddresses(t *testing.T) {
	for _, kinds := range mixes {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			f := newFabric(t, len(kinds))
			if f == nil {
				t.Skip("network namespaces take root")
			}
			f.Second()
			c, seed := newConfigured(t, func(id int, o *cluster.Options) {
				o.Host, o.Second, o.Namespace = f.Addr(id), f.SecondAddr(id), f.Namespace(id)
				o.Settings["multiAddress.enabled"] = "true"
				// where ZooKeeper 3.8 looks when it reads the lines
				o.Properties = map[string]string{"zookeeper.multiAddress.enabled": "true"}
			}, kinds...)
			c.fabric = f
			c.underLoad(seed, func() {
				c.changeLeaders(1)
				for _, addr := range []func(int) string{f.Addr, f.SecondAddr} {
					c.logf("no server reaches %s and the like", addr(1))
					f.Without(addr)
					c.recovered()
					c.changeLeaders(1)
					f.With(addr)
					c.recovered()
				}
			})
		})
	}
}

// recovered waits until a write by each server is acknowledged.
func (c *chaos) recovered() {
	c.t.Helper()
	for _, node := range c.nodes {
		cluster.Eventually(c.t, func() bool {
			conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
			if err != nil {
				return false
			}
			defer conn.Close()
			_, err = conn.Create("/recovered-", nil, proto.ModePersistentSequential)
			return err == nil && conn.CloseSession() == nil
		}, time.Minute, "no write by server %d (%s)", node.ID(), node.Kind())
	}
}
