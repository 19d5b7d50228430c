package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// startSteered starts three servers with admin servers and a super user.
func startSteered(t *testing.T, set ...func(*config.Config)) *embed.Ensemble {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Configure: func(_ int, c *config.Config) {
		for _, change := range set {
			change(c)
		}
		c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
		c.SuperDigest = auth.DigestIdentity("super:secret").ID
	}})
}

// steer asks an admin server for a command that steers, as the super user. A command that was asked a moment ago is
// asked again until it may be.
func steer(t *testing.T, s *server.Server, command, object string) (status int, fields map[string]any) {
	t.Helper()
	until(t, "the command to be allowed", func() bool {
		r := must.Do(http.NewRequest(http.MethodPost, "http://"+s.AdminAddr().String()+"/commands/"+command,
			strings.NewReader(object)))(t)
		r.Header.Set("Authorization", superUser)
		resp := must.Do(http.DefaultClient.Do(r))(t)
		defer resp.Body.Close()
		body := must.ReadAll(t, resp.Body)
		status, fields = resp.StatusCode, nil
		require.NoError(t, json.Unmarshal(body, &fields), "%s", body)
		return status != http.StatusTooManyRequests
	})
	return status, fields
}

// The configuration that a member tells has its id, as the word conf has it.
func TestConfigurationHasTheIDOfTheMember(t *testing.T) {
	e := startSteered(t)
	require.NoError(t, e.WaitServing(within(t)))
	for id := 1; id <= 3; id++ {
		_, body := fetch(t, e.Server(id), "/commands/configuration", "")
		require.Contains(t, string(body), fmt.Sprintf(`"server_id" : %d,`, id))
	}
}

// A drained server ends its connections at the rate, keeps what clients were promised, and takes no client until it
// is resumed; the sessions go on at another server.
func TestDrain(t *testing.T) {
	e := startSteered(t)
	_, drained, _ := roles(t, e)
	s := e.Server(drained)
	ready := func() int { resp, _ := fetch(t, s, "/readyz", ""); return resp.StatusCode }
	var clients []*wire.Conn
	for range 4 {
		c := connect(t, e, drained, wire.Options{})
		c.MustCreate(t, "/mine-", nil, proto.ModeEphemeralSequential)
		clients = append(clients, c)
	}
	status, told := steer(t, s, "drain", `{"dry_run": true, "rate": 4}`)
	require.Equal(t, 200, status)
	require.Equal(t,
		map[string]any{"draining": false, "clients": 4.0, "rate": 0.0, "command": "drain", "error": nil}, told)
	require.Equal(t, 200, ready())

	began := time.Now()
	status, told = steer(t, s, "drain", `{"rate": 4}`)
	require.Equal(t, 200, status, told)
	require.Equal(t, true, told["draining"])
	require.Equal(t, 503, ready())
	_, err := wire.Dial(e.Addr(drained), wire.Options{TimeoutMs: 60_000})
	require.Error(t, err, "no new session")
	require.NotErrorIs(t, err, wire.ErrRejected)
	for _, c := range clients {
		require.NoError(t, c.WaitClosed())
	}
	require.Greater(t, time.Since(began), 700*time.Millisecond, "the first at once, and then 4 per second")
	_, err = wire.Dial(e.Addr(drained), clients[0].Resume())
	require.Error(t, err, "nor an old one")
	require.NotErrorIs(t, err, wire.ErrRejected, "a session must not be given up")
	word := wire.MustFourLetter(t, e.Addr(drained), "srvr", time.Minute)
	require.Contains(t, word, "Mode: follower", "the server goes on following")

	for _, other := range e.IDs() {
		if other != drained {
			c := resume(t, e, other, clients[other%2].Resume())
			children, _ := must.Do2(c.Children2("/", false))(t)
			require.Len(t, children, 5, "no session has ended, no ephemeral has gone")
			require.Equal(t, 0.0, fieldsOf(t, s, "drain", `{"dry_run": true}`)["clients"])
		}
	}
	require.Equal(t, false, fieldsOf(t, s, "drain", `{"resume": true}`)["draining"])
	require.Equal(t, 200, ready())
	resume(t, e, drained, clients[0].Resume())
}

// fieldsOf is the answer to a command that succeeds.
func fieldsOf(t *testing.T, s *server.Server, command, object string) map[string]any {
	t.Helper()
	status, fields := steer(t, s, command, object)
	require.Equal(t, 200, status, fields)
	return fields
}

// A server whose clients have no other one is not drained.
func TestStandaloneServerIsNotDrained(t *testing.T) {
	s, c := withAdmin(t, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for _, object := range []string{`{}`, `{"dry_run": true}`} {
		status, told := steer(t, s, "drain", object)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, told["error"], "clients have no other server")
	}
	c.MustExists(t, "/zookeeper", false)
}

// shed_connections ends the share that was asked for. The sessions live on, and come back.
func TestShedConnections(t *testing.T) {
	s, first := withAdmin(t, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	clients := []*wire.Conn{first}
	for range 9 {
		clients = append(clients, dial(t, s.Addr().String(), wire.Options{}))
	}
	open := func() (n int) {
		for _, c := range clients {
			select {
			case <-c.Done():
			default:
				n++
			}
		}
		return n
	}
	shed := func(percent string) any {
		return fieldsOf(t, s, "shed_connections", `{"percentage": `+percent+`}`)["connections_shed"]
	}
	require.Equal(t, 3.0, shed("30"))
	until(t, "three connections to end", func() bool { return open() == 7 })
	for i, c := range clients {
		if c.Err() != nil {
			clients[i] = dial(t, s.Addr().String(), c.Resume())
		}
	}
	require.Equal(t, 10, open(), "the sessions live on")
	require.Equal(t, 10.0, shed("100"))
	until(t, "all connections to end", func() bool { return open() == 0 })
}

// Leadership moves to the server that an operator names, each time with the next epoch, and the sessions live on.
// What was acknowledged stays.
func TestLeadershipMovesToANamedServer(t *testing.T) {
	e := startSteered(t)
	leader, follower, _ := roles(t, e)
	c := connect(t, e, leader, wire.Options{})
	c.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
	status, told := steer(t, e.Server(follower), "hand_over", fmt.Sprintf(`{"to": %d}`, follower))
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, fmt.Sprintf("this server does not lead: ask server %d, which does", leader), told["error"])
	s := e.Server(leader)
	_, told = steer(t, s, "hand_over", `{"to": 7}`)
	require.Equal(t, "zab: server 7 cannot lead next: it is no voter that may lead", told["error"])
	told = fieldsOf(t, s, "hand_over", fmt.Sprintf(`{"to": %d, "dry_run": true}`, follower))
	require.Equal(t, float64(leader), told["leader"])
	told = fieldsOf(t, s, "hand_over", fmt.Sprintf(`{"to": %d}`, leader))
	require.Equal(t, float64(leader), told["leader"], "it leads already")
	require.NoError(t, c.Err())

	epoch, writes := s.Status().Epoch, int32(0)
	for range 6 {
		to := e.IDs()[(slices.Index(e.IDs(), leader)+1)%3]
		c.MustSetData(t, "/mine", nil, writes)
		writes++
		told := fieldsOf(t, e.Server(leader), "hand_over", fmt.Sprintf(`{"to": %d}`, to))
		require.Equal(t, float64(to), told["leader"], told)
		t.Logf("%d to %d within %v ms", leader, to, told["took_ms"])
		require.NoError(t, e.WaitServing(within(t)))
		leader, epoch = to, epoch+1
		st := e.Server(leader).Status()
		require.Equal(t, "leader", st.Mode)
		require.Equal(t, epoch, st.Epoch, "more than one epoch would be an election that failed")
		require.NoError(t, c.Ping(), "the connection of a client outlives the role of its server")
	}
	_, stat := c.MustGetData(t, "/mine", false)
	require.Equal(t, writes, stat.Version)
	require.NoError(t, e.WaitEqual(within(t)))
}

// handOvers moves the leadership n times around three servers, each of which has clients that write and read all the
// time. No client may lose its connection, and every operation succeeds. It returns the longest time that an
// operation has taken.
func handOvers(t testing.TB, e *embed.Ensemble, n int) time.Duration {
	t.Helper()
	var longest atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	for i := range 12 {
		server := e.IDs()[i%3]
		c := wire.Open(t, e.Addr(server), wire.Options{TimeoutMs: 60_000})
		path := c.MustCreate(t, fmt.Sprintf("/own-%d-", i), nil, proto.ModeEphemeralSequential)
		running.Go(func() {
			for version := int32(0); ; version++ {
				began := time.Now()
				_, err := c.SetData(path, []byte{byte(i)}, version)
				if !assert.NoError(t, err, "a write to server %d", server) {
					return
				}
				_, stat, err := c.GetData(path, false)
				if !assert.NoError(t, err) || !assert.Equal(t, version+1, stat.Version) {
					return
				}
				if took := int64(time.Since(began)); took > longest.Load() {
					longest.Store(took)
				}
				select {
				case <-stop:
					assert.NoError(t, c.CloseSession())
					return
				default:
				}
			}
		})
	}
	for range n {
		leader := leaderOf(t, e)
		to := e.IDs()[(slices.Index(e.IDs(), leader)+1)%3]
		epoch := e.Server(leader).Status().Epoch
		require.NoError(t, e.Server(leader).HandOver(proto.ServerID(to)))
		until(t, "the next leader", func() bool { return e.Server(to).Status().Epoch > epoch })
		require.NoError(t, e.WaitServing(within(t)))
		require.Equal(t, "leader", e.Server(to).Status().Mode)
	}
	close(stop)
	running.Wait()
	return time.Duration(longest.Load())
}

// No client notices that the leadership moves, but for operations that take a little longer.
func TestClientsKeepTheirConnectionsOverHandOvers(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Log: zaptest.NewLogger(t)})
	require.NoError(t, e.WaitServing(within(t)))
	t.Logf("the longest operation took %v", handOvers(t, e, 10))
	require.NoError(t, e.WaitEqual(within(t)))
}

// BenchmarkHandOver moves the leadership under load. longest-ms is the longest that an operation of a client has
// taken.
func BenchmarkHandOver(b *testing.B) {
	e := embed.Start(b, embed.Options{TickTime: patient, Servers: 3})
	require.NoError(b, e.WaitServing(within(b)))
	b.ResetTimer()
	longest := handOvers(b, e, b.N)
	b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
}
