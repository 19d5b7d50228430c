package ensemble

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestConnectWhileTheLeaderIsKilled kills the process that leads, and lets clients connect at the others in the 50 ms
// that follow: new ones, and those of the leader with their sessions. None is refused.
func TestConnectWhileTheLeaderIsKilled(t *testing.T) {
	refused, connected, _ := connectsAtKills(t, cluster.Warren, 3, map[string]string{"warren.connect.wait": "60000"})
	require.Zero(t, refused)
	require.Positive(t, connected)
}

// connectsAtKills returns how many clients got no session, how many got one, and the longest time that took.
func connectsAtKills(t *testing.T, kind cluster.Kind, kills int, settings map[string]string) (_, _ int64,
	_ time.Duration) {
	const rounds, pause = 25, 2 * time.Millisecond
	c := newSceneWith(t, settings, of(kind, 3)...)
	var refused, connected, longest atomic.Int64
	for range kills {
		c.whole()
		leads := c.certainLeader()
		var sessions []*wire.Conn
		for range rounds {
			one := wire.Open(t, leads.Addr(), wire.Options{TimeoutMs: 30_000})
			sessions = append(sessions, one)
		}
		leads.Kill()
		var wg sync.WaitGroup
		for i := range rounds {
			for k, node := range c.but(leads) {
				o := wire.Options{TimeoutMs: 30_000, Reply: time.Minute}
				if k == i%2 {
					o.Session, o.Password = sessions[i].Session(), sessions[i].Password()
				}
				wg.Go(func() {
					began := time.Now()
					one, err := wire.Dial(node.Addr(), o)
					if err != nil {
						refused.Add(1)
						return
					}
					connected.Add(1)
					for took := int64(time.Since(began)); ; {
						if was := longest.Load(); took <= was || longest.CompareAndSwap(was, took) {
							break
						}
					}
					one.Close()
				})
			}
			time.Sleep(pause)
		}
		wg.Wait()
		leads.Start()
	}
	return refused.Load(), connected.Load(), time.Duration(longest.Load())
}
