package client

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

func TestCacheFollowsSubtreeOnEachServer(t *testing.T) {
	eachServer(t, func(t *testing.T, connect string) {
		r := seeded(t)
		c, direct := dial(t, connect), dial(t, connect)
		ctx := within(t, time.Minute)
		require.NoError(t, direct.CreateAll(ctx, "/tree"))
		for range 50 {
			randomTreeChange(t, ctx, direct, r)
		}
		k := require.Do(c.NewCache(ctx, "/tree"))(t)
		defer k.Close()
		require.False(t, k.isOld)
		for range 10 {
			for range 20 {
				randomTreeChange(t, ctx, direct, r)
			}
			requireSameTree(t, ctx, direct, k, "/tree")
		}
		requireFeed(t, k)
	})
}

// requireFeed asserts that the changes of a quiet cache, applied in order, give what it shows.
func requireFeed(t *testing.T, k *Cache) {
	t.Helper()
	want := map[string]string{}
	k.View(func(v View) {
		for n := range v.All() {
			want[n.Path] = string(n.Data)
		}
		require.Len(t, want, k.lenLocked())
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := map[string]string{}
	for ch := range k.Changes(ctx) {
		if ch.Type == NodeDeleted {
			delete(got, ch.Node.Path)
		} else {
			got[ch.Node.Path] = string(ch.Node.Data)
		}
		if maps.Equal(want, got) {
			time.AfterFunc(50*time.Millisecond, cancel) // and nothing more
		}
	}
	require.Equal(t, want, got)
}

func (k *Cache) lenLocked() int { return len(k.nodes) }

func TestCacheOnOldServer(t *testing.T) {
	r := seeded(t)
	f := newFake(t)
	f.isOld = true
	c, direct := dial(t, f.addr()), dial(t, f.addr())
	ctx := within(t, time.Minute)
	k := require.Do(c.NewCache(ctx, "/tree"))(t) // which does not exist yet
	defer k.Close()
	require.True(t, k.isOld)
	require.Zero(t, k.Len())
	require.Do(direct.Create(ctx, "/tree", nil, Persistent))(t)
	for i := range 20 {
		for range 10 {
			randomTreeChange(t, ctx, direct, r)
		}
		if i%5 == 4 {
			f.cutAll()
		}
		require.NoError(t, Retry(ctx, func(ctx context.Context) error { return direct.Sync(ctx, "/") }))
		requireSameTree(t, ctx, direct, k, "/tree")
	}
	requireFeed(t, k)
}

// A root that the client may not read is left out, as with persistent watches. It is shown when it can be read and has
// changed.
func TestCacheOfSecretRootOnOldServer(t *testing.T) {
	f := newFake(t)
	f.isOld, f.secret = true, "/tree"
	c := dial(t, f.addr())
	ctx := within(t, time.Minute)
	require.NoError(t, c.CreateAll(ctx, "/tree/a"))
	asked := 0
	f.with(func() { f.onRequest = func(proto.OpCode, int) bool { asked++; return asked < 100 } })
	k := require.Do(c.NewCache(ctx, "/tree"))(t)
	defer k.Close()
	require.Zero(t, k.Len())
	f.with(func() { f.secret = "" })
	require.Do(c.Set(ctx, "/tree", nil, AnyVersion))(t)
	requireSameTree(t, ctx, c, k, "/tree")
}

func TestCacheChangesTellEverything(t *testing.T) {
	_, c := faked(t)
	ctx := within(t, time.Minute)
	require.NoError(t, c.CreateAll(ctx, "/tree/a"))
	k := require.Do(c.NewCache(ctx, "/tree"))(t)
	changes := make(chan Change)
	life, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ch := range k.Changes(life) {
			changes <- ch
		}
	}()
	want := func(typ EventType, path string) {
		t.Helper()
		select {
		case ch := <-changes:
			require.Equal(t, typ, ch.Type)
			require.Equal(t, path, ch.Node.Path)
		case <-ctx.Done():
			t.Fatal("no change")
		}
	}
	want(NodeCreated, "/tree")
	want(NodeCreated, "/tree/a")
	require.Do(c.Set(ctx, "/tree/a", []byte("x"), AnyVersion))(t)
	want(NodeDataChanged, "/tree/a")
	require.NoError(t, c.Delete(ctx, "/tree/a", AnyVersion))
	want(NodeDeleted, "/tree/a")
	k.Close() // ends the range
	<-done
	stop()
	require.ErrorIs(t, k.Err(), ErrClosed)
}

func TestCacheIsBounded(t *testing.T) {
	_, c := faked(t)
	ctx := within(t, time.Minute)
	require.NoError(t, c.CreateAll(ctx, "/tree"))
	require.ErrorIs(t, require.Err(c.NewCache(ctx, "/tree", WithCacheBytes(100))), ErrCacheFull)
	k := require.Do(c.NewCache(ctx, "/tree", WithCacheBytes(1000)))(t)
	require.Do(c.Set(ctx, "/tree", make([]byte, 2000), AnyVersion))(t)
	<-k.Done()
	require.ErrorIs(t, k.Err(), ErrCacheFull)
	k.Close()
	c.watches.mu.Lock()
	defer c.watches.mu.Unlock()
	require.Empty(t, c.watches.paths)
}

func TestCacheEndsWithSession(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	k := require.Do(c.NewCache(ctx, "/"))(t)
	f.expireAll()
	<-k.Done()
	require.ErrorIs(t, k.Err(), ErrSessionExpired)
}

func TestCacheOutlivesRenewedSession(t *testing.T) {
	f, c := faked(t, WithRenewal(nil))
	direct := dial(t, f.addr(), WithRenewal(nil))
	ctx := within(t, time.Minute)
	require.NoError(t, c.CreateAll(ctx, "/tree/a"))
	k := require.Do(c.NewCache(ctx, "/tree"))(t)
	defer k.Close()
	for range 5 {
		f.expireAll()
		for {
			_, err := direct.Create(ctx, "/tree/b-", nil, PersistentSequential)
			if err == nil {
				break
			}
			require.True(t, errors.Is(err, ErrSessionExpired) || errors.Is(err, ErrConnectionLoss), "%v", err)
		}
		requireSameTree(t, ctx, direct, k, "/tree")
	}
}
