package single_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// gauge reads one of the server's figures.
func gauge(t testing.TB, name string) int {
	t.Helper()
	return must.Do(wire.Gauge(address, name, time.Minute))(t)
}

func watchesOf(t testing.TB) int     { return gauge(t, "zk_watch_count") }
func connectionsOf(t testing.TB) int { return gauge(t, "zk_num_alive_connections") }

// tree returns the znodes below a path, relative to it, "" for itself, sorted.
func tree(t testing.TB, c *client.Client, path string) (paths []string) {
	t.Helper()
	require.NoError(t, c.Sync(within(t), "/"))
	var walk func(rel string)
	walk = func(rel string) {
		names, _, err := c.Children(within(t), path+rel)
		if err != nil {
			require.ErrorIs(t, err, client.ErrNoNode)
			return
		}
		paths = append(paths, rel)
		for _, name := range names {
			walk(rel + "/" + name)
		}
	}
	walk("")
	slices.Sort(paths)
	return paths
}

// dialSettled returns a client whose goroutines are all running.
func dialSettled(t *testing.T) *client.Client {
	t.Helper()
	c := dial(t)
	require.NoError(t, c.Sync(within(t), "/"))
	return c
}

// requireTidy waits until nothing is left of what was done below a path but the znodes that belong there.
func requireTidy(t *testing.T, c *client.Client, path string, watches int, running goleak.Option, left []string) {
	t.Helper()
	require.NoError(t, goleak.Find(running))
	require.Eventually(t, func() bool { return watchesOf(t) == watches }, 10*time.Second, 2*time.Millisecond,
		"watches on the server")
	var found []string
	require.Eventually(t, func() bool {
		found = tree(t, c, path)
		return slices.Equal(found, left)
	}, 10*time.Second, 2*time.Millisecond, "znodes: want %v", left)
	require.Equal(t, left, found)
}

// Every recipe, used to the end, given up while it waits, and waiting when its client is closed, leaves no goroutine,
// no watch and no connection, and only the znodes that it is said to leave.
func TestEveryRecipeLeavesNothing(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(habits)) {
		h := habits[name]
		t.Run(name, func(t *testing.T) {
			observer, other := dialSettled(t), dialSettled(t)
			onlyBoth := func() bool { return connectionsOf(t) == 3 } // and the one that asks
			require.Eventually(t, onlyBoth, 10*time.Second, 2*time.Millisecond, "those before have gone")
			root := rootOf(t)
			t.Run("used", func(t *testing.T) {
				c, path := dialSettled(t), root+"/used"
				watches, running := watchesOf(t), goleak.IgnoreCurrent()
				require.NoError(t, h.use(within(t), c, path))
				requireTidy(t, observer, path, watches, running, h.left)
				require.Empty(t, must.Do(c.Ephemerals(within(t), "/"))(t))
				require.NoError(t, c.Close())
			})
			for i, w := range h.waits {
				path := fmt.Sprintf("%s/wait-%d", root, i)
				t.Run("given up "+w.name, func(t *testing.T) {
					c := dialSettled(t)
					before := h.setScene(t, w, other, path)
					watches, running := watchesOf(t), goleak.IgnoreCurrent()
					ctx, cancel := context.WithCancel(within(t))
					ended := begin(t, ctx, w, c, path, watches)
					cancel()
					require.ErrorIs(t, <-ended, context.Canceled)
					requireTidy(t, observer, path, watches, running, before.left)
					before.end()
					require.NoError(t, c.Close())
				})
				t.Run("closed "+w.name, func(t *testing.T) {
					before := h.setScene(t, w, other, path)
					watches, running := watchesOf(t), goleak.IgnoreCurrent()
					c := dial(t)
					ended := begin(t, within(t), w, c, path, watches)
					require.NoError(t, c.Close())
					require.Error(t, <-ended)
					requireTidy(t, observer, path, watches, running, before.left)
					before.end()
				})
			}
			require.Eventually(t, onlyBoth, 10*time.Second, 2*time.Millisecond)
		})
	}
}

// begin starts to wait, and returns once the server has a watch of it.
func begin(t *testing.T, ctx context.Context, w wait, c *client.Client, path string, watches int) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- w.do(ctx, c, path) }()
	require.Eventually(t, func() bool { return watchesOf(t) > watches+w.extra }, 10*time.Second, time.Millisecond,
		"it does not wait")
	return ended
}

// scene is what a client has done that makes others wait.
type scene struct {
	left []string // znodes while it lasts, and no client waits
	end  func()
}

// setScene makes others wait. What a recipe makes by itself when it waits, such as parents, is there already.
func (h *habit) setScene(t *testing.T, w wait, other *client.Client, path string) scene {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	var end func()
	if w.block != nil {
		end = must.Do(w.block(within(t), other, path))(t)
	}
	watches := watchesOf(t)
	c := must.Do(client.Dial(ctx, address))(t)
	ended := begin(t, ctx, w, c, path, watches)
	cancel()
	<-ended
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return watchesOf(t) == watches }, 10*time.Second, time.Millisecond)
	s := scene{left: tree(t, other, path), end: func() {}}
	if end != nil {
		s.end = end
	}
	return s
}

// A recipe that is new must be in the table.
func TestEveryRecipeIsInTheTable(t *testing.T) {
	names := must.Glob(t, filepath.Join("..", "..", "..", "recipes", "*.go"))
	var made []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Do(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "New") {
				made = append(made, strings.TrimPrefix(f.Name.Name, "New"))
			}
		}
	}
	require.ElementsMatch(t, made, slices.Collect(maps.Keys(habits)))
}
