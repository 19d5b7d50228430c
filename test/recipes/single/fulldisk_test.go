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

// onFullDisk returns a client of a server whose disk can be filled and emptied; refused is how many of its writes were
// refused. Both wait until the server knows.
func onFullDisk(t *testing.T) (c *client.Client, refused *atomic.Int32, fill, empty func()) {
	t.Helper()
	refused = new(atomic.Int32)
	hooks := client.WithHooks(client.Hooks{End: func(_ context.Context, r client.OpResult) {
		if errors.Is(r.Err, client.ErrNotReadOnly) {
			refused.Add(1)
		}
	}})
	e := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) { c.DiskWatermark.Bytes = 1 << 20 }})
	c, other := dialAt(t, e.Addr(1), hooks), dialAt(t, e.Addr(1))
	await := func(isFull bool) {
		require.Eventually(t, func() bool {
			_, err := other.Create(within(t), "/probe", nil, client.EphemeralSequential)
			return errors.Is(err, client.ErrNotReadOnly) == isFull
		}, time.Minute, time.Millisecond)
	}
	await(false)
	fill = func() { e.Disk(1).SetCapacity(e.Disk(1).Used() + 1<<19); await(true) }
	empty = func() { e.Disk(1).SetCapacity(0); await(false) }
	return c, refused, fill, empty
}

// A release while the disks of the servers are full is carried out when there is room. Otherwise the lock would stay
// held as long as the process of its former holder lives.
func TestReleaseOnAFullDisk(t *testing.T) {
	c, refused, fill, empty := onFullDisk(t)
	q := recipes.NewQueue(c, "/q/items", "/q/locks")
	require.NoError(t, q.Put(within(t), []byte("a")))
	taken := do(t, q.Take)
	mutex, simple := recipes.NewMutex(c, "/m"), recipes.NewSimpleMutex(c, "/s")
	held := do(t, mutex.Lock)
	claimed := do(t, simple.Lock)

	fill()
	ended := make(chan error, 3)
	go func() { ended <- held.Release(within(t)) }()
	go func() { ended <- claimed.Release(within(t)) }()
	go func() { ended <- taken.Done(within(t)) }()
	require.Eventually(t, func() bool { return refused.Load() >= 6 || len(ended) > 0 }, time.Minute, time.Millisecond)
	require.Empty(t, ended)
	empty()
	for range 3 {
		require.NoError(t, <-ended)
	}
	h := do(t, mutex.TryLock)
	require.NoError(t, h.Release(within(t)))
	h = do(t, simple.TryLock)
	require.NoError(t, h.Release(within(t)))
	require.Zero(t, do(t, q.Len))
}

// A member of a group whose new data is refused while the disks are full stays a member, and gets it later.
func TestPersistentNodeOnAFullDisk(t *testing.T) {
	c, refused, fill, empty := onFullDisk(t)
	n := must.Do(recipes.NewGroup(c, "/group").Join(within(t), "one", []byte("old")))(t)
	fill()
	n.Set([]byte("new"))
	require.Eventually(t, func() bool { return refused.Load() >= 2 || n.Err() != nil }, time.Minute, time.Millisecond)
	empty()
	require.Eventually(t, func() bool {
		data, _, err := c.Get(within(t), n.Path())
		return err == nil && string(data) == "new" || n.Err() != nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, n.Err())
	require.NoError(t, n.Close(within(t)))
}

// A candidate that comes while the disks are full leads when there is room.
func TestElectionOnAFullDisk(t *testing.T) {
	c, refused, fill, empty := onFullDisk(t)
	election := recipes.NewLatch(c, "/election", "one")
	h := do(t, election.Campaign)
	require.NoError(t, h.Release(within(t)))
	fill()
	ended := make(chan error, 1)
	go func() {
		ended <- election.Run(within(t), func(context.Context, client.Zxid) error { return nil })
	}()
	require.Eventually(t, func() bool { return refused.Load() >= 2 || len(ended) > 0 }, time.Minute, time.Millisecond)
	require.Empty(t, ended)
	empty()
	require.NoError(t, <-ended)
}
