package server_test

import (
	"context"
	"errors"
	"fmt"
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

// patient is the tick of tests in which no server is cut off: a slow machine must not look like a lost server.
const patient = 1500 * time.Millisecond

// within returns a context that bounds operations which should be quick.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// connect opens a session at a server of an ensemble.
func connect(t testing.TB, e *embed.Ensemble, id int, o wire.Options) *wire.Conn {
	t.Helper()
	if o.TimeoutMs == 0 {
		o.TimeoutMs = 60_000
	}
	c, err := wire.Dial(e.Addr(id), o)
	for end := time.Now().Add(time.Minute); wire.IsEOF(err) && o.LastZxid != 0 && time.Now().Before(end); {
		// A server that is behind what the client has seen refuses it until it has caught up.
		time.Sleep(time.Millisecond)
		c, err = wire.Dial(e.Addr(id), o)
	}
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// leaderOf returns the server that leads, as soon as there is one.
func leaderOf(t testing.TB, e *embed.Ensemble) int {
	t.Helper()
	leader := must.Do(e.Leader(within(t)))(t)
	return leader
}

// roles are a leader, a follower and, if there is one, an observer.
func roles(t testing.TB, e *embed.Ensemble) (leader, follower, observer int) {
	t.Helper()
	leader = leaderOf(t, e)
	for _, id := range e.IDs() {
		switch e.Server(id).Status().Mode {
		case "follower":
			follower = id
		case "observer":
			observer = id
		}
	}
	return leader, follower, observer
}

// answersTo runs all kinds of requests in a subtree and returns the answers, as text that does not depend on the
// server.
func answersTo(t *testing.T, c *wire.Conn, root string) []string {
	t.Helper()
	var said []string
	say := func(what string, v any, err error) {
		var code proto.ErrCode
		if err != nil && !errors.As(err, &code) {
			require.NoError(t, err, what)
		}
		said = append(said, strings.ReplaceAll(fmt.Sprintf("%s: %v %v", what, v, code), root, "ROOT"))
	}
	create := func(what, path string, mode proto.CreateMode) {
		p, err := c.Create(path, []byte("x"), mode)
		say(what, p, err)
	}
	shape := func(st proto.Stat) string {
		return fmt.Sprint(st.Version, st.Cversion, st.Aversion, st.DataLength, st.NumChildren,
			st.EphemeralOwner == c.Session(), st.Czxid > 0)
	}
	create("root", root, proto.ModePersistent)
	create("again", root, proto.ModePersistent)
	create("no parent", root+"/no/child", proto.ModePersistent)
	create("sequential", root+"/s-", proto.ModePersistentSequential)
	create("sequential ephemeral", root+"/s-", proto.ModeEphemeralSequential)
	create("ephemeral", root+"/e", proto.ModeEphemeral)
	create("below an ephemeral", root+"/e/child", proto.ModePersistent)
	create("bad path", root+"//x", proto.ModePersistent)
	p, st, err := c.Create2(root+"/two", []byte("data"), proto.ModePersistent)
	say("create2", p+shape(st), err)
	p, st, err = c.CreateContainer(root+"/container", nil)
	say("container", p+shape(st), err)
	p, st, err = c.CreateTTL(root+"/ttl", nil, proto.ModePersistentTTL, 60_000)
	say("ttl", p+shape(st), err)
	st, err = c.SetData(root+"/two", []byte("more"), 0)
	say("set", shape(st), err)
	st, err = c.SetData(root+"/two", nil, 0)
	say("set a wrong version", shape(st), err)
	st, err = c.SetData(root+"/none", nil, -1)
	say("set nothing", shape(st), err)
	say("delete a parent", nil, c.Delete(root, -1))
	say("delete a wrong version", nil, c.Delete(root+"/two", 7))
	say("delete", nil, c.Delete(root+"/s-0000000000", -1))

	say("auth", nil, c.Auth("digest", "me:secret"))
	st, err = c.SetACL(root+"/two", wire.ACL(proto.PermAll, "auth", ""), -1)
	say("set acl", shape(st), err)
	acl, _, err := c.GetACL(root + "/two")
	say("get acl", fmt.Sprint(acl[0].Perms, acl[0].Id.Scheme.String(), acl[0].Id.Id.String()), err)
	st, err = c.SetData(root+"/two", []byte("mine"), -1)
	say("set what is mine", shape(st), err)
	_, err = c.SetACL(root+"/two", wire.ACL(proto.PermAll, "nonsense", "x"), -1)
	say("set a bad acl", nil, err)

	slots, err := c.Multi(wire.Create2(root+"/m", []byte("1"), wire.OpenACL, 0),
		wire.SetData(root+"/m", []byte("2"), 0),
		wire.Create(root+"/m/q-", nil, wire.OpenACL, proto.ModePersistentSequential), wire.Check(root+"/m", 1),
		wire.Delete(root+"/container", -1))
	say("multi", len(slots), err)
	for _, s := range slots {
		switch v := s.Value.(type) {
		case *proto.Create2Response:
			say("slot", v.Path.String()+shape(v.Stat), nil)
		case *proto.CreateResponse:
			say("slot", v.Path.String(), nil)
		case *proto.StatResponse:
			say("slot", shape(v.Stat), nil)
		default:
			say("slot", fmt.Sprintf("%T", v), nil)
		}
	}
	slots, err = c.Multi(wire.SetData(root+"/m", []byte("3"), -1), wire.Check(root+"/m", 77),
		wire.Delete(root+"/m", -1))
	say("multi that fails", len(slots), err)
	data, st, err := c.GetData(root+"/m", false)
	say("what it left", string(data)+shape(st), err)
	names, err := c.Children(root, false)
	say("children", len(names), err)
	own, err := c.Ephemerals(root)
	say("ephemerals", len(own), err)
	return said
}

func TestEveryServerAnswersTheSame(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1,
		Configure: func(_ int, c *config.Config) { c.ExtendedTypes = true }})
	leader, follower, observer := roles(t, e)
	want := answersTo(t, connect(t, e, leader, wire.Options{}), "/leader")
	for name, id := range map[string]int{"follower": follower, "observer": observer} {
		c := connect(t, e, id, wire.Options{})
		require.Equal(t, want, answersTo(t, c, "/"+name), name)
		stranger := connect(t, e, id, wire.Options{})
		require.ErrorIs(t, must.Err(stranger.SetData("/"+name+"/two", nil, -1)), proto.ErrNoAuth)
		require.NoError(t, c.CloseSession())
		require.NoError(t, stranger.Sync("/"))
		require.ErrorIs(t, must.Err(stranger.Exists("/"+name+"/e", false)), proto.ErrNoNode)
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// Requests of one client are answered in order, and each sees the effect of the earlier ones, however many are in
// flight.
func TestPipelinedRequestsStayInOrder(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	for _, id := range e.IDs() {
		c := connect(t, e, id, wire.Options{})
		path := fmt.Sprintf("/n%d", id)
		c.MustCreate(t, path, nil, proto.ModePersistent)
		var reqs []wire.Request
		for i := range 300 {
			reqs = append(reqs, wire.SetData(path, fmt.Appendf(nil, "%d", i), -1), wire.GetData(path, false))
			switch i % 5 {
			case 0:
				reqs = append(reqs, wire.Sync(path))
			case 1:
				reqs = append(reqs, wire.Create(path, nil, wire.OpenACL, 0)) // an error in between
			case 2:
				reqs = append(reqs, wire.Sync(path), wire.Sync("/"), wire.Ping())
			}
		}
		i := 0
		for _, call := range c.SendAll(reqs) {
			require.NoError(t, call.Wait())
			switch v := call.Reply.Value.(type) {
			case *proto.StatResponse:
				i = int(v.Stat.Version) - 1
			case *proto.GetDataResponse:
				require.Equal(t, fmt.Sprint(i), string(v.Data))
			}
		}
		require.Equal(t, 299, i)
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// After a sync every server shows the writes that were acknowledged to other clients before.
func TestSyncShowsWhatOthersWrote(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	leader, _, _ := roles(t, e)
	writer := connect(t, e, leader, wire.Options{})
	writer.MustCreate(t, "/n", nil, proto.ModePersistent)
	for _, id := range e.IDs() {
		reader := connect(t, e, id, wire.Options{})
		for range 100 {
			st := writer.MustSetData(t, "/n", nil, -1)
			calls := reader.SendAll([]wire.Request{wire.Sync("/"), wire.Exists("/n", false)})
			require.NoError(t, calls[1].Wait())
			require.GreaterOrEqual(t, calls[1].Reply.Value.(*proto.StatResponse).Stat.Version, st.Version)
		}
	}
}

// Watches at every server fire for writes at any server, in the order of the txns, and before a reply that shows
// the change.
func TestWatchesFireInOrderEverywhere(t *testing.T) {
	e := embed.Start(t, embed.Options{TickTime: patient, Servers: 3, Observers: 1})
	const znodes = 200
	writer := connect(t, e, 2, wire.Options{})
	type watcher struct {
		*wire.Conn
		events chan wire.Event
	}
	var watchers []watcher
	for _, id := range e.IDs() {
		events := make(chan wire.Event, 3*znodes)
		c := connect(t, e, id, wire.Options{Observe: func(p wire.Packet) {
			if p.Event != nil {
				events <- *p.Event
			}
		}})
		require.NoError(t, c.AddWatch("/", int32(proto.AddWatchPersistentRecursive)))
		watchers = append(watchers, watcher{c, events})
	}
	var reqs []wire.Request
	for i := range znodes {
		path := fmt.Sprintf("/n%03d", i)
		reqs = append(reqs, wire.Create(path, nil, wire.OpenACL, 0), wire.SetData(path, []byte("x"), -1),
			wire.Delete(path, -1))
	}
	for _, call := range writer.SendAll(reqs) {
		require.NoError(t, call.Wait())
	}
	for _, w := range watchers {
		require.NoError(t, w.Sync("/")) // what is answered now is behind all events
		require.Len(t, w.events, 3*znodes)
		var last proto.Zxid
		for i := range 3 * znodes {
			ev := <-w.events
			require.Equal(t, fmt.Sprintf("/n%03d", i/3), ev.Path)
			require.Equal(t, []proto.EventType{proto.EventNodeCreated, proto.EventNodeDataChanged,
				proto.EventNodeDeleted}[i%3], ev.Type)
			require.Greater(t, ev.Zxid, last)
			last = ev.Zxid
		}
	}
}
