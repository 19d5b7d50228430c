package client_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
)

// TestNoCallFailsWhileItsSessionLives kills one server after the other, the leader too, under writes whose repetition
// would be noticed: no call fails, and none is executed twice.
func TestNoCallFailsWhileItsSessionLives(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, 2*time.Minute)
	const clients, kills = 6, 9
	var all sync.WaitGroup
	var done atomic.Bool
	var calls atomic.Int64
	for n := range clients {
		c := dial(t, e.ConnectString(), client.WithSessionTimeout(20*time.Second))
		all.Go(func() {
			defer done.Store(true) // a failure ends the others
			if err := unrepeatable(ctx, c, n, &done, &calls); err != nil {
				t.Error(err)
			}
		})
	}
	for range kills {
		if done.Load() {
			break
		}
		before := calls.Load()
		leader, err := e.Leader(ctx)
		require.NoError(t, err)
		e.Kill(leader)
		require.NoError(t, e.Start(leader))
		for !done.Load() && calls.Load() < before+20*clients && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
	done.Store(true)
	all.Wait()
}

// unrepeatable writes until done, and returns an error if a write fails, or was executed twice.
func unrepeatable(ctx context.Context, c *client.Client, n int, done *atomic.Bool, calls *atomic.Int64) error {
	root := fmt.Sprintf("/client%d", n)
	if _, err := c.Create(ctx, root, nil, client.Persistent); err != nil {
		return err
	}
	version, made := int32(0), 0
	for ; !done.Load(); made++ {
		calls.Add(1)
		stat, err := c.Set(ctx, root, fmt.Append(nil, made), version)
		if err != nil {
			return fmt.Errorf("set %d: %w", made, err)
		}
		if version++; stat.Version != version {
			return fmt.Errorf("set %d: version %d instead of %d", made, stat.Version, version)
		}
		path, err := c.Create(ctx, root+"/n-", nil, client.PersistentSequential)
		if want := fmt.Sprintf("%s/n-%010d", root, 2*made); err != nil || path != want {
			return fmt.Errorf("create %s: %s, %w", want, path, err)
		}
		results, err := c.Commit(ctx, new(client.Txn).Create(root+"/t", nil, client.Ephemeral).Delete(root+"/t", 0).
			Check(root, version))
		if err != nil || results[0].Path != root+"/t" {
			return fmt.Errorf("txn %d: %v, %w", made, results, err)
		}
		if _, err := c.Set(ctx, root, nil, version-1); !strings.Contains(fmt.Sprint(err), "BadVersion") {
			return fmt.Errorf("refused set %d: %w", made, err)
		}
	}
	_, stat, err := c.Get(ctx, root)
	if err == nil && (stat.Version != version || stat.Cversion != int32(3*made)) {
		err = fmt.Errorf("version %d and cversion %d after %d rounds", stat.Version, stat.Cversion, made)
	}
	return err
}
