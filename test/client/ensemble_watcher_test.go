package client_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

// rewriter is the only client that writes a znode, and knows the zxid of every change.
type rewriter struct {
	*testing.T
	c       *client.Client
	path    string
	version int32
	changes []client.Zxid
}

// write changes the znode once and finds out when, whatever becomes of the connection.
func (r *rewriter) write(ctx context.Context) {
	for {
		stat, err := r.c.Set(ctx, r.path, fmt.Append(nil, r.version+1), r.version)
		if err != nil {
			require.NoError(r, client.Retry(ctx, func(ctx context.Context) error {
				if err := r.c.Sync(ctx, r.path); err != nil {
					return err
				}
				var err error
				_, stat, err = r.c.Get(ctx, r.path)
				return err
			}))
		}
		if stat.Version > r.version {
			require.Equal(r, r.version+1, stat.Version)
			r.version, r.changes = stat.Version, append(r.changes, stat.Mzxid)
			return
		}
	}
}

// seen is what one persistent watch has told: zxids of changes, and 0 where something may have been missed.
type seen []client.Zxid

// judge finds events that came twice or in another order, and changes that are missing where the connection has
// lived.
func (s seen) judge(changes []client.Zxid) error {
	last, isWhole := client.Zxid(0), false // all from last on was seen
	for _, z := range s {
		if z == 0 {
			isWhole = false
			continue
		}
		i, ok := slices.BinarySearch(changes, z)
		switch {
		case !ok:
			return fmt.Errorf("event of %v, which changed nothing", z)
		case z <= last:
			return fmt.Errorf("event of %v after that of %v", z, last)
		case isWhole && changes[i-1] != last:
			return fmt.Errorf("event of %v after that of %v: %v is missing", z, last, changes[i-1])
		}
		last, isWhole = z, true
	}
	return nil
}

func TestJudgeOfEvents(t *testing.T) {
	changes := []client.Zxid{2, 4, 6, 8}
	require.NoError(t, seen{4, 6, 0, 8}.judge(changes))
	require.NoError(t, seen{0, 2, 0, 8, 0}.judge(changes))
	require.ErrorContains(t, seen{2, 3}.judge(changes), "changed nothing")
	require.ErrorContains(t, seen{2, 0, 2}.judge(changes), "after")
	require.ErrorContains(t, seen{2, 6}.judge(changes), "missing")
}

// watcher is a client with watches of every kind on one znode, and what they have told.
type watcher struct {
	*testing.T
	c     *client.Client
	path  string
	kinds map[string]*seen
	once  []firing
	all   sync.WaitGroup // the followers
	ended sync.WaitGroup // the one-shot watches
}

// firing is one one-shot watch: the version at which it was set, and the zxid of its event, 0 if it was told after a
// reconnect.
type firing struct {
	version int32
	zxid    client.Zxid
}

func newWatcher(t *testing.T, path string, c *client.Client) *watcher {
	return &watcher{T: t, c: c, path: path, kinds: map[string]*seen{"persistent": {}, "recursive": {}}}
}

// begin sets a persistent and a recursive watch.
func (w *watcher) begin(ctx context.Context) {
	require.NoError(w, client.Retry(ctx, func(ctx context.Context) error { return w.c.Sync(ctx, w.path) }))
	for name, s := range w.kinds {
		mode, at := client.WatchNode, w.path
		if name == "recursive" {
			mode, at = client.WatchSubtree, path.Dir(w.path)
		}
		var watch *client.Watch
		require.NoError(w, client.Retry(ctx, func(context.Context) (err error) {
			watch, err = w.c.Watch(ctx, at, mode)
			return err
		}))
		w.all.Go(func() { w.follow(ctx, name, watch, s) })
	}
}

// follow notes the events of a persistent watch until the client is closed.
func (w *watcher) follow(ctx context.Context, name string, watch *client.Watch, s *seen) {
	for event := range watch.All(ctx) {
		switch event.Type {
		case client.WatchRearmed:
			*s = append(*s, 0)
		case client.NodeDataChanged: // without a zxid if it was missed, and is told because of the one-shot watch
			*s = append(*s, max(event.Zxid, 0))
		case client.WatchLost: // the client is closed
		default:
			w.Errorf("%s: %v", name, event)
		}
	}
}

// rewatch sets a one-shot watch whenever the last has fired, until a version comes that is the last.
func (w *watcher) rewatch(ctx context.Context, final *atomic.Int32) {
	for last := int32(-1); ; {
		var stat client.Stat
		var once *client.Watch
		err := client.Retry(ctx, func(ctx context.Context) (err error) {
			_, stat, once, err = w.c.GetW(ctx, w.path)
			return err
		})
		if err != nil || stat.Version <= last {
			w.Errorf("one-shot: version %d after %d: %v", stat.Version, last, err)
			return
		}
		if last = stat.Version; last == final.Load() {
			once.Close()
			return
		}
		event, ok := once.Next(ctx)
		if !ok || event.Type != client.NodeDataChanged {
			w.Errorf("one-shot at version %d: %v, %v", last, event, ok)
			return
		}
		w.once = append(w.once, firing{last, max(event.Zxid, 0)})
		if event, ok := once.Next(ctx); ok {
			w.Errorf("one-shot: another event %v", event)
		}
	}
}

// judge compares what was told with what has changed: one-shot watches fire for the next change, or for some change
// that was missed.
func (w *watcher) judge(changes []client.Zxid) {
	for name, s := range w.kinds {
		require.NoError(w, s.judge(changes), name)
		require.Equal(w, changes[len(changes)-1], (*s)[len(*s)-1], "%s: the last event", name)
	}
	for _, f := range w.once {
		if next := int(f.version); f.zxid != 0 && (next >= len(changes) || changes[next] != f.zxid) {
			w.Fatalf("one-shot watch of version %d has fired for %v, which was not the next change", f.version, f.zxid)
		}
	}
}
