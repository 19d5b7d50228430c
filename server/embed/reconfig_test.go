package embed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// changing starts an ensemble that every client may reconfigure. Its clients keep their connections if the
// machine is busy for a second: no test waits for a tick.
func changing(t *testing.T, o Options) *Ensemble {
	o.TickTime = 500 * time.Millisecond
	o.Configure = func(_ int, c *config.Config) { c.ReconfigEnabled, c.SkipACL = true, true }
	return Start(t, o)
}

// reconfigure changes the ensemble, and waits until the members, as voters, have the new configuration in force.
func reconfigure(t *testing.T, e *Ensemble, r client.Reconfig, members ...int) {
	t.Helper()
	change(t, e, r)
	inForce(t, e, members...)
}

// change reconfigures the ensemble. If it is not known whether that was done it is asked for again, which changes
// nothing more.
func change(t *testing.T, e *Ensemble, r client.Reconfig) {
	t.Helper()
	ctx := within(t)
	c, err := client.Dial(ctx, e.ConnectString())
	require.NoError(t, err)
	defer c.Close()
	r.FromVersion = client.AnyConfig
	for {
		if _, _, err = c.Reconfig(ctx, r); err == nil {
			return
		}
		if !client.MayHaveApplied(err) && !client.SafeToRetry(err) {
			require.ErrorIs(t, err, proto.ErrNewConfigNoQuorum)
		}
		require.NoError(t, ctx.Err())
	}
}

// inForce waits until servers serve in one ensemble whose configuration has exactly these members, as voters.
func inForce(t *testing.T, e *Ensemble, members ...int) {
	t.Helper()
	var lines []string
	for _, id := range members {
		lines = append(lines, e.Line(id))
	}
	inForceAs(t, e, lines, members...)
}

// inForceAs waits until servers serve in one ensemble with a configuration, and read it.
func inForceAs(t *testing.T, e *Ensemble, lines []string, members ...int) {
	t.Helper()
	var last string
	require.NoError(t, poll(within(t), "the configuration", func() (bool, error) {
		version := proto.Zxid(-1)
		for _, id := range members {
			st, up := e.member(id).status()
			if !up || !st.Serving || version >= 0 && st.Config != version {
				return false, nil
			}
			version = st.Config
		}
		last = fmt.Sprint(version)
		return true, nil
	}), last)
	c := dialClient(t, e, members...)
	var text []byte
	var stat client.Stat
	require.NoError(t, client.Retry(within(t), func(ctx context.Context) (err error) {
		if err = c.Sync(ctx, "/"); err == nil {
			text, stat, err = c.Get(ctx, "/zookeeper/config")
		}
		return err
	}))
	require.Equal(t, strings.Join(lines, "\n")+fmt.Sprintf("\nversion=%x", uint64(stat.Mzxid)), string(text))
	require.EqualValues(t, -1, stat.Version)
}

func dialClient(t *testing.T, e *Ensemble, ids ...int) *client.Client {
	t.Helper()
	c := must.Do(client.Dial(within(t), e.ConnectString(ids...)))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// load is sessions that create znodes, one after the other, at any server.
type load struct {
	e       *Ensemble
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	acked   []string
	failed  error
}

const loaders = 4

func startLoad(t *testing.T, e *Ensemble) *load {
	t.Helper()
	c := dialClient(t, e)
	must.Do(c.Create(within(t), "/load", nil, client.Persistent))(t)
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{e: e, stop: cancel}
	t.Cleanup(cancel)
	for i := range loaders {
		l.running.Go(func() { l.run(ctx, i) })
	}
	return l
}

func (l *load) run(ctx context.Context, id int) {
	c, err := client.Dial(ctx, l.e.ConnectString(), client.WithSessionTimeout(30*time.Second))
	if err != nil {
		return
	}
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		path := fmt.Sprintf("/load/%d-%06d", id, n)
		_, err := c.Create(ctx, path, []byte(path), client.Persistent)
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked = append(l.acked, path)
		case ctx.Err() == nil && !client.MayHaveApplied(err) && !client.SafeToRetry(err):
			l.failed = err
		}
		l.mu.Unlock()
	}
}

// written is how many znodes were acknowledged.
func (l *load) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// goesOn waits until more writes were acknowledged.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	before := l.written()
	require.NoError(t, poll(within(t), "writes", func() (bool, error) { return l.written() >= before+2*loaders, nil }))
}

// judge ends the load and looks for all that was acknowledged, at servers that must be equal.
func (l *load) judge(t *testing.T, ids ...int) {
	t.Helper()
	l.stop()
	l.running.Wait()
	require.NoError(t, l.failed)
	require.NoError(t, l.e.WaitEqual(within(t), ids...))
	for _, id := range ids {
		c := dialClient(t, l.e, id)
		var names []string
		require.NoError(t, client.Retry(within(t), func(ctx context.Context) (err error) {
			if err = c.Sync(ctx, "/"); err == nil {
				names, _, err = c.Children(ctx, "/load")
			}
			return err
		}))
		found := map[string]bool{}
		for _, name := range names {
			found["/load/"+name] = true
		}
		for _, path := range l.acked {
			require.True(t, found[path], "server %d has lost %s, which was acknowledged", id, path)
		}
	}
	t.Logf("%d writes were acknowledged", len(l.acked))
}

// restart ends all servers and starts those given.
func restart(t *testing.T, e *Ensemble, ids ...int) {
	t.Helper()
	for _, id := range e.IDs() {
		e.Kill(id)
	}
	for _, id := range ids {
		require.NoError(t, e.Start(id))
	}
}

// From one server to five and back to one, under load. Then all are started again: the configuration is that of
// the end.
func TestEnsembleGrowsAndShrinks(t *testing.T) {
	e := changing(t, Options{Servers: 1, Joiners: 4})
	inForce(t, e, 1)
	l := startLoad(t, e)
	for _, step := range []struct {
		change  client.Reconfig
		members []int
	}{
		{client.Reconfig{Join: e.Line(2) + "," + e.Line(3)}, []int{1, 2, 3}},
		{client.Reconfig{Join: e.Line(4) + "," + e.Line(5)}, []int{1, 2, 3, 4, 5}},
		{client.Reconfig{Leave: "1,2"}, []int{3, 4, 5}},
		{client.Reconfig{Members: e.Line(4) + "," + e.Line(5)}, []int{4, 5}},
		{client.Reconfig{Leave: "5"}, []int{4}},
		{client.Reconfig{Join: e.Line(1), Leave: "4"}, []int{1}},
	} {
		l.goesOn(t)
		reconfigure(t, e, step.change, step.members...)
		require.Contains(t, step.members, must.Do(e.Leader(within(t)))(t))
	}
	l.goesOn(t)
	l.judge(t, 1)
	require.NoError(t, e.WaitEqual(within(t)), "who is in no configuration goes on as a follower without a vote")
	restart(t, e, 1)
	inForce(t, e, 1)
	restart(t, e, e.IDs()...)
	inForce(t, e, 1)
	require.NoError(t, e.WaitEqual(within(t), e.IDs()...))
}

// Each server of an ensemble is replaced by another one, the leader among them.
func TestEveryServerIsReplaced(t *testing.T) {
	e := changing(t, Options{Servers: 3, Joiners: 3})
	l := startLoad(t, e)
	for old := 1; old <= 3; old++ {
		l.goesOn(t)
		members := []int{}
		for id := old + 1; id <= old+3; id++ {
			members = append(members, id)
		}
		reconfigure(t, e, client.Reconfig{Join: e.Line(old + 3), Leave: fmt.Sprint(old)}, members...)
		e.Stop(old)
	}
	l.goesOn(t)
	l.judge(t, 4, 5, 6)
	restart(t, e, 4, 5, 6)
	inForce(t, e, 4, 5, 6)
}

// A leader that is removed answers the client that asked for it, names the next leader, and goes on without a
// vote.
func TestRemovedLeaderHandsOver(t *testing.T) {
	e := changing(t, Options{Servers: 3})
	l := startLoad(t, e)
	for range 3 {
		l.goesOn(t)
		old, _ := leader(t, e)
		c := dial(t, e, old, wire.Options{})
		require.Equal(t, proto.OK, c.MustDo(t, wire.Reconfig("", fmt.Sprint(old), "", -1)).Header.Err)
		inForce(t, e, others(e, old)...)
		require.NotEqual(t, old, must.Do(e.Leader(within(t)))(t))
		require.NoError(t, e.WaitServing(within(t), e.IDs()...))
		require.NotEqual(t, "leader", e.Server(old).Status().Mode)
		reconfigure(t, e, client.Reconfig{Join: e.Line(old)}, e.IDs()...)
	}
	l.judge(t, e.IDs()...)
}

// A voter becomes an observer and a voter again, and so does the leader.
func TestRolesChange(t *testing.T) {
	e := changing(t, Options{Servers: 3})
	l := startLoad(t, e)
	demoted := func(id int) string { return strings.Replace(e.Line(id), "participant", "observer", 1) }
	for id := 1; id <= 3; id++ {
		l.goesOn(t)
		change(t, e, client.Reconfig{Join: demoted(id)})
		var lines []string
		for _, other := range e.IDs() {
			if other == id {
				lines = append(lines, demoted(id))
			} else {
				lines = append(lines, e.Line(other))
			}
		}
		inForceAs(t, e, lines, e.IDs()...)
		require.NoError(t, poll(within(t), "an observer", func() (bool, error) {
			st, up := e.member(id).status()
			return up && st.Mode == "observer" && st.Serving, nil
		}))
		l.goesOn(t)
		reconfigure(t, e, client.Reconfig{Join: e.Line(id)}, e.IDs()...)
		require.NoError(t, poll(within(t), "a voter", func() (bool, error) {
			st, up := e.member(id).status()
			return up && st.Mode != "observer" && st.Serving, nil
		}))
	}
	l.judge(t, e.IDs()...)
}

// A server that was removed, and is started again, follows without a vote. This includes a server with a smaller
// id than the others: they have to call it although their configuration does not have its address.
func TestRemovedServersFollowAgain(t *testing.T) {
	e := changing(t, Options{Servers: 3, Joiners: 1})
	for _, id := range []int{1, 4} {
		change(t, e, client.Reconfig{Members: e.Line(2) + "," + e.Line(3)})
		inForce(t, e, 2, 3)
		for range 3 {
			e.Kill(id)
			require.NoError(t, e.Start(id))
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
		}
		reconfigure(t, e, client.Reconfig{Join: e.Line(id)}, slices.Sorted(slices.Values([]int{2, 3, id}))...)
		create(t, dial(t, e, id, wire.Options{}), fmt.Sprintf("/by-%d", id))
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// Servers are killed at any moment of a reconfiguration: it has happened or not, for all, and nothing that was
// acknowledged is lost.
func TestKilledDuringReconfig(t *testing.T) {
	e := changing(t, Options{Servers: 3, Joiners: 1})
	l := startLoad(t, e)
	added, removed := 0, 0
	for round := range 12 {
		l.goesOn(t)
		leads, follows := leader(t, e)
		r := wire.Reconfig(e.Line(4), "", "", -1)
		if round%2 == 1 {
			r = wire.Reconfig("", "4", "", -1)
		}
		c := wire.Open(t, e.Addr(leads), wire.Options{})
		call := c.Send(r)
		<-time.After(time.Duration(round) * 100 * time.Microsecond)
		killed := [][]int{{leads}, {follows}, e.IDs()}[round%3]
		for _, id := range killed {
			e.Kill(id)
		}
		c.Close()
		<-call.Done()
		for _, id := range killed {
			require.NoError(t, e.Start(id))
		}
		require.NoError(t, e.WaitServing(within(t), e.IDs()...))
		require.NoError(t, poll(within(t), "one configuration", func() (bool, error) {
			versions := map[proto.Zxid]bool{}
			for _, id := range e.IDs() {
				versions[e.Server(id).Status().Config] = true
			}
			return len(versions) == 1, nil
		}))
		text, _ := must.Do2(dialClient(t, e).Get(within(t), "/zookeeper/config"))(t)
		if strings.Contains(string(text), "server.4=") {
			added++
		} else {
			removed++
		}
	}
	t.Logf("4 was there after %d of the rounds, and not after %d", added, removed)
	l.judge(t, e.IDs()...)
}

// The only voter of an ensemble that has served loses its disk, and an observer still has the history. The voter does
// not begin a new ensemble: clients would see an empty tree.
func TestOnlyVoterWithoutItsDiskWaits(t *testing.T) {
	const message = "the database is missing, and the ensemble has served"
	core, logged := observer.New(zap.WarnLevel)
	e := changing(t, Options{Servers: 2, Log: zap.New(core)})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	create(t, dial(t, e, 1, wire.Options{}), "/kept")
	line := strings.Replace(e.Line(2), ":participant", ":observer", 1)
	change(t, e, client.Reconfig{Join: line})
	inForceAs(t, e, []string{e.Line(1), line}, 1, 2)
	e.Kill(1)
	require.NoError(t, e.Wipe(1))
	require.NoError(t, e.Start(1))
	// What it has heard is on its disk a while later. If it is killed before, it hears of it once more.
	for pause, began := time.Millisecond, time.Now(); logged.FilterMessageSnippet(message).Len() == 0; pause *= 2 {
		require.Less(t, time.Since(began), time.Minute, "it never starts with the configuration")
		require.Eventually(t, func() bool {
			return e.Server(1).Status().Config > 0
		}, time.Minute, 10*time.Millisecond, "it hears of the configuration from the observer")
		time.Sleep(pause)
		e.Kill(1)
		require.NoError(t, e.Start(1))
	}
	time.Sleep(2 * time.Second)
	require.False(t, e.Server(1).Status().Serving)
	e.Stop(2)
	require.Zero(t, e.Server(1).Status().Zxid)
}
