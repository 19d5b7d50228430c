package single_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// parts is a bundle in which all parts agree, large enough for several transactions.
func parts(value string, n int) map[string][]byte {
	all := map[string][]byte{}
	for i := range n {
		all[fmt.Sprint("p", i)] = bytes.Repeat([]byte(value), 60_000)
	}
	return all
}

// Two publishers, whose links are cut, replace bundles of different sizes. Whatever a reader sees is one of them.
func TestBundleIsNeverSeenHalfChanged(t *testing.T) {
	root := rootOf(t)
	var all, publishers sync.WaitGroup
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var published, superseded, seen atomic.Int32
	for i, value := range []string{"a", "b"} {
		k := newLink(t)
		b := recipes.NewBundle(dialAt(t, k.Addr()), root)
		publishers.Go(func() {
			for round := range 12 {
				if round%5 == 1+i {
					all.Go(func() { k.Shut(); k.Open() })
				}
				switch err := b.Publish(within(t), parts(value, 3+4*i+round%2)); {
				case err == nil:
					published.Add(1)
				case errors.Is(err, recipes.ErrSuperseded):
					superseded.Add(1)
				default:
					t.Errorf("publish: %v", err)
				}
			}
		})
	}
	var latest [3]atomic.Int64 // that each reader has seen
	for i := range latest {
		k := newLink(t)
		b := recipes.NewBundle(dialAt(t, k.Addr()), root)
		all.Go(func() {
			var last client.Zxid
			for p, err := range b.Follow(ctx) {
				if !assert.NoError(t, err, "follow") {
					return
				}
				n := len(p.Parts)
				value := string(p.Parts["p0"][:1])
				assert.Equal(t, n == 3 || n == 4, value == "a", "%d parts of %s", n, value)
				for name, data := range p.Parts {
					assert.True(t, bytes.Equal(data, bytes.Repeat([]byte(value), 60_000)),
						"part %s of %s is of another bundle", name, value)
				}
				assert.Greater(t, p.Zxid, last)
				last = p.Zxid
				latest[i].Store(int64(last))
				if seen.Add(1)%4 == 0 {
					k.Shut()
					k.Open()
				}
			}
		})
	}
	publishers.Wait()
	final := recipes.NewBundle(dial(t), root)
	require.NoError(t, final.Publish(within(t), parts("a", 4)))
	p := do(t, final.Read)
	require.Equal(t, parts("a", 4), p.Parts)
	for i := range latest {
		require.Eventually(t, func() bool { return latest[i].Load() == int64(p.Zxid) }, time.Minute, time.Millisecond,
			"reader %d sees the last publication", i)
	}
	cancel()
	all.Wait()
	t.Logf("%d published, %d superseded, %d seen", published.Load(), superseded.Load(), seen.Load())
	require.Positive(t, seen.Load())
}

// A publisher died on the way: readers wait, and the next publisher repairs it.
func TestBundleReadersWaitForAWholePublication(t *testing.T) {
	root, c := rootOf(t), dial(t)
	b := recipes.NewBundle(c, root)
	require.NoError(t, b.Publish(within(t), map[string][]byte{"x": []byte("1"), "y": []byte("1")}))
	require.NoError(t, c.Delete(within(t), root+"/ready", -1))
	must.Do(c.Set(within(t), root+"/x", []byte("2"), -1))(t)
	got := make(chan recipes.Publication)
	var all sync.WaitGroup
	all.Go(func() {
		got <- attempt(t, recipes.NewBundle(dial(t), root).Read)
	})
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	require.ErrorIs(t, must.Err(b.Read(ctx)), context.Canceled)
	require.NoError(t, b.Publish(within(t), map[string][]byte{"y": []byte("3")}))
	require.Equal(t, map[string][]byte{"y": []byte("3")}, (<-got).Parts)
	all.Wait()
	require.ElementsMatch(t, []string{"y", "ready"}, names(t, c, root))
	require.ErrorIs(t, b.Publish(within(t), map[string][]byte{"ready": nil}), client.ErrBadArguments)
}

// A publication with a part whose name or size no znode can have is refused before it takes away the one that readers
// see.
func TestBundleRefusesImpossibleParts(t *testing.T) {
	b := recipes.NewBundle(dial(t), rootOf(t))
	require.NoError(t, b.Publish(within(t), map[string][]byte{"a": []byte("1")}))
	for _, name := range []string{"", "b/c", "..", "ready"} {
		err := b.Publish(within(t), map[string][]byte{"a": []byte("2"), name: nil})
		require.ErrorIs(t, err, client.ErrBadArguments, name)
	}
	err := b.Publish(within(t), map[string][]byte{"a": []byte("2"), "b": make([]byte, 1<<20)})
	require.ErrorIs(t, err, client.ErrTooLarge)
	ctx, cancel := context.WithTimeout(within(t), 10*time.Second)
	defer cancel()
	require.Equal(t, map[string][]byte{"a": []byte("1")}, must.Do(b.Read(ctx))(t).Parts)
}
