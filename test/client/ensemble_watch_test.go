package client_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	serverconfig "github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

var ensembleTime = flag.Duration("client.ensemble", 5*time.Second,
	"how long leaders change and connections are cut in tests on an ensemble")

// steadyTick is the tick of ensembles of which no server may seem to be away, on a busy machine either. Those that
// are killed are missed at once all the same.
const steadyTick = 500 * time.Millisecond

// unrest cuts connections and replaces leaders, until ctx ends.
func unrest(ctx context.Context, t *testing.T, e *embed.Ensemble) {
	r := seeded(t)
	pause := func(d time.Duration) {
		timer := time.NewTimer(time.Duration(r.Int64N(int64(d))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		id := 1 + r.IntN(3)
		if leader, err := e.Leader(ctx); err == nil && r.IntN(3) > 0 {
			id = leader
		}
		switch r.IntN(40) {
		case 0:
			e.Kill(id)
			pause(50 * time.Millisecond)
		case 1:
			e.Stop(id)
		case 2:
			e.RefuseClients(id)
			pause(20 * time.Millisecond)
			e.Heal()
		default:
			e.CutClients(id)
			pause(8 * time.Millisecond)
			continue
		}
		if err := e.Start(id); err != nil {
			t.Error(err)
		}
		_ = e.WaitServing(ctx)
		pause(100 * time.Millisecond)
	}
}

// Watches of every kind and a cache follow a znode while connections are cut and leaders change. One-shot watches
// fire once, and for the next change; persistent ones leave nothing out but where they say that they were set again,
// and repeat nothing; the cache never goes back. In the end all have seen the last state.
func TestWatchesAreExactOnAnEnsemble(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, *ensembleTime+2*time.Minute)
	w := &rewriter{T: t, c: dial(t, e.ConnectString(), client.WithSessionTimeout(30*time.Second)), path: "/dir/n"}
	require.NoError(t, w.c.CreateAll(ctx, w.path))
	c := dial(t, e.ConnectString(), client.WithSessionTimeout(30*time.Second),
		client.WithBackoff(0, 5*time.Millisecond), client.WithWatchQueue(1<<16))
	require.NoError(t, c.Sync(ctx, w.path))
	var final atomic.Int32 // the last version, once it is known
	final.Store(-2)
	all := newWatcher(t, w.path, c)
	all.begin(ctx)
	all.ended.Go(func() { all.rewatch(ctx, &final) })
	var followers sync.WaitGroup
	var cache *client.Cache
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) (err error) {
		cache, err = c.NewCache(ctx, "/dir")
		return err
	}))
	life, stop := context.WithCancel(ctx)
	defer stop()
	followers.Go(func() {
		last := int32(-1)
		for change := range cache.Changes(life) {
			if change.Node.Path != w.path {
				continue
			}
			v, data := change.Node.Stat.Version, string(change.Node.Data)
			if change.Type == client.NodeDeleted || v <= last || v > 0 && data != fmt.Sprint(v) {
				t.Errorf("cache: %v after version %d", change, last)
			}
			last = v
		}
	})

	var reconnects atomic.Int64
	followers.Go(func() {
		for st := range c.States(life) {
			if st.State == client.Connected {
				reconnects.Add(1)
			}
		}
	})
	trouble, calm := context.WithCancel(ctx)
	defer calm()
	over := make(chan struct{})
	go func() {
		defer close(over)
		unrest(trouble, t, e)
	}()
	for began := time.Now(); time.Since(began) < *ensembleTime || reconnects.Load() <= 5; {
		w.write(ctx)
	}
	calm()
	<-over
	for _, id := range e.IDs() {
		require.NoError(t, e.Start(id))
	}
	require.NoError(t, e.WaitServing(ctx, e.IDs()...))
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }),
		"watches are set again before the last change")
	final.Store(w.version + 1)
	w.write(ctx)
	require.Eventually(t, func() bool {
		n, ok := cache.Get(w.path)
		return ok && n.Stat.Version == w.version
	}, time.Minute, time.Millisecond, "the cache")
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
	all.ended.Wait()
	stop()
	cache.Close()
	require.NoError(t, c.Close())
	all.all.Wait()
	followers.Wait()
	all.judge(w.changes)
	t.Logf("%d changes, %d reconnects; one-shot watches fired %d times, persistent %d and %d times", len(w.changes),
		reconnects.Load(), len(all.once), len(*all.kinds["persistent"]), len(*all.kinds["recursive"]))
	require.NotEmpty(t, all.once)
	require.NoError(t, e.WaitEqual(ctx))
}

// A local session is known to its server alone until it needs to be known to all: with its first ephemeral it becomes
// global, and outlives its server. Where that is not allowed the ephemeral is refused, and the session is none the
// worse.
func TestLocalSessionsOfAnEnsemble(t *testing.T) {
	for _, upgrades := range []bool{true, false} {
		t.Run(fmt.Sprintf("upgrading %v", upgrades), func(t *testing.T) {
			e := embed.Start(t,
				embed.Options{Servers: 3, TickTime: steadyTick, Configure: func(_ int, cfg *serverconfig.Config) {
					cfg.LocalSessionsEnabled, cfg.LocalSessionsUpgradingEnabled = true, upgrades
				}})
			ctx := within(t, time.Minute)
			leader := must.Do(e.Leader(ctx))(t)
			for _, home := range []int{leader, leader%3 + 1} {
				others := []int{home%3 + 1, (home+1)%3 + 1}
				name := fmt.Sprintf("/at-%d", home)
				sessions := e.Server(leader).Status().Sessions
				c := dial(t, e.ConnectString(home))
				local, _ := c.Session()
				must.Do(c.Create(ctx, name, nil, client.Persistent))(t)
				require.Equal(t, sessions, e.Server(leader).Status().Sessions, "nobody else knows of it")
				_, err := c.Create(ctx, name+"/mine", nil, client.Ephemeral)
				if !upgrades {
					require.ErrorIs(t, err, client.ErrEphemeralOnLocalSession)
					require.False(t, client.MayHaveApplied(err))
					require.NoError(t, c.Sync(ctx, "/"))
					moved := dial(t, e.ConnectString(home), client.WithSessionTimeout(5*time.Second)).Detach()
					_, err = client.Dial(ctx, e.ConnectString(others...), client.WithResume(moved))
					require.ErrorIs(t, err, client.ErrSessionExpired, "it cannot go on elsewhere")
					continue
				}
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					return e.Server(leader).Status().Sessions == sessions+1
				}, 20*time.Second, time.Millisecond, "a follower may have applied the write before the leader")
				moved := must.Do(client.Dial(ctx, e.ConnectString(others...), client.WithResume(c.Detach())))(t)
				defer moved.Close()
				stat, exists := must.Do2(moved.Exists(ctx, name+"/mine"))(t)
				require.True(t, exists)
				require.Equal(t, local, client.SessionID(stat.EphemeralOwner))
			}
			require.NoError(t, e.WaitEqual(ctx))
		})
	}
}
