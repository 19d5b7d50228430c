package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestRepliesBehindWritesAreBoundedForASlowReader(t *testing.T) {
	s, other := serveOne(t, memConfig())
	other.MustCreate(t, "/big", make([]byte, 100<<10), proto.ModePersistent)
	nc := dialRaw(t, s)
	require.NoError(t, nc.SetReadBuffer(4096))
	hello(t, nc, wire.Options{TimeoutMs: 60_000})
	// Every burst is one write and reads behind it, which the applier answers.
	burst := frame(nil, 1, wire.SetData("/zookeeper/config", nil, 77))
	const reads = 50
	for range reads {
		burst = frame(burst, 2, wire.GetData("/big", false))
	}
	most := 0
	for range 30 {
		must.Do(nc.Write(burst))(t)
		for range 3 {
			require.NoError(t, other.Sync("/"))
			other.MustSetData(t, "/", nil, -1)
		}
		s.front.Conns.Each(func(c *serve.Conn) {
			most = max(most, c.View().Unsent)
		})
	}
	require.Less(t, most, 1<<20+2*reads*(101<<10), "the server stops serving a client that takes nothing")
}

// ACL entries of the scheme auth may expand a txn up to jute.maxbuffer plus jute.maxbuffer.extrasize.
func TestLargeMultiMayStillNameAnACL(t *testing.T) {
	cfg := memConfig()
	cfg.JuteMaxBuffer, cfg.JuteMaxBufferExtra = 4<<20, 1024
	_, c := serveOne(t, cfg)
	require.NoError(t, c.MustDo(t, wire.Auth("digest", []byte(strings.Repeat("u", 200)+":p"))).Err())
	own := []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("auth")}}}
	many := []proto.ACL{}
	for perms := int32(1); perms <= proto.PermAll; perms++ {
		many = append(many, proto.ACL{Perms: perms, Id: own[0].Id})
	}
	for _, run := range []struct {
		acl  []proto.ACL
		size int
		ok   bool
	}{{own, 3 << 20, true}, {many, 4<<20 - 5000, false}} {
		slots := must.Do(c.Multi(wire.Create("/large", make([]byte, run.size), wire.OpenACL, proto.ModePersistent),
			wire.Create("/small", nil, run.acl, proto.ModePersistent), wire.Delete("/large", -1),
			wire.Delete("/small", -1)))(t)
		want := proto.OK
		if !run.ok {
			want = proto.ErrInvalidACL
		}
		require.Equal(t, want, slots[1].Err, "%d bytes", run.size)
	}
}

func TestRefusedRequestsGiveTheLargeBudgetBack(t *testing.T) {
	cfg := memConfig()
	cfg.LargeRequestThreshold, cfg.LargeRequestMaxBytes = 5, 10_000
	cfg.EnforceAuth.Enabled, cfg.EnforceAuth.Schemes = true, []string{"digest"}
	s := serveMem(t, cfg, nil)
	for range 5 {
		c := dialWire(t, s, wire.Options{})
		rep := c.MustDo(t, wire.Create("/n", make([]byte, 4000), wire.OpenACL, proto.ModePersistent))
		require.ErrorIs(t, rep.Err(), proto.ErrSessionClosedRequireAuth)
		require.NoError(t, c.WaitClosed())
		require.Zero(t, s.Large.Used())
	}
	c := dialWire(t, s, wire.Options{})
	require.NoError(t, c.Auth("digest", "a:b"))
	c.MustCreate(t, "/n", make([]byte, 4000), proto.ModePersistent)
	require.Zero(t, s.Large.Used())
	require.Error(t, must.Err(c.Create("/m", make([]byte, 20_000), proto.ModePersistent)))
	require.NoError(t, c.WaitClosed())
	require.Zero(t, s.Large.Used())
}

func TestIdentitiesOfAConnectionAreBounded(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	const identities, bytes = 1024, 1 << 20
	for name, size := range map[string]int{"many": 10, "large": 200 << 10} {
		t.Run(name, func(t *testing.T) {
			c := dialWire(t, s, wire.Options{})
			n := 0
			for ; n < 2*identities; n++ {
				if err := c.Auth("digest", fmt.Sprintf("%0*d:p", size, n)); err != nil {
					require.ErrorIs(t, err, proto.ErrAuthFailed)
					break
				}
				require.NoError(t, c.Auth("digest", fmt.Sprintf("%0*d:p", size, n)), "the same again costs nothing")
			}
			require.NoError(t, c.WaitClosed())
			require.Equal(t, min(identities-1, bytes/size), n)
		})
	}
}
