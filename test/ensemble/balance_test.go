package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// Sessions of TestBalance.
const (
	balancedOurs  = 240
	balancedTheir = 60 // of go-zookeeper
	// balancedPause is how long a client rests after an answer.
	balancedPause = 500 * time.Millisecond
)

// TestBalance restarts three servers in turn, so that the last one has hardly a client, and runs warren balance. It
// spreads the clients evenly, no operation of a Warren client fails, the dry run says what happens then and changes
// nothing, and a repetition changes nothing either.
func TestBalance(t *testing.T) {
	c := steered(t, 3)
	addrs := cluster.Addrs(c.nodes)
	var done, failed atomic.Int64
	var running sync.WaitGroup
	var stop atomic.Bool
	end := sync.OnceFunc(func() { stop.Store(true); running.Wait() })
	t.Cleanup(end)
	for i := range balancedOurs {
		client, err := warren.New(strings.Join(addrs, ","), warren.WithSessionTimeout(sessionTimeout*time.Millisecond))
		require.NoError(t, err)
		path := must.Do(client.Create(t.Context(), fmt.Sprintf("/own-%d", i), nil, warren.Ephemeral))(t)
		running.Go(func() {
			defer client.Close()
			for version := int32(0); !stop.Load(); version++ {
				if _, err := client.Set(t.Context(), path, nil, version); !assert.NoError(t, err, "client %d", i) {
					failed.Add(1)
					return
				}
				done.Add(1)
				time.Sleep(balancedPause)
			}
		})
	}
	for range balancedTheir {
		conn, _ := must.Do2(zk.Connect(addrs, sessionTimeout*time.Millisecond, zk.WithLogger(silent{})))(t)
		t.Cleanup(conn.Close)
	}
	all := func() []int {
		counts := make([]int, len(c.nodes))
		sum := 0
		for i := range counts {
			counts[i] = int(c.order(i+1, "drain", `{"dry_run": true}`)["clients"].(float64))
			sum += counts[i]
		}
		if sum != balancedOurs+balancedTheir {
			return nil // some are on their way
		}
		return counts
	}
	settled := func() (counts []int) {
		cluster.Eventually(t, func() bool { counts = all(); return counts != nil }, time.Minute, "not all are back")
		return counts
	}
	c.logf("clients at first: %v", settled())
	for id := 1; id <= len(c.nodes); id++ {
		c.order(id, "drain", `{"rate": 500}`)
		cluster.Eventually(t, func() bool { return c.order(id, "drain", `{"dry_run": true}`)["clients"] == 0.0 },
			time.Minute, "server %d keeps clients", id)
		c.nodes[id-1].Stop()
		c.nodes[id-1].Launch()
		c.whole()
	}
	before := settled()
	c.logf("after the rolling restart: %v", before)
	require.Less(t, before[2], balancedOurs/10, "the server that was restarted last has few clients")

	authFile := filepath.Join(t.TempDir(), "super.txt")
	require.NoError(t, os.WriteFile(authFile, []byte("digest super:secret"), 0o600))
	balance := func(more ...string) string {
		args := append([]string{"balance", "--auth-file", authFile, "--pause", "1s", "--rounds", "10"}, more...)
		for id := range c.nodes {
			args = append(args, fmt.Sprintf("http://127.0.0.1:%d/commands", c.admin[id+1]))
		}
		return string(must.Output(t, exec.Command(cluster.Binary(t), args...)))
	}
	foretold := balance("--dry-run")
	require.Equal(t, before, settled(), "a dry run changes nothing")
	began := time.Now()
	text := balance()
	took := time.Since(began)
	c.logf("warren balance, within %v:\n%s", took.Round(time.Millisecond), text)
	require.True(t, strings.HasPrefix(text, foretold), "the dry run says what the first round does:\n%s", foretold)
	ends := regexp.MustCompile(`(?m)^(\S+): ended (\d+) connections$`).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, ends)
	ended := 0
	for _, one := range ends {
		n := must.Atoi(t, one[2])
		ended += n
	}
	after := settled()
	c.logf("%d connections ended; afterwards: %v", ended, after)
	fair := (balancedOurs + balancedTheir) / len(c.nodes)
	for i, n := range after {
		require.LessOrEqual(t, n, fair*110/100, "server %d", i+1)
	}
	again := balance()
	require.NotContains(t, again, "ended", "%s", again)
	require.Equal(t, after, settled(), "a repetition changes nothing")
	end()
	c.logf("%d writes of Warren's clients were acknowledged, %d failed", done.Load(), failed.Load())
	require.Zero(t, failed.Load())
}
