package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestServersServeAtOnce(t *testing.T) {
	for _, run := range []struct {
		servers int
		goal    time.Duration
	}{{1, 10 * time.Millisecond}, {3, 50 * time.Millisecond}, {5, 50 * time.Millisecond}} {
		best := time.Hour
		for tries := 1; best >= 10*run.goal || tries <= 5; tries++ { // the machine may be busy, and check for races
			require.LessOrEqual(t, tries, 200, "%d servers: %v was the best", run.servers, best)
			began := time.Now()
			e := Start(t, Options{Servers: run.servers})
			best = min(best, time.Since(began))
			e.Close()
		}
		t.Logf("%d servers serve after %v, the best of some", run.servers, best)
	}
}

func TestEveryServerServesTheSameTree(t *testing.T) {
	for _, o := range []Options{{}, {Servers: 2}, {Servers: 3, Observers: 2}, {Servers: 1, Observers: 1}} {
		t.Run(fmt.Sprintf("%d+%d", o.Servers, o.Observers), func(t *testing.T) {
			e := Start(t, o)
			for _, id := range e.IDs() {
				create(t, dial(t, e, id, wire.Options{}), fmt.Sprintf("/n%d", id))
			}
			require.NoError(t, e.WaitEqual(within(t)))
			for _, id := range e.IDs() {
				c := dial(t, e, id, wire.Options{})
				require.NoError(t, c.Sync("/"))
				require.Len(t, c.MustChildren(t, "/", false), len(e.IDs())+1)
			}
		})
	}
}

// A standalone server and an ensemble on a directory keep their data over the life of the Ensemble.
func TestDirectoryKeepsData(t *testing.T) {
	for _, servers := range []int{1, 3} {
		o := Options{Servers: servers, Dir: t.TempDir(), Configure: func(_ int, c *config.Config) {
			c.PreAllocSizeKB, c.DiskWatermark.Bytes = 64, 0
		}}
		e := Start(t, o)
		require.Nil(t, e.Disk(1))
		create(t, dial(t, e, 1, wire.Options{}), "/kept")
		require.Error(t, e.Wipe(1), "data of the operating system's filesystem is not touched")
		e.Close()
		e = Start(t, o)
		dial(t, e, 1, wire.Options{}).MustExists(t, "/kept", false)
		e.Close()
	}
}

func TestLeaderIsReplaced(t *testing.T) {
	for name, end := range map[string]func(*Ensemble, int){
		"stop": (*Ensemble).Stop, "kill": (*Ensemble).Kill, "power loss": (*Ensemble).PowerLoss,
		"isolate": (*Ensemble).Isolate,
	} {
		t.Run(name, func(t *testing.T) {
			e := Start(t, Options{Servers: 3})
			old, other := leader(t, e)
			create(t, dial(t, e, other, wire.Options{}), "/before")
			began := time.Now()
			end(e, old)
			rest := others(e, old)
			require.NoError(t, poll(within(t), "a new leader",
				func() (bool, error) { l := e.leads(); return l != 0 && l != old, nil }))
			require.NoError(t, e.WaitServing(within(t), rest...))
			t.Logf("the others serve after %v", time.Since(began))
			create(t, dial(t, e, other, wire.Options{}), "/after")
			e.Heal()
			require.NoError(t, e.Start(old))
			require.NoError(t, e.WaitEqual(within(t)))
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			for _, path := range []string{"/before", "/after"} {
				dial(t, e, old, wire.Options{}).MustExists(t, path, false)
			}
		})
	}
}

func others(e *Ensemble, id int) (rest []int) {
	for _, n := range e.IDs() {
		if n != id {
			rest = append(rest, n)
		}
	}
	return rest
}

func TestWipedServerLearnsEverythingAgain(t *testing.T) {
	e := Start(t, Options{Servers: 3})
	for _, id := range e.IDs() {
		create(t, dial(t, e, id, wire.Options{}), fmt.Sprintf("/n%d", id))
		e.Kill(id)
		require.NoError(t, e.Wipe(id))
		require.NoError(t, e.Start(id))
		require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	}
	require.NoError(t, e.WaitEqual(within(t)))
	require.Len(t, dial(t, e, 1, wire.Options{}).MustChildren(t, "/", false), 4)
	require.Error(t, e.Wipe(1), "a server that runs needs its disk")
}

func TestWholeEnsembleComesBack(t *testing.T) {
	for name, end := range map[string]func(*Ensemble, int){
		"stop": (*Ensemble).Stop, "kill": (*Ensemble).Kill, "power loss": (*Ensemble).PowerLoss,
	} {
		t.Run(name, func(t *testing.T) {
			e := Start(t, Options{Servers: 3, Observers: 1})
			c := dial(t, e, 2, wire.Options{TimeoutMs: 30_000})
			for i := range 50 {
				create(t, c, fmt.Sprintf("/n%02d", i))
			}
			c.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
			resume := c.Resume()
			for _, id := range e.IDs() {
				end(e, id)
			}
			for _, id := range e.IDs() {
				require.NoError(t, e.Start(id))
			}
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			require.NoError(t, e.WaitEqual(within(t)))
			again := dial(t, e, 3, resume)
			require.Len(t, again.MustChildren(t, "/", false), 52)
			stat := again.MustExists(t, "/mine", false)
			require.Equal(t, again.Session(), stat.EphemeralOwner)
		})
	}
}

func TestPartition(t *testing.T) {
	e := Start(t, Options{Servers: 5})
	e.Partition([]int{1, 2}, []int{3, 4, 5})
	require.NoError(t, poll(within(t), "the minority to give up", func() (bool, error) {
		return !e.Server(1).Status().Serving && !e.Server(2).Status().Serving, nil
	}))
	require.NoError(t, e.WaitServing(within(t), 3, 4, 5))
	create(t, dial(t, e, 4, wire.Options{}), "/major")
	e.Heal()
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	require.NoError(t, e.WaitEqual(within(t)))
}

func TestOneWay(t *testing.T) {
	for _, direction := range []string{"from", "to"} {
		t.Run(direction+" the leader", func(t *testing.T) {
			e := Start(t, Options{Servers: 3})
			leads, follows := leader(t, e)
			if direction == "from" {
				e.OneWay(leads, follows)
			} else {
				e.OneWay(follows, leads)
			}
			require.NoError(t, poll(within(t), "the follower to lose its leader", func() (bool, error) {
				return !e.Server(follows).Status().Serving, nil
			}))
			// Whichever server leads now, a majority is connected: writes go on.
			ctx := within(t)
			require.NoError(t, client.Retry(ctx, func(ctx context.Context) error {
				id, err := e.Leader(ctx)
				if err != nil {
					return err
				}
				c, err := client.Dial(ctx, e.Addr(id))
				if err != nil {
					return err
				}
				defer c.Close()
				_, err = c.Create(ctx, "/n", nil, client.Persistent)
				return err
			}))
			e.Heal()
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			require.NoError(t, e.WaitEqual(within(t)))
		})
	}
}

func TestDelay(t *testing.T) {
	e := Start(t, Options{Servers: 3})
	leads, follows := leader(t, e)
	c := dial(t, e, follows, wire.Options{})
	const delay = 60 * time.Millisecond
	e.Delay(leads, follows, delay)
	began := time.Now()
	create(t, c, "/n")
	require.GreaterOrEqual(t, time.Since(began), delay)
	e.Heal()
	require.NoError(t, e.WaitEqual(within(t)))
}

func TestClientsAreRefused(t *testing.T) {
	e := Start(t, Options{})
	c := dial(t, e, 1, wire.Options{})
	e.RefuseClients(1)
	<-c.Done()
	require.Error(t, must.Err(wire.Dial(e.Addr(1), wire.Options{})))
	e.Heal()
	again := dial(t, e, 1, c.Resume())
	e.CutClients(1)
	<-again.Done()
	require.Equal(t, c.Session(), dial(t, e, 1, c.Resume()).Session())
}

func TestExpireSession(t *testing.T) {
	for _, o := range []Options{{}, {Servers: 3, Observers: 1}} {
		t.Run(fmt.Sprintf("%d+%d", o.Servers, o.Observers), func(t *testing.T) {
			e := Start(t, o)
			for _, id := range e.IDs() {
				c := dial(t, e, id, wire.Options{TimeoutMs: 60_000})
				c.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
				require.NoError(t, e.ExpireSession(within(t), c.Session()))
				<-c.Done()
				require.NoError(t, wire.Rejects(e.Addr(id), c.Resume()))
				other := dial(t, e, 1, wire.Options{})
				require.NoError(t, other.Sync("/"))
				require.ErrorIs(t, must.Err(other.Exists("/mine", false)), proto.ErrNoNode)
				require.ErrorIs(t, e.ExpireSession(within(t), c.Session()), proto.ErrSessionExpired)
			}
		})
	}
}

// Clients find a server again at the address that it had, and are sent away at once while it is down.
func TestAddressStays(t *testing.T) {
	e := Start(t, Options{})
	c := dial(t, e, 1, wire.Options{TimeoutMs: 30_000})
	for _, end := range []func(int){e.Stop, e.Kill, e.PowerLoss} {
		end(1)
		end(1) // what is down stays down
		require.Nil(t, e.Server(1))
		require.Error(t, must.Err(wire.Dial(e.Addr(1), wire.Options{})))
		require.NoError(t, e.Start(1))
		require.NoError(t, e.Start(1))
		require.Equal(t, c.Session(), dial(t, e, 1, c.Resume()).Session())
	}
	require.NoError(t, e.Restart(1))
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Servers: -1}, {Servers: 150, Observers: 100}, {TickTime: time.Millisecond}} {
		require.ErrorContains(t, must.Err(New(o)), "embed: ")
	}
	_, err := New(Options{Servers: 3, Configure: func(_ int, c *config.Config) {
		c.TrustEmptySnapshot, c.DBAutocreate, c.DatadirAutocreate = false, false, false
	}})
	require.ErrorContains(t, err, "starting server 1")
	require.Panics(t, func() { Start(t, Options{}).Kill(2) })
}

// A server that does not get everything it asked the disk for after it was killed must not acknowledge it.
func TestKilledServerKeepsWhatItAcknowledged(t *testing.T) {
	for _, end := range []func(*Ensemble, int){(*Ensemble).Kill, (*Ensemble).PowerLoss} {
		e := Start(t, Options{})
		for round := range 5 {
			c := dial(t, e, 1, wire.Options{})
			var reqs []wire.Request
			for i := range 60 {
				reqs = append(reqs,
					wire.Create(fmt.Sprintf("/n%d-%03d", round, i), nil, wire.OpenACL, proto.ModePersistent))
			}
			calls := c.SendAll(reqs)
			require.NoError(t, calls[round].Wait())
			end(e, 1)
			<-c.Done()
			acknowledged := 0
			for acknowledged < len(calls) && calls[acknowledged].Wait() == nil {
				acknowledged++
			}
			require.NoError(t, e.Start(1))
			c = dial(t, e, 1, wire.Options{})
			for i := range acknowledged {
				_, err := c.Exists(fmt.Sprintf("/n%d-%03d", round, i), false)
				require.NoError(t, err, "%d of %d", i, acknowledged)
			}
		}
	}
}

// A server whose disk fails ends by itself; the others go on. After a restart it has everything that it
// acknowledged.
func TestBrokenDisk(t *testing.T) {
	for _, which := range []string{"leader", "follower"} {
		t.Run(which, func(t *testing.T) {
			e := Start(t, Options{Servers: 3})
			id, other := leader(t, e)
			if which == "follower" {
				id, other = other, id
			}
			c := dial(t, e, other, wire.Options{TimeoutMs: 30_000})
			create(t, c, "/before")
			e.Disk(id).FailNth(vfs.OpSync, 0, errors.New("input/output error"))
			ctx := within(t)
			n := must.Do(client.Dial(ctx, e.ConnectString(other), client.WithSessionTimeout(10*time.Second)))(t)
			defer n.Close()
			require.NoError(t, poll(ctx, "the server to end", func() (bool, error) {
				_, err := n.Create(ctx, "/n-", nil, client.PersistentSequential)
				if err != nil && !errors.Is(err, client.ErrConnectionLoss) {
					return false, err
				}
				return e.Server(id) == nil, nil
			}))
			require.NoError(t, e.WaitServing(ctx))
			require.NoError(t, e.Start(id))
			require.NoError(t, e.WaitServing(ctx, e.IDs()...))
			require.NoError(t, e.WaitEqual(ctx))
			dial(t, e, id, wire.Options{}).MustExists(t, "/before", false)
		})
	}
}

// Observers that come back together without their data are brought up to date one after the other, and those that
// were sent away come again.
func TestObserversWaitForEachOther(t *testing.T) {
	e := Start(t,
		Options{Servers: 1, Observers: 4, Configure: func(_ int, c *config.Config) { c.MaxConcurrentSnapSyncs = 1 }})
	create(t, dial(t, e, 1, wire.Options{}), "/n")
	observers := e.IDs()[1:]
	for _, id := range observers {
		e.Kill(id)
		require.NoError(t, e.Wipe(id))
		e.Delay(1, id, 20*time.Millisecond) // so that they meet
	}
	for _, id := range observers {
		require.NoError(t, e.Start(id))
	}
	require.NoError(t, e.WaitServing(within(t), observers...))
	require.NoError(t, e.WaitEqual(within(t)))
}

// A leader with leaderServes=no leads, and leaves the clients to the others.
func TestLeaderServesNobody(t *testing.T) {
	e := must.Do(New(Options{Servers: 3, Configure: func(_ int, c *config.Config) { c.LeaderServes = false }}))(t)
	t.Cleanup(e.Close)
	var leads, follows []int
	require.NoError(t, poll(within(t), "two followers", func() (bool, error) {
		leads, follows = nil, nil
		for _, id := range e.IDs() {
			text, err := wire.FourLetter(e.Addr(id), "srvr", 10*time.Second)
			switch {
			case err != nil:
				return false, nil
			case strings.Contains(text, "Mode: follower\n"):
				follows = append(follows, id)
			case strings.Contains(text, "not currently serving"):
				leads = append(leads, id)
			default:
				return false, fmt.Errorf("server %d: %s", id, text)
			}
		}
		return len(follows) == 2, nil
	}))
	c := dial(t, e, follows[0], wire.Options{})
	create(t, c, "/n")
	require.Error(t, must.Err(wire.Dial(e.Addr(leads[0]), wire.Options{})))
	create(t, c, "/m")
	require.Equal(t, "imok", wire.MustFourLetter(t, e.Addr(leads[0]), "ruok", 10*time.Second))
}

// Where leaders serve nobody, clients outlive one leader after another: a server without clients, as after a restart,
// takes the leadership from one that was elected with clients.
func TestLeadershipGoesToServersWithoutClients(t *testing.T) {
	e := Start(t, Options{Servers: 3, Configure: func(_ int, c *config.Config) {
		c.LeaderServes, c.PriorityPause = false, 100*time.Millisecond
	}})
	leader := func() int {
		require.NoError(t, e.WaitServing(within(t)))
		id := must.Do(e.Leader(within(t)))(t)
		return id
	}
	var all []*wire.Conn
	first := leader()
	for _, id := range e.IDs() {
		if id != first {
			all = append(all, dial(t, e, id, wire.Options{}))
		}
	}
	for round := range 3 {
		dead := leader()
		e.Kill(dead)
		for i, c := range all {
			create(t, c, fmt.Sprintf("/round-%d-%d", round, i))
		}
		require.NoError(t, e.Start(dead))
		require.NoError(t, poll(within(t), "the leadership of the server without clients", func() (bool, error) {
			return e.leads() == dead, nil
		}))
	}
	for _, c := range all {
		require.Len(t, c.MustChildren(t, "/", false), 1+3*len(all))
	}
}

// Where members have weights these decide, and not how many members there are: one that outweighs the others
// serves without them, and they do not without it.
func TestWeightsDecide(t *testing.T) {
	e := Start(t, Options{Servers: 3, TickTime: 500 * time.Millisecond, Configure: func(_ int, c *config.Config) {
		c.Hierarchical, c.Groups = true, []config.Group{{ID: 1, Members: []int64{1, 2, 3}}}
		for i := range c.Members {
			if c.Members[i].ID == 1 {
				c.Members[i].Weight = 3
			}
		}
	}})
	create(t, dial(t, e, 2, wire.Options{}), "/all")
	e.Kill(2)
	e.Kill(3)
	require.NoError(t, e.WaitServing(within(t), 1))
	create(t, dial(t, e, 1, wire.Options{}), "/one")
	require.NoError(t, e.Start(2))
	require.NoError(t, e.Start(3))
	require.NoError(t, e.WaitServing(within(t)))
	e.Kill(1)
	for _, id := range []int{2, 3} {
		require.NoError(t, poll(within(t), "the end of service", func() (bool, error) {
			text, err := wire.FourLetter(e.Addr(id), "srvr", 10*time.Second)
			return strings.Contains(text, "not currently serving"), err
		}))
	}
	require.Error(t, must.Err(wire.Dial(e.Addr(2), wire.Options{})))
	require.NoError(t, e.Start(1))
	require.NoError(t, e.WaitServing(within(t)))
	dial(t, e, 3, wire.Options{}).MustExists(t, "/one", false)
}
