package client

import (
	"context"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// removalsOf returns the paths that a fake was asked to remove watches from, once everything before has been
// answered.
func removalsOf(t *testing.T, f *fake, c *Client) (paths []string) {
	t.Helper()
	require.NoError(t, c.Sync(within(t, time.Minute), "/"))
	f.with(func() { paths, f.removals = f.removals, nil })
	return paths
}

// The server's watches on a path are removed when no caller wants them any more, and no watch is removed that has
// already ended at the server.
func TestServerIsLeftNoWatchAndAskedForNoMore(t *testing.T) {
	f, c := faked(t)
	ctx := within(t, time.Minute)
	change := func() {
		require.Do(c.Set(ctx, "/n", nil, AnyVersion))(t)
	}
	get := func() *Watch {
		w := armed(c.GetW(ctx, "/n"))(t)
		return w
	}
	persistent := func() *Watch {
		w := require.Do(c.Watch(ctx, "/n", WatchNode))(t)
		return w
	}
	require.Do(c.Create(ctx, "/n", nil, Persistent))(t)
	for _, tt := range []struct {
		name string
		do   func()
		want []string
	}{
		{"one that has fired", func() { w := get(); change(); w.Close() }, nil},
		{"one that has not", func() { get().Close() }, []string{"/n"}},
		{"one that is closed twice", func() { w := get(); w.Close(); w.Close() }, []string{"/n"}},
		{"another of its kind is left", func() { other := get(); get().Close(); change(); other.Close() }, nil},
		{"exists and getData are of one kind", func() {
			w := armed(c.ExistsW(ctx, "/n"))(t)
			other := get()
			w.Close()
			change()
			other.Close()
		}, nil},
		{"another of another kind fires later",
			func() { other, w := get(), persistent(); w.Close(); change(); other.Close() }, []string{"/n"}},
		{"another of another kind is closed later",
			func() { other, w := get(), persistent(); w.Close(); other.Close() }, []string{"/n"}},
		{"the connection is lost in between", func() {
			other, w := get(), persistent()
			w.Close()
			f.cutAll()
			require.NoError(t, Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") }))
			change()
			other.Close()
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.do()
			require.Equal(t, tt.want, removalsOf(t, f, c))
			require.False(t, require.Do(c.HasWatch(ctx, "/n", proto.WatcherAny))(t))
		})
	}
}

// A watch that is dropped after the watches were set on a new connection, and before anything can be asked there,
// is removed as soon as that is possible.
func TestWatchDroppedDuringAReconnectIsRemoved(t *testing.T) {
	s := newWatchSet("")
	var removed []string
	isConnected := true
	s.remove = func(path string) bool {
		if isConnected {
			removed = append(removed, path)
		}
		return isConnected
	}
	w := s.add("/p", watchPersistent, newEventQueue(1), false)
	s.activate(w)
	isConnected = false
	_, n := s.rearm(0, proto.DefaultMaxBuffer)
	require.Equal(t, 1, n)
	w.Close()
	require.Empty(t, removed)
	isConnected = true
	s.connected()
	require.Equal(t, []string{"/p"}, removed)
	s.connected()
	require.Len(t, removed, 1)
}
