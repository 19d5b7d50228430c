package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

const configZnode = "/zookeeper/config"

// changing is an ensemble of three and a server that may join. A client with the super user's password may
// reconfigure it.
func changing(t *testing.T) *embed.Ensemble {
	t.Helper()
	e := embed.Start(t, embed.Options{Servers: 3, Joiners: 1, TickTime: patient,
		Configure: func(_ int, c *config.Config) {
			c.ReconfigEnabled, c.SuperDigest = true, "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
		}})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	return e
}

// super opens a session of the super user.
func super(t *testing.T, e *embed.Ensemble, id int) *wire.Conn {
	t.Helper()
	c := connect(t, e, id, wire.Options{})
	require.NoError(t, c.Auth("digest", "super:test"))
	return c
}

func code(t *testing.T, c *wire.Conn, r wire.Request) proto.ErrCode {
	t.Helper()
	reply := c.MustDo(t, r)
	return reply.Header.Err
}

// The first violated rule decides about the error. Source: quorum-protocol 11.4, client-protocol 11.3.
func TestReconfigErrors(t *testing.T) {
	e := changing(t)
	down := e.IDs()[3]
	e.Stop(down)
	leader := leaderOf(t, e)
	follower := leader%3 + 1
	joiner := e.Line(down)
	stranger := connect(t, e, leader, wire.Options{})
	// The error is NoAuth until the leader has seen that the stopped server is gone.
	require.Eventually(t, func() bool {
		return code(t, stranger, wire.Reconfig("", "", joiner, -1)) == proto.ErrNewConfigNoQuorum
	}, 10*time.Second, time.Millisecond)
	for _, id := range []int{leader, follower} {
		nobody, root := connect(t, e, id, wire.Options{}), super(t, e, id)
		for name, tc := range map[string]struct {
			r    wire.Request
			want proto.ErrCode
		}{
			"version first":  {wire.Reconfig("", "x", "", 1), proto.ErrBadVersion},
			"no id":          {wire.Reconfig("", "x", "", -1), proto.ErrBadArguments},
			"no line":        {wire.Reconfig("server.9", "", "", -1), proto.ErrBadArguments},
			"no client port": {wire.Reconfig("server.9=127.0.0.1:1:2", "", "", -1), proto.ErrBadArguments},
			"a place that is taken": {wire.Reconfig("server.9="+strings.SplitN(e.Line(1), "=", 2)[1], "", "", -1),
				proto.ErrBadArguments},
			"nobody is left": {wire.Reconfig("", "1,2,3", "", -1), proto.ErrBadArguments},
			"two addresses": {wire.Reconfig("server.9=127.0.0.1:1:2|127.0.0.2:1:2;3", "", "", -1),
				proto.ErrBadArguments},
			"other settings": {wire.Reconfig("", "", e.Line(1)+",tickTime=1", -1), proto.ErrBadArguments},
			"a voter in no group": {wire.Reconfig("", "", e.Line(1)+"\n"+e.Line(2)+"\ngroup.1=1", -1),
				proto.ErrBadArguments},
			"who is not there": {wire.Reconfig("", "", joiner, -1), proto.ErrNewConfigNoQuorum},
			"a majority is not there": {wire.Reconfig("server.8=127.0.0.1:1:2;3,server.9=127.0.0.1:4:5;6,"+joiner, "",
				"", -1), proto.ErrNewConfigNoQuorum},
		} {
			require.Equal(t, tc.want, code(t, nobody, tc.r), name)
			require.Equal(t, tc.want, code(t, root, tc.r), name)
		}
		require.Equal(t, proto.ErrNoAuth, code(t, nobody, wire.Reconfig("", "", "", -1)))
		require.Equal(t, proto.OK, code(t, root, wire.SetACL(configZnode, wire.OpenACL, -1)))
		require.Equal(t, proto.OK, code(t, nobody, wire.Reconfig("", "", "", -1)),
			"who may write the znode may change the ensemble")
		require.Equal(t, proto.OK, code(t, root, wire.SetACL(configZnode,
			[]proto.ACL{{Perms: proto.PermRead, Id: proto.ID{Scheme: proto.Text("world"),
				Id: proto.Text("anyone")}}}, -1)))
	}
}

// Requests behind a reconfiguration wait for it, in their order. A second reconfiguration is refused.
func TestWritesAroundReconfig(t *testing.T) {
	e := changing(t)
	for _, id := range e.IDs() {
		c := super(t, e, id)
		var reqs []wire.Request
		const writes = 40
		for i := range writes {
			reqs = append(reqs, wire.Create(fmt.Sprintf("/%d-a%02d", id, i), nil, wire.OpenACL, 0))
		}
		reqs = append(reqs, wire.Reconfig("", "", "", -1), wire.Reconfig("", "", "", -1))
		for i := range writes {
			reqs = append(reqs, wire.Create(fmt.Sprintf("/%d-b%02d", id, i), nil, wire.OpenACL, 0))
		}
		last := proto.Zxid(0)
		for i, call := range c.SendAll(reqs) {
			require.NoError(t, call.Wait())
			want := proto.OK
			if i == writes+1 {
				want = proto.ErrReconfigInProgress
			}
			require.Equal(t, want, call.Reply.Header.Err, i)
			require.Greater(t, call.Reply.Header.Zxid, last, "each is a txn behind the one before")
			last = call.Reply.Header.Zxid
		}
		require.Equal(t, proto.OK, code(t, c, wire.Reconfig("", "", "", -1)), "the first one is committed")
	}
	require.NoError(t, e.WaitEqual(within(t)))
}

// The reply is the znode after the reconfiguration, a watch fires at every server, and the version is that of the
// znode.
func TestReconfigIsSeen(t *testing.T) {
	e := changing(t)
	leader, _, _ := roles(t, e)
	var watchers []*wire.Conn
	events := make([]chan wire.Event, len(e.IDs()))
	for i, id := range e.IDs() {
		events[i] = make(chan wire.Event, 1)
		c := connect(t, e, id, wire.Options{Observe: func(p wire.Packet) {
			if p.Event != nil {
				events[i] <- *p.Event
			}
		}})
		require.Equal(t, proto.OK, code(t, c, wire.GetData(configZnode, true)))
		watchers = append(watchers, c)
	}
	c := super(t, e, leader)
	data, stat := c.MustGetData(t, configZnode, false)
	require.Contains(t, string(data), fmt.Sprintf("\nversion=%x", int64(stat.Mzxid)))
	reply := c.MustDo(t, wire.Reconfig(e.Line(4), "", "", int64(stat.Mzxid)))
	require.Equal(t, proto.OK, reply.Header.Err)
	got := reply.Value.(*proto.GetDataResponse)
	want := fmt.Sprintf("%s\n%s\n%s\n%s\nversion=%x", e.Line(1), e.Line(2), e.Line(3), e.Line(4),
		int64(reply.Header.Zxid))
	require.Equal(t, want, string(got.Data))
	require.EqualValues(t, -1, got.Stat.Version)
	require.Equal(t, reply.Header.Zxid, got.Stat.Mzxid)
	for i, w := range watchers {
		select {
		case ev := <-events[i]:
			require.Equal(t, wire.Event{Type: proto.EventNodeDataChanged, Path: configZnode, Zxid: reply.Header.Zxid},
				ev, i)
		case <-within(t).Done():
			require.Fail(t, "no event", "server %d", i+1)
		}
		require.NoError(t, w.Sync(configZnode))
		data, _ := w.MustGetData(t, configZnode, false)
		require.Equal(t, want, string(data), i)
		require.Contains(t, wire.MustFourLetter(t, e.Addr(i+1), "conf", time.Minute), "membership: \n"+want)
		require.Contains(t, wire.MustFourLetter(t, e.Addr(i+1), "mntr", time.Minute), "zk_quorum_size\t4\n", i)
	}
	require.Equal(t, proto.ErrBadVersion, code(t, c, wire.Reconfig("", "4", "", int64(stat.Mzxid))),
		"it was of the version before")
}

func TestReconfigOfAStandaloneServer(t *testing.T) {
	e := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) {
		c.ReconfigEnabled, c.SkipACL = true,
			true
	}})
	require.Equal(t, proto.ErrUnimplemented, code(t, connect(t, e, 1, wire.Options{}), wire.Reconfig("", "", "", -1)))
}
