package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// A connection holds a limited number of watches. A read that cannot leave its watch fails, so that no client
// believes that it watches a znode when it does not.
func TestWatchesOfOneConnectionAreLimited(t *testing.T) {
	cfg := memConfig()
	cfg.MaxWatches = 3
	s := serveMem(t, cfg, nil)
	c := dialWire(t, s, wire.Options{})
	_, err := c.Create("/a", []byte("x"), 0)
	require.NoError(t, err)
	for _, path := range []string{"/w1", "/w2"} {
		_, err = c.Exists(path, true)
		require.ErrorIs(t, err, proto.ErrNoNode)
	}
	_, _, err = c.GetData("/a", true)
	require.NoError(t, err)
	for _, r := range []wire.Request{wire.Exists("/w3", true), wire.GetData("/", true), wire.GetChildren("/", true),
		wire.AddWatch("/", 1)} {
		rep, err := c.Do(r)
		require.NoError(t, err)
		require.Equal(t, proto.ErrThrottledOp, rep.Header.Err)
		require.Empty(t, rep.Body)
	}
	_, err = c.Children("/a", true) // another watch on a path that is watched
	require.NoError(t, err)
	_, _, err = c.GetData("/", false)
	require.NoError(t, err)
	_, err = c.SetData("/a", nil, -1) // one watch on /a fires, the other stays
	require.NoError(t, err)
	_, err = c.Exists("/w4", true)
	require.ErrorIs(t, err, proto.ErrThrottledOp)
	_, err = c.Do(wire.RemoveWatches("/w1", proto.WatcherAny))
	require.NoError(t, err)
	_, err = c.Exists("/w4", true)
	require.ErrorIs(t, err, proto.ErrNoNode)

	// A client that comes back with more watches than that is not served: it would believe that it watches.
	other := dialWire(t, s, wire.Options{})
	rep, err := other.Do(wire.SetWatches(1, []string{"/a"}, []string{"/b"}, []string{"/c"}))
	require.NoError(t, err)
	require.NoError(t, rep.Err())
	_, err = other.Do(wire.SetWatches(1, []string{}, []string{"/x", "/y", "/z"}, []string{}))
	require.Error(t, err)
	require.NoError(t, other.WaitClosed())
}
