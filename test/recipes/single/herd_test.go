package single_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// releaser is a Hold or a MultiHold.
type releaser interface {
	Context() context.Context
	Release(ctx context.Context) error
}

// grab returns the way to take a lock that several recipes have in common.
func grab[H releaser](lock func(context.Context) (H, error)) func(context.Context) (releaser, error) {
	return func(ctx context.Context) (releaser, error) { return lock(ctx) }
}

// contestant is a session that waits, and how often it was woken and looked.
type contestant struct {
	c      *client.Client
	events atomic.Int32
	looked chan struct{} // at a znode
	listed chan struct{} // the permits of a semaphore
}

func newContestant(t *testing.T) *contestant {
	p := &contestant{looked: make(chan struct{}, 1000), listed: make(chan struct{}, 1000)}
	p.c = dial(t, client.WithHooks(client.Hooks{
		Event: func(client.Event) { p.events.Add(1) },
		End: func(_ context.Context, r client.OpResult) {
			if r.Op == "getData" && r.Err == nil {
				p.looked <- struct{}{}
			}
			if r.Op == "getChildren2" && r.Err == nil && strings.HasSuffix(r.Path, "/leases") {
				p.listed <- struct{}{}
			}
		},
	}))
	return p
}

// Events are counted by session for each release. Where there is no herd exactly one session is woken: the one that
// is granted. The semaphore wakes one more, which may now watch the permits.
func TestReleaseWakesOne(t *testing.T) {
	const n = 8
	for _, tt := range []struct {
		name  string
		queue string // below the root; where each waiter has a child
		lock  func(c *client.Client, root string) func(context.Context) (releaser, error)
		woken func(waiting int) int
	}{
		{"Mutex", "", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewMutex(c, root).Lock)
		}, func(int) int { return 1 }},
		{"RWMutex", "", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewRWMutex(c, root).Lock)
		}, func(int) int { return 1 }},
		{"Latch", "", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewLatch(c, root, "x").Campaign)
		}, func(int) int { return 1 }},
		{"Selector", "", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewSelector(c, root, "x").Campaign)
		}, func(int) int { return 1 }},
		{"MultiMutex", "/a", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewMultiMutex(c, []string{root + "/b", root + "/a"}).Lock)
		}, func(int) int { return 1 }},
		{"Semaphore", "/locks", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewSemaphore(c, root, 1).Acquire)
		}, func(waiting int) int { return min(waiting, 2) }},
		{"SimpleMutex", "-", func(c *client.Client, root string) func(context.Context) (releaser, error) {
			return grab(recipes.NewSimpleMutex(c, root).Lock)
		}, func(waiting int) int { return waiting }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, observer := rootOf(t), dial(t)
			h := do(t, tt.lock(dial(t), root))
			var all sync.WaitGroup
			type grant struct {
				who int
				h   releaser
			}
			grants := make(chan grant, n)
			waiting := map[int]*contestant{}
			for i := range n {
				p := newContestant(t)
				waiting[i] = p
				all.Go(func() {
					h := attempt(t, tt.lock(p.c, root))
					grants <- grant{i, h}
				})
				switch {
				case tt.queue == "/locks": // the holder is not there any more
					awaitChildren(t, observer, root+tt.queue, i+1)
				case tt.queue != "-":
					awaitChildren(t, observer, root+tt.queue, i+2)
				}
				<-p.looked // except for the first of a semaphore this is the look at the one before
				if tt.queue == "-" {
					<-p.looked // the first was whether the znode is the own one
				}
				if tt.queue == "/locks" && i == 0 {
					<-p.listed
				}
			}
			settle := func() (woken []int) {
				for i, p := range waiting {
					require.NoError(t, p.c.Sync(within(t), "/")) // events come before its answer
					if p.events.Swap(0) > 0 {
						woken = append(woken, i)
					}
				}
				return woken
			}
			require.Empty(t, settle(), "nobody was released")
			for k := range n {
				require.NoError(t, h.Release(within(t)))
				g := <-grants
				h = g.h
				if tt.queue == "/locks" && k+1 < n {
					<-waiting[k+1].listed
				}
				woken := settle()
				require.Len(t, woken, tt.woken(n-k), "release %d", k)
				require.Contains(t, woken, g.who)
				delete(waiting, g.who)
				if tt.queue == "-" {
					for _, p := range waiting {
						<-p.looked
						<-p.looked
					}
				}
			}
			require.NoError(t, h.Release(within(t)))
			all.Wait()
		})
	}
}
