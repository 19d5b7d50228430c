package visible

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/test/must"
)

// grove is a tree that a test changes, with the paths that are in it.
type grove struct {
	*Shown
	t     *testing.T
	rng   *rand.Rand
	zxid  proto.Zxid
	paths []string
}

func newGrove(t *testing.T, seed uint64) *grove {
	t.Logf("seed %d", seed)
	cfg := config.Default()
	cfg.SkipACL = true
	e := &env.Env{Config: cfg, Store: env.NewStore(datatree.NewState(datatree.Config{SkipACL: true}))}
	shown := New(&ensemble.Facts{Facts: &facts.Facts{Env: e}}, nil, nil)
	return &grove{Shown: shown, t: t, rng: rand.New(rand.NewPCG(seed, 0)), paths: []string{""}}
}

func (g *grove) apply(op proto.OpCode, body interface{ AppendTo([]byte) []byte }) {
	g.zxid++
	h := proto.TxnHeader{Zxid: g.zxid, Type: op}
	must.Do2(g.Store.State.Apply(body.AppendTo(h.AppendTo(nil)), nil, nil, false))(g.t)
}

func (g *grove) create() string {
	path := fmt.Sprintf("%s/%d", g.paths[g.rng.IntN(len(g.paths))], g.zxid)
	g.apply(proto.OpCreate, &proto.CreateTxn{Path: proto.Text(path), Data: make([]byte, g.rng.IntN(10))})
	g.paths = append(g.paths, path)
	return path
}

// removeLeaf deletes a znode without children, if it finds one soon, and returns its path.
func (g *grove) removeLeaf() string {
	for range 20 {
		i := 1 + g.rng.IntN(len(g.paths)-1)
		path := g.paths[i]
		if id := g.Store.State.Lookup([]byte(path)); g.Store.State.FirstChild(id) == 0 {
			g.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)})
			g.paths = append(g.paths[:i], g.paths[i+1:]...)
			return path
		}
	}
	return ""
}

// count counts the whole tree, and calls between after each hold of the lock.
func (g *grove) count(between func(*count)) *count {
	c := &count{root: "/"}
	for {
		done := must.Do(g.countOn(c))(g.t)
		if done {
			return c
		}
		between(c)
	}
}

// A count of a tree that stays as it is has every znode with its path and data.
func TestCountIsComplete(t *testing.T) {
	g := newGrove(t, 1)
	for range 5_000 {
		g.create()
	}
	c := g.count(func(*count) {})
	state := g.Store.State
	bytes, own := int64(0), preorder{state: state, under: datatree.Root}
	for id := datatree.NodeID(datatree.Root); id != 0; id = own.next(id) {
		bytes += int64(len(state.AppendPath(nil, id)) + len(state.Data(id)))
	}
	require.EqualValues(t, state.NumNodes(), c.mu.result.Znodes)
	require.Equal(t, bytes, c.mu.result.Bytes)
	require.False(t, c.mu.missed)
}

// A count goes on where it was in a tree that changes. It counts no znode twice, and each that was there all the time,
// unless it says that it has missed some.
func TestCountGoesOnWhileTheTreeChanges(t *testing.T) {
	for seed := range uint64(30) {
		g := newGrove(t, seed)
		for range 3_000 {
			g.create()
		}
		stayed, ever := int64(g.Store.State.NumNodes()), int64(g.Store.State.NumNodes())
		old := map[string]bool{}
		for _, path := range g.paths[1:] {
			old[path] = true
		}
		steps := 0
		c := g.count(func(*count) {
			steps++
			for range 100 {
				if g.rng.IntN(2) == 0 {
					g.create()
					ever++
				} else if old[g.removeLeaf()] {
					stayed--
				}
			}
		})
		require.Greater(t, steps, 5)
		require.LessOrEqual(t, c.mu.result.Znodes, ever)
		if !c.mu.missed {
			require.GreaterOrEqual(t, c.mu.result.Znodes, stayed)
		}
	}
}

// If the znode is gone with which the count was to go on, it goes on with the next one, and misses nothing.
func TestCountGoesOnAfterWhatIsGone(t *testing.T) {
	deleted := 0
	for seed := range uint64(30) {
		g := newGrove(t, seed)
		for range 3_000 {
			g.create()
		}
		left := int64(g.Store.State.NumNodes())
		c := g.count(func(c *count) {
			path := ""
			for _, p := range c.next {
				path += "/" + p.name
			}
			if id := g.Store.State.Lookup([]byte(path)); g.Store.State.FirstChild(id) == 0 {
				g.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)})
				left, deleted = left-1, deleted+1
			}
		})
		require.False(t, c.mu.missed)
		require.Equal(t, left, c.mu.result.Znodes)
	}
	require.NotZero(t, deleted)
}
