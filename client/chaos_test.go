package client

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto/paths"
)

var (
	chaosSeed = flag.Uint64("client.seed", 0, "seed of the tests with random faults; 0 draws one")
	chaosCuts = flag.Int("client.cuts", cutsDefault(),
		"connections that the fault proxy cuts; thousands take minutes on a busy machine")
)

// cutsDefault is fewer where everything takes longer.
func cutsDefault() int {
	if raceEnabled {
		return 300
	}
	return 1000
}

// seeded returns a source of randomness whose seed is printed.
func seeded(t *testing.T) *rand.Rand {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-client.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// faultProxy forwards connections to a server and cuts each after a random number of bytes, in the middle of
// whatever they are.
type faultProxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup
	cuts     atomic.Int64
	calm     atomic.Bool // cut no more

	mu    sync.Mutex
	rand  *rand.Rand
	conns map[net.Conn]bool
}

func newFaultProxy(t *testing.T, target string, r *rand.Rand) *faultProxy {
	l := require.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &faultProxy{listener: l, target: target, rand: rand.New(rand.NewPCG(r.Uint64(), 2)),
		conns: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.closeAll()
		p.running.Wait()
	})
	return p
}

func (p *faultProxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *faultProxy) addr() string { return p.listener.Addr().String() }

func (p *faultProxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns[near], p.conns[far] = true, true
		up, down := 40+p.rand.Int64N(600), 40+p.rand.Int64N(2000)
		p.mu.Unlock()
		p.running.Go(func() { p.forward(far, near, up) })
		p.running.Go(func() { p.forward(near, far, down) })
	}
}

// forward copies at most limit bytes, unless the proxy is calm, and cuts both connections.
func (p *faultProxy) forward(dst, src net.Conn, limit int64) {
	if _, err := io.CopyN(dst, src, limit); err == nil {
		if p.calm.Load() {
			_, _ = io.Copy(dst, src)
		} else {
			p.cuts.Add(1)
		}
	}
	_ = dst.Close()
	_ = src.Close()
	p.mu.Lock()
	delete(p.conns, src)
	p.mu.Unlock()
}

// Watches of every kind and a cache follow a tree that changes while their connection is cut thousands of times.
// Each must end up with the last state, and nothing may be left behind.
func TestNoWatchIsLostOverThousandsOfReconnectsOnEachServer(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		f := newFake(t)
		chaos(t, f.addr(), "")
		f.with(func() {
			for conn := range f.conns {
				require.Empty(t, conn.persist)
				require.Empty(t, conn.below)
				require.LessOrEqual(t, len(conn.data)+len(conn.child), 3, "one-shot watches of abandoned calls")
			}
		})
	})
	for _, server := range servers(t) {
		t.Run(server, func(t *testing.T) {
			const chroot = "/chaos"
			require.NoError(t, dial(t, server).CreateAll(t.Context(), chroot))
			chaos(t, server, chroot)
			removeTree(t, server, chroot)
		})
	}
}

// chaos lets the watches follow a tree below a chroot of a server.
func chaos(t *testing.T, addr, chroot string) {
	r := seeded(t)
	direct := dial(t, addr+chroot)
	ctx := within(t, 5*time.Minute)
	for _, path := range []string{"/n", "/list", "/tree"} {
		require.Do(direct.Create(ctx, path, number(0), Persistent))(t)
	}
	p := newFaultProxy(t, addr, r)
	c := require.Do(New(p.addr()+chroot, WithBackoff(0, 0)))(t)
	defer c.Close()

	life, stop := context.WithCancel(ctx)
	defer stop()
	var followers sync.WaitGroup
	var seenData, seenList, seenFlip atomic.Int64
	failed := make(chan error, 3)
	follow := func(f func() error) {
		followers.Go(func() {
			if err := f(); err != nil && life.Err() == nil {
				failed <- err
			}
		})
	}
	follow(func() error { // data
		for n, err := range c.Follow(life, "/n") {
			if err != nil {
				return err
			}
			if v := int64(binary.BigEndian.Uint64(n.Data)); v < seenData.Swap(v) {
				return fmt.Errorf("/n went back to %d", v)
			}
		}
		return nil
	})
	follow(func() error { // existence
		for n, err := range c.Follow(life, "/flip") {
			if err != nil {
				return err
			}
			if n.Exists {
				seenFlip.Store(int64(binary.BigEndian.Uint64(n.Data)))
			} else {
				seenFlip.Store(-1)
			}
		}
		return nil
	})
	follow(func() error { // children
		for life.Err() == nil {
			names, _, w, err := c.ChildrenW(life, "/list")
			if SafeToRetry(err) {
				continue
			}
			if err != nil {
				return err
			}
			seenList.Store(int64(len(names)))
			w.Next(life)
			w.Close()
		}
		return nil
	})
	var cache *Cache
	require.NoError(t, Retry(ctx, func(ctx context.Context) (err error) {
		cache, err = c.NewCache(ctx, "/tree")
		return err
	}))
	defer cache.Close()

	round := int64(0)
	change := func() {
		round++
		_, err := direct.Set(ctx, "/n", number(round), AnyVersion)
		require.NoError(t, err)
		if round%2 == 1 {
			_, err = direct.Create(ctx, "/flip", number(round), Persistent)
		} else {
			err = direct.Delete(ctx, "/flip", AnyVersion)
		}
		require.NoError(t, err)
		require.Do(direct.Create(ctx, "/list/x", nil, PersistentSequential))(t)
		if round > 8 {
			require.NoError(t, direct.Delete(ctx, fmt.Sprintf("/list/x%010d", round-9), AnyVersion))
		}
		randomTreeChange(t, ctx, direct, r)
	}
	for p.cuts.Load() < int64(*chaosCuts) {
		change()
		// Sometimes the followers are left to catch up, so that quiet moments are cut too.
		if r.IntN(4) == 0 {
			want := round
			require.Eventually(t, func() bool { return seenData.Load() == want || len(failed) > 0 }, time.Minute,
				100*time.Microsecond, "data")
		}
		require.Empty(t, failed)
	}
	p.calm.Store(true)
	change()
	want := int64(-1)
	if round%2 == 1 {
		want = round
	}
	require.Eventually(t, func() bool { return seenData.Load() == round }, time.Minute, time.Millisecond, "data")
	require.Eventually(t, func() bool { return seenFlip.Load() == want }, time.Minute, time.Millisecond, "existence")
	require.Eventually(t, func() bool { return seenList.Load() == min(round, 8) }, time.Minute,
		time.Millisecond, "children")
	requireSameTree(t, ctx, direct, cache, "/tree")
	require.Empty(t, failed)
	t.Logf("%d connections cut in %d rounds", p.cuts.Load(), round)

	// Nothing is left: the set of the client and the tables of the server are empty.
	cache.Close()
	stop()
	followers.Wait()
	require.Empty(t, failed)
	c.watches.mu.Lock()
	require.Empty(t, c.watches.paths)
	require.Zero(t, c.watches.recursive)
	c.watches.mu.Unlock()
	require.NoError(t, Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// randomTreeChange does one thing below /tree: create, set or delete.
func randomTreeChange(t *testing.T, ctx context.Context, c *Client, r *rand.Rand) {
	t.Helper()
	path := "/tree"
	for range 1 + r.IntN(3) {
		path += fmt.Sprintf("/%c", 'a'+rune(r.IntN(3)))
	}
	var err error
	switch r.IntN(3) {
	case 0:
		_, err = c.Create(ctx, path, number(r.Int64()), Persistent)
	case 1:
		_, err = c.Set(ctx, path, number(r.Int64()), AnyVersion)
	default:
		err = c.Delete(ctx, path, AnyVersion)
	}
	if err != nil && !errors.Is(err, ErrNoNode) && !errors.Is(err, ErrNodeExists) && !errors.Is(err, ErrNotEmpty) {
		require.NoError(t, err)
	}
}

// requireSameTree waits until a cache shows what a client reads.
func requireSameTree(t *testing.T, ctx context.Context, c *Client, k *Cache, root string) {
	t.Helper()
	want := map[string]string{}
	var walk func(path string)
	walk = func(path string) {
		data, _ := require.Do2(c.Get(ctx, path))(t)
		want[path] = string(data)
		names, _ := require.Do2(c.Children(ctx, path))(t)
		for _, name := range names {
			walk(paths.ChildOf(path, name))
		}
	}
	walk(root)
	var got map[string]string
	same := func() bool {
		got = map[string]string{}
		k.View(func(v View) {
			for n := range v.All() {
				got[n.Path] = string(n.Data)
			}
		})
		if len(got) != len(want) {
			return false
		}
		for path, data := range want {
			if d, ok := got[path]; !ok || d != data {
				return false
			}
		}
		return true
	}
	deadline := time.After(time.Minute)
	for !same() {
		select {
		case <-deadline:
			require.Equal(t, want, got, "cache, error %v", k.Err())
		case <-time.After(time.Millisecond):
		}
	}
	requireClosed(t, k)
}

// requireClosed asserts the invariant of a cache: every znode but the root has its parent, which lists it.
func requireClosed(t *testing.T, k *Cache) {
	t.Helper()
	k.View(func(v View) {
		for n := range v.All() {
			if n.Path == k.root {
				continue
			}
			require.Contains(t, v.Children(paths.ParentOf(n.Path)), n.Path[strings.LastIndexByte(n.Path, '/')+1:])
		}
	})
}
