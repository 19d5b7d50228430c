package ensemble

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var (
	movesFlag   = flag.Int("ensemble.moves", 6, "how often TestLeadershipMovesUnderLoad moves the leadership")
	longestFlag = flag.Duration("ensemble.longest", 3*time.Second, "longest wait of a client that it allows")
)

// steered brings up Warren servers with admin servers.
func steered(t *testing.T, servers int) *chaos {
	t.Helper()
	c := &chaos{t: t, voters: servers, began: time.Now(), admin: map[int]int{}}
	c.seed(1)
	var o []cluster.Options
	for i, port := range cluster.FreePorts(t, servers) {
		c.admin[i+1] = port
		o = append(o, cluster.Options{Kind: cluster.Warren, Settings: map[string]string{
			"maxSessionTimeout": "60000", "admin.enableServer": "true", "admin.serverAddress": "127.0.0.1",
			"admin.serverPort": strconv.Itoa(port), "DigestAuthenticationProvider.superDigest": auth.DigestIdentity(
				"super:secret").ID}})
	}
	c.launch(o)
	return c
}

// order gives an order to a server, again while it comes too soon, and returns the answer.
func (c *chaos) order(id int, command, object string) map[string]any {
	c.t.Helper()
	for {
		address := fmt.Sprintf("http://127.0.0.1:%d/commands/%s", c.admin[id], command)
		r := must.Do(http.NewRequest(http.MethodPost, address, strings.NewReader(object)))(c.t)
		r.Header.Set("Authorization", "digest super:secret")
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		resp := must.Do(client.Do(r))(c.t)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(c.t, err)
		if resp.StatusCode == http.StatusTooManyRequests {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		fields := map[string]any{}
		require.NoError(c.t, json.Unmarshal(body, &fields), "%s", body)
		require.Equal(c.t, http.StatusOK, resp.StatusCode, "%s", body)
		return fields
	}
}

// TestLeadershipMovesUnderLoad moves the leadership to a named server again and again, while clients of all servers
// write and read. No operation fails, no connection ends, and no operation waits for long. On a machine that does
// nothing else: -ensemble.moves=100 -ensemble.longest=50ms.
func TestLeadershipMovesUnderLoad(t *testing.T) {
	c := steered(t, 3)
	var longest, operations atomic.Int64
	var all, still []time.Duration
	var running sync.WaitGroup
	var stop atomic.Bool
	for i := range 6 {
		node := c.nodes[i%3]
		conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: sessionTimeout})
		path := conn.MustCreate(t, fmt.Sprintf("/own-%d-", i), nil, proto.ModeEphemeralSequential)
		running.Go(func() {
			defer conn.Close()
			for version := int32(0); !stop.Load(); version++ {
				began := time.Now()
				_, err := conn.SetData(path, []byte{byte(i)}, version)
				took := time.Since(began)
				if !assert.NoError(t, err, "a write to server %d", node.ID()) {
					return
				}
				_, stat, err := conn.GetData(path, false)
				if !assert.NoError(t, err) || !assert.Equal(t, version+1, stat.Version) {
					return
				}
				operations.Add(2)
				if int64(took) > longest.Load() {
					longest.Store(int64(took))
				}
				time.Sleep(pace)
			}
		})
	}
	leader := c.certainLeader().ID()
	for range *movesFlag {
		to := leader%3 + 1
		longest.Store(0)
		told := c.order(leader, "hand_over", fmt.Sprintf(`{"to": %d}`, to))
		require.EqualValues(t, to, told["leader"], told)
		leader = to
		c.whole()
		time.Sleep(200 * time.Millisecond) // operations that waited are answered
		all = append(all, time.Duration(longest.Swap(0)))
		time.Sleep(200 * time.Millisecond) // what the disk and the processors cost without a move
		still = append(still, time.Duration(longest.Load()))
	}
	stop.Store(true)
	running.Wait()
	slices.Sort(all)
	slices.Sort(still)
	t.Logf("%d moves, %d operations, none failed; the longest wait at a move: median %v, greatest %v; in as much "+
		"time without a move: median %v, greatest %v", len(all), operations.Load(), all[len(all)/2], all[len(all)-1],
		still[len(still)/2], still[len(still)-1])
	require.Less(t, all[len(all)-1], *longestFlag)
}

// TestRollingRestartWithDrain drains and restarts five servers, one after the other and the leader last, while clients
// write. No write fails.
func TestRollingRestartWithDrain(t *testing.T) {
	c := steered(t, 5)
	addrs := cluster.Addrs(c.nodes)
	var lost, done atomic.Int64
	var running sync.WaitGroup
	var stop atomic.Bool
	for i := range 10 {
		client, err := warren.New(strings.Join(addrs, ","), warren.WithSessionTimeout(sessionTimeout*time.Millisecond))
		require.NoError(t, err)
		path := must.Do(client.Create(t.Context(), fmt.Sprintf("/own-%d", i), nil, warren.Ephemeral))(t)
		running.Go(func() {
			defer client.Close()
			for version := int32(0); !stop.Load(); {
				_, err := client.Set(t.Context(), path, nil, version)
				if err != nil {
					lost.Add(1)
					t.Logf("client %d: %v", i, err)
					return
				}
				version++
				done.Add(1)
				time.Sleep(5 * pace)
			}
		})
	}
	last := c.certainLeader().ID()
	order := []int{}
	for id := 1; id <= 5; id++ {
		if id != last {
			order = append(order, id)
		}
	}
	for _, id := range append(order, last) {
		c.order(id, "drain", `{"rate": 100}`)
		for watch := cluster.NewWatch(); ; time.Sleep(20 * time.Millisecond) {
			if c.order(id, "drain", `{"dry_run": true}`)["clients"] == 0.0 {
				break
			}
			require.Less(t, watch.Elapsed(), time.Minute, "server %d keeps clients", id)
		}
		node := c.nodes[id-1]
		node.Stop()
		node.Launch()
		c.whole()
	}
	stop.Store(true)
	running.Wait()
	t.Logf("%d writes were acknowledged, %d failed", done.Load(), lost.Load())
	require.Zero(t, lost.Load())
}
