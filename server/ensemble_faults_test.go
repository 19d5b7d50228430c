package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// until waits for a fact that another goroutine makes true.
func until(t testing.TB, what string, fact func() bool) {
	t.Helper()
	require.Eventually(t, fact, time.Minute, time.Millisecond, what)
}

// fill creates znodes and waits for all of them.
func fill(t testing.TB, c *wire.Conn, prefix string, n int) {
	t.Helper()
	var reqs []wire.Request
	for i := range n {
		reqs = append(reqs, wire.Create(fmt.Sprintf("%s%05d", prefix, i), make([]byte, 50), wire.OpenACL, 0))
	}
	for _, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
	}
}

// present checks that znodes of fill exist, behind a sync.
func present(t testing.TB, c *wire.Conn, prefix string, n int) {
	t.Helper()
	require.NoError(t, c.Sync("/"))
	reqs := make([]wire.Request, n)
	for i := range n {
		reqs[i] = wire.Exists(fmt.Sprintf("%s%05d", prefix, i), false)
	}
	for i, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err(), "%s %d", prefix, i)
	}
}

// Leaders are stopped one after the other while clients write and sync as fast as they can. Package wire checks the
// order of the answers. Acknowledged writes must be there at the end.
func TestLeadersAreStoppedUnderLoad(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	kept := make([][]string, 6)
	for i := range kept {
		c := connect(t, e, i%3+1, wire.Options{})
		wg.Go(func() {
			for n := 0; ; {
				var reqs []wire.Request
				for range 20 {
					reqs = append(reqs, wire.Create(fmt.Sprintf("/c%d-%06d", i, n), nil, wire.OpenACL, 0),
						wire.Sync("/"))
					n++
				}
				for _, call := range c.SendAll(reqs) {
					var v *wire.Violation
					if err := call.Wait(); errors.As(err, &v) {
						t.Errorf("client %d: %v", i, err)
						return
					} else if err == nil && call.Request.Op == proto.OpCreate && call.Reply.Err() == nil {
						kept[i] = append(kept[i], call.Reply.Value.(*proto.CreateResponse).Path.String())
					}
				}
				for c.Err() != nil {
					select {
					case <-stop:
						return
					default:
					}
					if again, err := wire.Dial(e.Addr((i+n)%3+1), c.Resume()); err == nil {
						c.Close()
						c = again
						t.Cleanup(c.Close)
					} else {
						require.NotErrorIs(t, err, wire.ErrRejected)
						n++ // another server, and other names
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 6 {
		leader := leaderOf(t, e)
		before := e.Server(leader).Status().Zxid
		until(t, "some writes", func() bool { return e.Server(leader).Status().Zxid > before+50 })
		e.Stop(leader)
		require.NoError(t, e.Start(leader))
		require.NoError(t, e.WaitServing(within(t)))
	}
	close(stop)
	wg.Wait()
	require.NoError(t, e.WaitEqual(within(t)))
	c := connect(t, e, 1, wire.Options{})
	require.NoError(t, c.Sync("/"))
	for _, paths := range kept {
		require.NotEmpty(t, paths)
		for _, path := range paths {
			c.MustExists(t, path, false)
		}
	}
}

// A leader that is cut off acknowledges no more writes. Txns that only it has logged are removed when it follows
// again.
func TestLonelyLeaderAcknowledgesNothing(t *testing.T) {
	for name, restarts := range map[string]bool{"and steps down": false, "and is killed": true} {
		t.Run(name, func(t *testing.T) {
			e := embed.Start(t, embed.Options{Servers: 3, Observers: 1})
			leader, follower, _ := roles(t, e)
			c := connect(t, e, leader, wire.Options{})
			fill(t, c, "/before", 20)
			e.Isolate(leader)
			var reqs []wire.Request
			for i := range 50 {
				reqs = append(reqs, wire.Create(fmt.Sprintf("/lost%05d", i), nil, wire.OpenACL, 0), wire.Sync("/"))
			}
			calls := c.SendAll(reqs)
			if restarts {
				e.Kill(leader)
			}
			for _, call := range calls {
				require.Error(t, call.Wait(), "nobody else knows of it")
			}
			until(t, "another leader",
				func() bool { return e.Server(follower).Status().Leader != proto.ServerID(leader) })
			require.NoError(t, e.WaitServing(within(t), follower))
			fill(t, connect(t, e, follower, wire.Options{}), "/after", 20)
			e.Heal()
			require.NoError(t, e.Start(leader))
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			require.NoError(t, e.WaitEqual(within(t)))
			c = connect(t, e, leader, wire.Options{})
			present(t, c, "/before", 20)
			present(t, c, "/after", 20)
			require.ErrorIs(t, must.Err(c.Exists("/lost00000", false)), proto.ErrNoNode)
		})
	}
}

// A server that was away is synchronized from the leader's memory, from its log, or by a snapshot.
func TestServerCatchesUp(t *testing.T) {
	for _, run := range []struct {
		name   string
		txns   int
		factor float64 // SnapshotSizeFactor
		always bool
		whole  bool // states are sent, not txns
	}{{"window", 100, 0.33, false, false}, {"log", 6500, 0.33, false, false}, {"snapshot", 6500, -1, false, true},
		{"snapshot always", 100, 0.33, true, true}} {
		t.Run(run.name, func(t *testing.T) {
			e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1,
				Configure: func(_ int, c *config.Config) {
					c.SnapshotSizeFactor, c.ForceSnapshotSync = run.factor, run.always
				}})
			leader, follower, observer := roles(t, e)
			c := connect(t, e, leader, wire.Options{})
			fill(t, c, "/before", 10)
			e.Kill(follower)
			e.Stop(observer)
			for i := range run.txns / 500 {
				fill(t, c, fmt.Sprintf("/n%02d-", i), 500)
			}
			fill(t, c, "/rest", run.txns%500)
			snaps := figure(t, e, leader, "snap_count")
			require.NoError(t, e.Start(follower))
			require.NoError(t, e.Start(observer))
			fill(t, c, "/meanwhile", 200)
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			require.NoError(t, e.WaitEqual(within(t)))
			whole := figure(t, e, leader, "snap_count") - snaps
			require.Equal(t, run.whole, whole >= 2, "%d whole states", whole)
			for _, id := range []int{follower, observer} {
				present(t, connect(t, e, id, wire.Options{}), "/meanwhile", 200)
				e.PowerLoss(id) // the installed state is on the disk
				require.NoError(t, e.Start(id))
			}
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			require.NoError(t, e.WaitEqual(within(t)))
		})
	}
}

// Snapshots are written while the servers follow, and each of them starts from one.
func TestSnapshotsWhileFollowing(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Configure: func(_ int, c *config.Config) {
		c.SnapCount, c.Autopurge.PurgeInterval = 50, 10*time.Millisecond
	}})
	for round := range 6 {
		id := round%3 + 1
		c := connect(t, e, id, wire.Options{})
		fill(t, c, fmt.Sprintf("/r%d-", round), 600)
		other := id%3 + 1
		if round%2 == 0 {
			e.PowerLoss(other)
		} else {
			e.Kill(other)
		}
		require.NoError(t, e.Start(other))
		require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	}
	require.NoError(t, e.WaitEqual(within(t)))
	for round := range 6 {
		present(t, connect(t, e, 1, wire.Options{}), fmt.Sprintf("/r%d-", round), 600)
	}
}

// A full disk costs availability at most: clients do not notice one full follower; on a full leader writes wait;
// nothing is lost.
func TestFullDisk(t *testing.T) {
	for _, which := range []string{"follower", "leader"} {
		t.Run(which, func(t *testing.T) {
			e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3})
			leader, follower, _ := roles(t, e)
			id := map[string]int{"leader": leader, "follower": follower}[which]
			c := connect(t, e, leader, wire.Options{Reply: map[string]time.Duration{"leader": time.Second}[which]})
			fill(t, connect(t, e, leader, wire.Options{}), "/before", 10)
			e.Disk(id).SetCapacity(e.Disk(id).Used() + 4096)
			kept := 0
			for i := range 60 {
				st, err := c.Create(fmt.Sprintf("/n%05d", i), make([]byte, 500), proto.ModePersistent)
				if err != nil {
					require.Equal(t, "leader", which, "the others are a quorum: %v", err)
					break
				}
				require.NotEmpty(t, st)
				kept++
			}
			e.Disk(id).SetCapacity(0)
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			until(t, "writes", func() bool {
				c, err := wire.Dial(e.Addr(id), wire.Options{})
				if err != nil {
					return false
				}
				defer c.Close()
				_, err = c.Create("/again-", nil, proto.ModePersistentSequential)
				return err == nil
			})
			require.NoError(t, e.WaitServing(within(t), e.IDs()...), "the leader may have handed over meanwhile")
			require.NoError(t, e.WaitEqual(within(t)))
			for _, id := range e.IDs() {
				c := connect(t, e, id, wire.Options{})
				present(t, c, "/before", 10)
				present(t, c, "/n", kept)
			}
		})
	}
}

// A server without a leader tells all the same that its disk is full: that may be why.
func TestFullDiskIsToldWithoutALeader(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3,
		Configure: func(_ int, c *config.Config) { c.DiskWatermark.Bytes = 1 << 20 }})
	_, id, _ := roles(t, e)
	e.Disk(id).SetCapacity(e.Disk(id).Used() + 4096)
	var told struct {
		Self struct {
			Serving  bool
			DiskFree int64
			Own      []struct{ Check string }
		}
	}
	var checks string
	ask := func() {
		told.Self.Serving, told.Self.DiskFree, told.Self.Own = false, 0, nil
		text := must.Do(wire.FourLetter(e.Addr(id), "fact", time.Minute))(t)
		require.NoError(t, json.Unmarshal([]byte(text), &told))
		checks = fmt.Sprint(told.Self.Own)
	}
	until(t, "the disk to be full", func() bool { ask(); return strings.Contains(checks, "disk-full") })
	for _, other := range e.IDs() {
		if other != id {
			e.Stop(other)
		}
	}
	until(t, "the leader to be lost", func() bool { ask(); return !told.Self.Serving })
	require.Contains(t, checks, "disk-full")
	require.Positive(t, told.Self.DiskFree)
}

// A follower with a slow disk does not slow down the ensemble.
func TestSlowDiskOfAFollower(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3})
	leader, follower, _ := roles(t, e)
	c := connect(t, e, leader, wire.Options{})
	hold := make(chan struct{})
	e.Disk(follower).Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			<-hold
		}
		return nil
	})
	fill(t, c, "/n", 300) // while the follower's first sync has not ended
	require.Less(t, e.Server(follower).Status().Zxid, e.Server(leader).Status().Zxid+1)
	close(hold)
	e.Disk(follower).Hook(nil)
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	require.NoError(t, e.WaitEqual(within(t)))
	present(t, connect(t, e, follower, wire.Options{}), "/n", 300)
}
