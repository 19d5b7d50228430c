package ensemble

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// promptFlag is for a machine that does nothing else.
var promptFlag = flag.Bool("ensemble.prompt", false, "TestDeadClientsGoOnTime allows sessions 1.5 s more, not 15 s")

// TestDeadClientsGoOnTime kills the leader again and again, more often than the session timeout. The sessions of dead
// clients end within their timeout and the time without a leader, also where the server of the client died with it.
// The sessions of living clients, which only ping, go on.
func TestDeadClientsGoOnTime(t *testing.T) {
	c := newScene(t, of(cluster.Warren, 3)...)
	for timeout := 12 * time.Second; deadClientsGo(t, c, timeout) < 2; timeout *= 2 {
		// The machine is so slow that the sessions ended before the second leader died.
		require.Less(t, timeout, 20*time.Second, "servers allow no session of twice that")
	}
}

// deadClientsGo does so with sessions of one timeout, and returns how many leaders had died when those of the dead
// clients ended.
func deadClientsGo(t *testing.T, c *chaos, timeout time.Duration) (kills int) {
	const (
		each    = 4 * time.Second // from the end of one election to the next kill
		clients = 5
	)
	slack := 15 * time.Second // without the reports of silent sessions they never end
	if *promptFlag {
		slack = time.Second + 500*time.Millisecond // and one tick, because sessions expire in buckets
	}
	c.whole()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	addrs := cluster.Addrs(c.nodes)
	type alive struct {
		*warren.Client
		session warren.SessionID
	}
	var living []alive
	opened := time.Now() // every client is heard of after this
	var dead []*wire.Conn
	for _, node := range c.nodes {
		for i := range clients {
			one := must.Do(warren.Dial(ctx, strings.Join(addrs, ","), warren.WithSessionTimeout(timeout)))(t)
			defer one.Close()
			must.Do(one.Create(ctx, fmt.Sprintf("/living-%d-%d", node.ID(), i), nil, warren.Ephemeral))(t)
			living = append(living, alive{one, one.State().SessionID})
			conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: int32(timeout.Milliseconds())})
			conn.MustCreate(t, fmt.Sprintf("/dead-%d-%d", node.ID(), i), nil, proto.ModeEphemeral)
			dead = append(dead, conn)
		}
	}

	leader := c.certainLeader()
	died, leaderless := time.Now(), time.Duration(0)
	leader.Kill() // with its clients
	for _, conn := range dead {
		conn.Close()
	}
	began := died
	left := func() (n int) {
		names, _ := must.Do2(living[0].Children(ctx, "/"))(t)
		for _, name := range names {
			if strings.HasPrefix(name, "dead-") {
				n++
			}
		}
		if n < len(dead) {
			require.GreaterOrEqual(t, time.Since(opened), timeout, "a session ends early")
		}
		return n
	}
	for kills = 1; ; kills++ {
		for other := leader; other == leader; {
			other = c.certainLeader()
		}
		leaderless += time.Since(began)
		leader.Start()
		for next := time.Now().Add(each); time.Now().Before(next) && left() > 0; {
			time.Sleep(50 * time.Millisecond)
		}
		took := time.Since(died)
		if left() == 0 {
			t.Logf("%d kills, %v without a leader: sessions of %v ended after %v", kills, leaderless, timeout, took)
			require.LessOrEqual(t, took, timeout+leaderless+slack)
			break
		}
		require.LessOrEqual(t, took, timeout+leaderless+slack, "dead clients' sessions live on after %d kills", kills)
		c.whole()
		leader = c.certainLeader()
		began = time.Now()
		leader.Kill()
	}
	for _, one := range living {
		require.Equal(t, one.session, one.State().SessionID)
		must.Do2(one.Children(ctx, "/"))(t)
	}
	return kills
}
