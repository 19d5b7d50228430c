package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// A connection holds a limited number of watches. A read that cannot leave its watch fails, so that no client
// believes that it watches a znode when it does not.
func TestWatchesOfOneConnectionAreLimited(t *testing.T) {
	cfg := memConfig()
	cfg.MaxWatches = 3
	s, c := serveOne(t, cfg)
	must.Do(c.Create("/a", []byte("x"), 0))(t)
	for _, path := range []string{"/w1", "/w2"} {
		require.ErrorIs(t, must.Err(c.Exists(path, true)), proto.ErrNoNode)
	}
	c.MustGetData(t, "/a", true)
	for _, r := range []wire.Request{wire.Exists("/w3", true), wire.GetData("/", true), wire.GetChildren("/", true),
		wire.AddWatch("/", 1)} {
		rep := c.MustDo(t, r)
		require.Equal(t, proto.ErrThrottledOp, rep.Header.Err)
		require.Empty(t, rep.Body)
	}
	must.Do(c.Children("/a", true))(t) // another watch on a path that is watched
	c.MustGetData(t, "/", false)
	must.Do(c.SetData("/a", nil, -1))(t) // one watch on /a fires, the other stays
	require.ErrorIs(t, must.Err(c.Exists("/w4", true)), proto.ErrThrottledOp)
	c.MustDo(t, wire.RemoveWatches("/w1", proto.WatcherAny))
	require.ErrorIs(t, must.Err(c.Exists("/w4", true)), proto.ErrNoNode)

	// A client that comes back with more watches than that is not served: it would believe that it watches.
	other := dialWire(t, s, wire.Options{})
	rep := other.MustDo(t, wire.SetWatches(1, []string{"/a"}, []string{"/b"}, []string{"/c"}))
	require.NoError(t, rep.Err())
	require.Error(t, must.Err(other.Do(wire.SetWatches(1, []string{}, []string{"/x", "/y", "/z"}, []string{}))))
	require.NoError(t, other.WaitClosed())
}

// The paths that a connection watches have a limited number of bytes together, by whatever request the watches come.
// A path counts once, however it is watched, and gives its bytes back when its last watch is gone.
func TestBytesOfWatchesOfOneConnectionAreLimited(t *testing.T) {
	cfg := memConfig()
	cfg.MaxWatchBytes = 300
	s, c := serveOne(t, cfg)
	path := func(name string, n int) string { return "/" + name + strings.Repeat("x", n-1-len(name)) }
	a, b := path("a", 100), path("b", 150)
	c.MustCreate(t, a, []byte("x"), 0)
	c.MustGetData(t, a, true)
	require.ErrorIs(t, must.Err(c.Exists(b, true)), proto.ErrNoNode)
	require.NoError(t, must.Err(c.Children(a, true)), "a path that is watched counts once")
	for _, r := range []wire.Request{wire.Exists(path("c", 51), true), wire.AddWatch(path("c", 51), 1)} {
		require.Equal(t, proto.ErrThrottledOp, c.MustDo(t, r).Header.Err)
	}
	require.NoError(t, must.Err(c.Do(wire.AddWatch(path("d", 50), 1))), "the limit itself is allowed")
	require.Equal(t, 300, watchedBytes(t, s))
	require.ErrorIs(t, must.Err(c.Exists("/", true)), proto.ErrThrottledOp)

	must.Do(c.Create(b, nil, 0))(t) // its watch fires
	c.MustDo(t, wire.RemoveWatches(path("d", 50), proto.WatcherAny))
	require.ErrorIs(t, must.Err(c.Exists(path("c", 200), true)), proto.ErrNoNode)

	// Another connection has a limit of its own, and paths that both watch are stored once.
	other := dialWire(t, s, wire.Options{})
	rep := other.MustDo(t, wire.SetWatches(1, []string{}, []string{path("c", 200), path("e", 100)}, []string{}))
	require.NoError(t, rep.Err())
	require.Equal(t, 400, watchedBytes(t, s))
	for name, brought := range map[string][]string{
		"short": {path("f", 150), path("g", 151)},
		"long":  append(slices.Repeat([]string{path("f", 200)}, 100), path("g", 101)),
	} {
		late := dialWire(t, s, wire.Options{})
		require.Error(t, must.Err(late.Do(wire.SetWatches(1, []string{}, brought, []string{}))), name)
		require.NoError(t, late.WaitClosed(), name)
	}
	other.Close()
	c.Close()
	require.Eventually(t, func() bool { return watchedBytes(t, s) == 0 }, hangGuard,
		10*time.Millisecond)
}

// The watches of all connections have a bounded memory together. Beyond it watches are refused, as at the limits of
// one connection; a connection that has few of them is not refused because others have very many. When the others are
// gone, so is their memory.
func TestMemoryOfAllWatchesIsLimited(t *testing.T) {
	const most = 4 << 20
	cfg := memConfig()
	cfg.MaxWatchMemory = most
	s := serveMem(t, cfg, nil)
	path := func(c, i int) string { return fmt.Sprintf("/%05000d", c*10_000+i) }
	var greedy []*wire.Conn
	refused := 0
	for n := range 20 {
		c := dialWire(t, s, wire.Options{})
		greedy = append(greedy, c)
		for i := 0; ; i++ {
			_, err := c.Exists(path(n, i), true)
			if err != nil && !errors.Is(err, proto.ErrNoNode) {
				require.ErrorIs(t, err, proto.ErrThrottledOp)
				refused++
				break
			}
			require.Less(t, i, most/5000/8+1, "a connection has an eighth at most")
		}
	}
	require.EqualValues(t, refused, gathered(t, s, "warren_server_watches_refused_total"))
	held := gathered(t, s, "warren_server_watch_memory_bytes")
	require.LessOrEqual(t, held, float64(most))
	require.Greater(t, held, float64(most*3/4))

	modest := dialWire(t, s, wire.Options{})
	for i := range 5 {
		require.ErrorIs(t, must.Err(modest.Exists(path(100, i), true)), proto.ErrNoNode, "others leave room")
	}
	var many []string
	for i := range 500 {
		many = append(many, path(200, i))
	}
	for name, paths := range map[string][]string{"long": many, "a name beyond what is left": {path(1, 0) +
		strings.Repeat("x", 500_000)}} {
		late := dialWire(t, s, wire.Options{})
		require.Error(t, must.Err(late.Do(wire.SetWatches(1, nil, paths, nil))), name)
		require.NoError(t, late.WaitClosed(), name)
	}
	for _, c := range greedy {
		c.Close()
	}
	eventually(t, func() bool { return gathered(t, s, "warren_server_watch_memory_bytes") < most/4 },
		"the memory is given back")
	late := dialWire(t, s, wire.Options{})
	require.NoError(t, late.MustDo(t, wire.SetWatches(1, nil, many[:50], nil)).Err())
	eventually(t, func() bool { return watchedBytes(t, s) == 55*5001 }, "all that others watched is given back")
}

// watchedBytes is the metric of that name.
func watchedBytes(t *testing.T, s *Server) int {
	t.Helper()
	return int(gathered(t, s, "warren_server_watch_path_bytes"))
}

// gathered is a metric without labels.
func gathered(t *testing.T, s *Server, name string) float64 {
	t.Helper()
	families := must.Do(s.Registry.Gather())(t)
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	require.GreaterOrEqual(t, i, 0)
	m := families[i].Metric[0]
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}
