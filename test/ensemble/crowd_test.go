package ensemble

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

var (
	crowdSessions = flag.Int("ensemble.crowd", 400, "sessions of TestLeaderWithoutClientsIsKilled")
	crowdKills    = flag.Int("ensemble.crowdkills", 2, "kills of TestLeaderWithoutClientsIsKilled")
)

// TestLeaderWithoutClientsIsKilled kills a leader that serves no clients, while each of many sessions at the other
// servers has a write in flight. No client loses its connection, and each write is done once.
func TestLeaderWithoutClientsIsKilled(t *testing.T) {
	l := crowdAtKills(t, cluster.Warren)
	t.Log(l)
	require.Zero(t, l.ended.Load(), "connections that ended")
	require.Zero(t, l.unknown.Load(), "requests without an answer")
	require.EqualValues(t, 2**crowdSessions**crowdKills, l.answered.Load())
}

// crowdAtKills does so on an ensemble of one kind, and returns what the sessions feel.
func crowdAtKills(t *testing.T, kind cluster.Kind) *losses {
	t.Helper()
	// The usual ticks: a server keeps no connection beyond its lease, which is two ticks long.
	c := newSceneOf(t, map[string]string{"leaderServes": "no", "tickTime": "2000"}, of(kind, 3)...)
	c.launchEach()
	l := &losses{}
	for kill := range *crowdKills {
		leader, followers := c.leaderThatServesNobody()
		one := openCrowd(t, followers, kill)
		one.write(l, 0, leader.Kill)
		one.write(l, 1, func() {})
		one.close()
		leader.Launch()
	}
	return l
}

// leaderThatServesNobody waits until all servers but one serve, which is the leader.
func (c *chaos) leaderThatServesNobody() (leader *cluster.Node, followers []*cluster.Node) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool {
		leader, followers = nil, nil
		for _, node := range c.nodes {
			if node.Serves() {
				followers = append(followers, node)
			} else {
				leader = node
			}
		}
		return leader != nil && len(followers) == len(c.nodes)-1
	}, time.Minute, "the leader is not the only server without clients")
	return leader, followers
}

// crowd are many sessions, each with an ephemeral of its own.
type crowd struct {
	t     *testing.T
	conns []*wire.Conn // nil when it has ended
	paths []string
}

// crowdAtOnce is how many connections are made at a time: servers have a limited backlog.
const crowdAtOnce = 64

// openCrowd spreads the sessions over some servers.
func openCrowd(t *testing.T, nodes []*cluster.Node, kill int) *crowd {
	t.Helper()
	a := &crowd{t: t, conns: make([]*wire.Conn, *crowdSessions), paths: make([]string, *crowdSessions)}
	errs := make([]error, len(a.conns))
	var wg sync.WaitGroup
	for first := range crowdAtOnce {
		wg.Go(func() {
			for i := first; i < len(a.conns); i += crowdAtOnce {
				a.paths[i] = fmt.Sprintf("/crowd-%d-%d", kill, i)
				a.conns[i], errs[i] = wire.Dial(nodes[i%len(nodes)].Addr(),
					wire.Options{TimeoutMs: 60_000, Reply: time.Minute})
				if errs[i] == nil {
					_, errs[i] = a.conns[i].Create(a.paths[i], nil, proto.ModeEphemeral)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return a
}

// write lets each session write once, which must give its znode the next version. When half of the writes have been
// sent, something happens.
func (a *crowd) write(l *losses, version int32, something func()) {
	a.t.Helper()
	var happens, answers sync.WaitGroup
	for i, conn := range a.conns {
		if i == len(a.conns)/2 {
			happens.Go(something)
		}
		if conn == nil {
			continue
		}
		sent, call := time.Now(), conn.Send(wire.SetData(a.paths[i], nil, version))
		answers.Go(func() {
			if err := call.Wait(); err != nil {
				l.ended.Add(1)
				l.unknown.Add(1)
				conn.Close()
				a.conns[i] = nil
				return
			}
			l.answered.Add(1)
			l.silent(time.Since(sent))
			stat, ok := call.Reply.Value.(*proto.StatResponse)
			if err := call.Reply.Err(); err != nil || !ok || stat.Stat.Version != version+1 {
				a.t.Errorf("%s: %v, %v", a.paths[i], call.Reply.Value, err)
			}
		})
	}
	happens.Wait()
	answers.Wait()
}

// close ends the sessions.
func (a *crowd) close() {
	var wg sync.WaitGroup
	for _, conn := range a.conns {
		if conn != nil {
			wg.Go(func() {
				_ = conn.CloseSession() // or it expires
				conn.Close()
			})
		}
	}
	wg.Wait()
}
