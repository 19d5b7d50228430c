package single_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// withQuota returns a client of a server that enforces quotas, how many of its writes a quota has refused, and a
// function that gives the znode /q a quota in znodes, itself among them, and in bytes; -1 is none.
func withQuota(t *testing.T) (c *client.Client, refused *atomic.Int32, limit func(limits string)) {
	t.Helper()
	refused = new(atomic.Int32)
	hooks := client.WithHooks(client.Hooks{End: func(_ context.Context, r client.OpResult) {
		if errors.Is(r.Err, client.ErrQuotaExceeded) {
			refused.Add(1)
		}
	}})
	e := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) { c.EnforceQuota = true }})
	c = dialAt(t, e.Addr(1), hooks)
	for _, path := range []string{"/q", "/zookeeper/quota/q"} {
		must.Do(c.Create(within(t), path, nil, client.Persistent))(t)
	}
	const limits, used = "/zookeeper/quota/q/zookeeper_limits", "/zookeeper/quota/q/zookeeper_stats"
	must.Do(c.Create(within(t), limits, []byte("count=-1,bytes=-1"), client.Persistent))(t)
	must.Do(c.Create(within(t), used, []byte("count=1,bytes=0"), client.Persistent))(t)
	return c, refused, func(text string) {
		must.Do(c.Set(within(t), limits, []byte(text), client.AnyVersion))(t)
	}
}

const (
	noQuota  = "count=-1,bytes=-1"
	noZnodes = "count=-1,bytes=-1;countHardLimit=1"
	noBytes  = "count=-1,bytes=-1;byteHardLimit=4"
)

// A member of a group whose new data exceeds a quota stays a member, and gets it when there is room.
func TestPersistentNodeAboveAQuota(t *testing.T) {
	c, refused, limit := withQuota(t)
	n := must.Do(recipes.NewGroup(c, "/q").Join(within(t), "one", []byte("old")))(t)
	limit(noBytes)
	n.Set([]byte("much more than that"))
	require.Eventually(t, func() bool { return refused.Load() >= 2 || n.Err() != nil }, time.Minute, time.Millisecond)
	require.NoError(t, n.Err())
	limit(noQuota)
	awaitData(t, c, n.Path(), "much more than that", 0)
	require.NoError(t, n.Err())
	require.NoError(t, n.Close(within(t)))
}

// A member that comes while there is no room is listed when there is; one that does not wait so long is told why.
func TestMemberComesAboveAQuota(t *testing.T) {
	c, refused, limit := withQuota(t)
	limit(noZnodes)
	n := recipes.NewPersistentNode(c, "/q/one", nil)
	require.Eventually(t, func() bool { return refused.Load() >= 2 || n.Err() != nil }, time.Minute, time.Millisecond)
	short, cancel := context.WithCancel(within(t))
	cancel()
	err := n.AwaitCreated(short)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, client.ErrQuotaExceeded)
	limit(noQuota)
	require.NoError(t, n.AwaitCreated(within(t)))
	require.NoError(t, n.Close(within(t)))
}

// A candidate that comes while a quota is used up leads when there is room.
func TestElectionAboveAQuota(t *testing.T) {
	c, refused, limit := withQuota(t)
	limit(noZnodes)
	ended := make(chan error, 1)
	lead := func(context.Context, client.Zxid) error { return nil }
	go func() { ended <- recipes.NewLatch(c, "/q", "one").Run(within(t), lead) }()
	require.Eventually(t, func() bool { return refused.Load() >= 2 || len(ended) > 0 }, time.Minute, time.Millisecond)
	require.Empty(t, ended)
	limit(noQuota)
	require.NoError(t, <-ended)
}
