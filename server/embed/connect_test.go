package embed

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
)

// A leader is killed, and clients connect at the other servers all the time until these serve again: all get their
// sessions. ZooKeeper refuses those that come in the meantime.
func TestClientsThatConnectWithoutALeaderWait(t *testing.T) {
	e := Start(t, Options{Servers: 3, Configure: func(_ int, c *config.Config) { c.ConnectWait = 20 * time.Second }})
	for range 3 {
		leads, _ := leader(t, e)
		require.NoError(t, e.WaitServing(within(t)))
		had := make(chan *wire.Conn, 20)
		for range cap(had) {
			had <- dial(t, e, leads, wire.Options{TimeoutMs: 30_000})
		}
		e.Kill(leads)
		var refused atomic.Int64
		var wg sync.WaitGroup
		for again := 50; again > 0; {
			for _, id := range e.chosen(nil) {
				o := wire.Options{}
				select {
				case c := <-had: // a client of the leader comes to another server
					o.Session, o.Password = c.Session(), c.Password()
				default:
				}
				wg.Go(func() {
					if c, err := wire.Dial(e.Addr(id), o); err != nil {
						refused.Add(1)
					} else {
						c.Close()
					}
				})
			}
			if e.leads() != 0 {
				again--
			}
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		require.Zero(t, refused.Load())
		require.NoError(t, e.Start(leads))
	}
}
