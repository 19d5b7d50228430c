package server_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// figure is one number of the word mntr, -1 if it is not there.
func figure(t *testing.T, e *embed.Ensemble, id int, name string) (n int) {
	t.Helper()
	text, err := wire.FourLetter(e.Addr(id), "mntr", time.Minute)
	if err != nil {
		return -1
	}
	m := regexp.MustCompile(`(?m)^zk_` + name + `\t(-?\d+)`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	must.Do(fmt.Sscan(m[1], &n))(t)
	return n
}

// behind starts an ensemble with observers that learn from followers, and returns its servers by role.
func behind(t *testing.T, o embed.Options) (e *embed.Ensemble, leader int, followers, observers []int) {
	t.Helper()
	if o.TickTime == 0 {
		o.TickTime = patient
	}
	o.ObserverMasters = true
	e = embed.Start(t, o)
	leader = leaderOf(t, e)
	for _, id := range e.IDs() {
		switch e.Server(id).Status().Mode {
		case "follower":
			followers = append(followers, id)
		case "observer":
			observers = append(observers, id)
		}
	}
	return e, leader, followers, observers
}

// onFollowers waits until every observer learns from a follower.
func onFollowers(t *testing.T, e *embed.Ensemble, followers, observers []int) {
	t.Helper()
	for _, id := range observers {
		until(t, fmt.Sprintf("observer %d to learn from a follower", id), func() bool {
			master := figure(t, e, id, "observer_master_id")
			for _, f := range followers {
				if f == master {
					return true
				}
			}
			return false
		})
	}
}

// Observers of a follower give the same answers as the leader, in the order of each client, and the follower
// reports that it serves them.
func TestObserversOfAFollowerAnswerTheSame(t *testing.T) {
	e, leader, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 2,
		Configure: func(_ int, c *config.Config) { c.ExtendedTypes = true }})
	onFollowers(t, e, followers, observers)
	want := answersTo(t, connect(t, e, leader, wire.Options{}), "/leader")
	for _, id := range observers {
		c := connect(t, e, id, wire.Options{})
		require.Equal(t, want, answersTo(t, c, fmt.Sprintf("/observer%d", id)))
		require.NoError(t, c.CloseSession())
		var reqs []wire.Request
		path := fmt.Sprintf("/n%d", id)
		c = connect(t, e, id, wire.Options{})
		c.MustCreate(t, path, nil, proto.ModePersistent)
		for i := range 100 {
			reqs = append(reqs, wire.SetData(path, fmt.Appendf(nil, "%d", i), -1), wire.Sync(path),
				wire.GetData(path, false), wire.Sync("/"))
		}
		i := 0
		for _, call := range c.SendAll(reqs) {
			require.NoError(t, call.Wait())
			if v, ok := call.Reply.Value.(*proto.GetDataResponse); ok {
				require.Equal(t, fmt.Sprint(i), string(v.Data))
				i++
			}
		}
	}
	synced := func(id int) int { return figure(t, e, id, "synced_observers") }
	until(t, "the followers to count their observers", func() bool {
		return synced(leader) == 0 && synced(followers[0])+synced(followers[1]) == 2
	})
	require.NoError(t, e.WaitEqual(within(t)))
}

// A leader does not take an observer for absent that learns from a follower: it asks the client port of the observer.
func TestObserversOfAFollowerAreNotAbsent(t *testing.T) {
	e, leader, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 2,
		Configure: func(_ int, c *config.Config) {
			c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
			c.Members[4].Client.Port = config.PortUnset // nobody can ask the second observer
		}})
	onFollowers(t, e, followers, observers)
	must.Do(connect(t, e, leader, wire.Options{}).Create("/n", nil, proto.ModePersistent))(t)
	b := browse(t, e.Server(leader))
	var told struct {
		Members []struct {
			State string
			Lag   *int64
		}
		Problems []struct{ Check, Text string }
	}
	until(t, "the leader to hear of the observer and its last txn", func() bool {
		b.get("/ensemble", &told)
		return told.Members[3].State == "observer" && told.Members[3].Lag != nil
	})
	require.Equal(t, "unknown", told.Members[4].State)
	for _, p := range told.Problems {
		require.NotEqual(t, "unreachable", p.Check, p.Text)
	}
}

// A write at another server is visible after a sync at an observer of a follower.
func TestSyncReachesObserversOfAFollower(t *testing.T) {
	e, leader, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 1})
	onFollowers(t, e, followers, observers)
	writer := connect(t, e, leader, wire.Options{})
	writer.MustCreate(t, "/n", nil, proto.ModePersistent)
	reader := connect(t, e, observers[0], wire.Options{})
	for i := range 200 {
		writer.MustSetData(t, "/n", fmt.Appendf(nil, "%d", i), -1)
		require.NoError(t, reader.Sync("/n"))
		data, _ := reader.MustGetData(t, "/n", false)
		require.Equal(t, fmt.Sprint(i), string(data))
	}
}

// A session moves between the observers of one follower, that follower and the leader. Its former connection gets
// an error and is closed, although the leader sees one link for most of these servers.
func TestSessionMovesBehindAFollower(t *testing.T) {
	e, _, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 3})
	onFollowers(t, e, followers, observers)
	for _, from := range e.IDs() {
		for _, to := range e.IDs() {
			old := connect(t, e, from, wire.Options{})
			must.Do(old.Create("/mine", nil, proto.ModeEphemeral))(t)
			c := resume(t, e, to, old.Resume())
			require.Equal(t, old.Session(), c.Session())
			if from != to {
				require.Error(t, must.Err(old.SetData("/mine", []byte("late"), -1)), "from %d to %d", from, to)
			}
			<-old.Done()
			require.NoError(t, c.Sync("/"))
			data, st := c.MustGetData(t, "/mine", false)
			require.Empty(t, data, "what the old connection sends has no effect: from %d to %d", from, to)
			require.Equal(t, c.Session(), st.EphemeralOwner)
			require.NoError(t, c.CloseSession())
		}
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// The leader hears from the follower which clients of the observers are alive, and expires the others.
func TestSessionsBehindAFollowerLiveByTheirPings(t *testing.T) {
	e, leader, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 1,
		TickTime: 200 * time.Millisecond})
	onFollowers(t, e, followers, observers)
	const timeout = 2500 * time.Millisecond
	watcher := connect(t, e, leader, wire.Options{})
	for tries := 0; ; tries++ {
		o := wire.Options{TimeoutMs: int32(timeout.Milliseconds())}
		silent, alive := connect(t, e, observers[0], o), connect(t, e, observers[0], o)
		silentPath, alivePath := fmt.Sprint("/silent-", tries), fmt.Sprint("/alive-", tries)
		_, err := silent.Create(silentPath, nil, proto.ModeEphemeral)
		require.NoError(t, err)
		alive.MustCreate(t, alivePath, nil, proto.ModeEphemeral)
		until(t, "the silent client to expire", func() bool {
			if err = alive.Ping(); err != nil {
				return true
			}
			_, there := watcher.Exists(silentPath, false)
			return there != nil
		})
		// A client's own pace.
		for began := time.Now(); err == nil && time.Since(began) < 2*timeout; time.Sleep(100 * time.Millisecond) {
			err = alive.Ping()
		}
		if err == nil {
			_, err = watcher.Exists(alivePath, false)
		}
		if err == nil {
			return
		}
		// On a busy machine this client was not run for so long, or its server has lost its master.
		require.Less(t, tries, 10, "%v", err)
		alive.Close()
		require.NoError(t, e.WaitServing(within(t)))
	}
}

// An observer that loses its master learns from another follower, and its clients keep their sessions. If no
// follower is left it learns from the leader.
func TestObserverLosesItsMaster(t *testing.T) {
	for name, end := range map[string]func(*embed.Ensemble, int){"stop": (*embed.Ensemble).Stop,
		"kill": (*embed.Ensemble).Kill} {
		t.Run(name, func(t *testing.T) {
			e, _, followers, observers := behind(t, embed.Options{Servers: 3, Observers: 1})
			onFollowers(t, e, followers, observers)
			observer := observers[0]
			c := connect(t, e, observer, wire.Options{})
			c.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
			master := figure(t, e, observer, "observer_master_id")
			end(e, master)
			other := followers[0] + followers[1] - master
			until(t, "the observer to find another master",
				func() bool { return figure(t, e, observer, "observer_master_id") == other })
			c = resume(t, e, observer, c.Resume())
			c.MustSetData(t, "/mine", []byte("x"), -1)
			require.NoError(t, e.Start(master))
			require.NoError(t, e.WaitServing(within(t)))
			require.NoError(t, e.WaitEqual(within(t)))
		})
	}
}

// If no follower serves observers, because there is none or none has the port, observers learn from the leader.
func TestObserverWithoutMasters(t *testing.T) {
	for _, o := range []embed.Options{{Servers: 1, Observers: 1},
		{Servers: 3, Observers: 1, Configure: func(id int, c *config.Config) {
			if id <= 3 {
				c.ObserverMasterPort = 0
			}
		}}} {
		e, leader, _, observers := behind(t, o)
		require.Equal(t, leader, figure(t, e, observers[0], "observer_master_id"))
		c := connect(t, e, observers[0], wire.Options{})
		c.MustCreate(t, "/n", []byte(strings.Repeat("x", 1000)), proto.ModePersistent)
		require.NoError(t, e.WaitEqual(within(t)))
	}
}

// A follower synchronizes an observer that has no history, or lacks more than may wait for it.
func TestFollowerBringsObserversUpToDate(t *testing.T) {
	for name, snapshot := range map[string]bool{"txns": false, "snapshot": true} {
		t.Run(name, func(t *testing.T) {
			e, leader, followers, observers := behind(t,
				embed.Options{Servers: 3, Observers: 1, Configure: func(_ int, c *config.Config) {
					c.ForceSnapshotSync = snapshot
					c.ObserverMasterSizeLimit = 1
				}})
			onFollowers(t, e, followers, observers)
			e.Stop(observers[0])
			c := connect(t, e, leader, wire.Options{})
			data := []byte(strings.Repeat("x", 64<<10))
			for i := range 50 {
				c.MustCreate(t, fmt.Sprintf("/n%d", i), data, proto.ModePersistent)
			}
			require.NoError(t, e.Start(observers[0]))
			onFollowers(t, e, followers, observers)
			require.NoError(t, e.WaitEqual(within(t)))
		})
	}
}

// The admin server of a leader tells how many requests came from an observer, and starts again when it is told to.
func TestConnectionsOfObserversAreCounted(t *testing.T) {
	e, leader, _, observers := behind(t, embed.Options{Servers: 1, Observers: 1,
		Configure: func(_ int, c *config.Config) {
			c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", 0
		}})
	c := connect(t, e, observers[0], wire.Options{})
	must.Do(c.Create("/n", nil, proto.ModePersistent))(t)
	requests := func() (n int64) {
		for _, o := range fields(t, e.Server(leader), "observers")["observers"].([]any) {
			n = must.Do(o.(map[string]any)["requests"].(json.Number).Int64())(t)
		}
		return n
	}
	until(t, "the leader to show the observer and its requests", func() bool { return requests() >= 2 })
	fields(t, e.Server(leader), "observer_connection_stat_reset")
	require.Zero(t, requests())
	must.Do(c.SetData("/n", nil, -1))(t)
	require.EqualValues(t, 1, requests())
}
