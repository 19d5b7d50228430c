package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/seed94657493/warren/proto"
)

// WatchMode is how much of the tree a persistent watch covers.
type WatchMode int32

// The modes of persistent watches.
const (
	// WatchNode reports changes of the znode and of its list of children.
	WatchNode = WatchMode(proto.AddWatchPersistent)
	// WatchSubtree reports changes of the znode and of everything below it; it never reports NodeChildrenChanged.
	WatchSubtree = WatchMode(proto.AddWatchPersistentRecursive)
)

// watchCall prepares a read that sets a one-shot watch.
func (c *Client) watchCall(op proto.OpCode, path string, kind watchKind, to []Receiver) (*call, *Watch, error) {
	cl, err := c.pathCall(op, path)
	if err != nil {
		return nil, nil, err
	}
	switch len(to) {
	case 0:
		cl.watch = c.watches.add(path, kind, nil, false)
	case 1:
		cl.watch = c.watches.add(path, kind, to[0], true)
	default:
		cl.release()
		return nil, nil, invalid(op, path, fmt.Errorf("more than one Receiver: %w", ErrBadArguments))
	}
	return cl, cl.watch, nil
}

// GetW is Get that also sets a one-shot watch on the znode's data. Ctx bounds the call, not the watch. If a
// Receiver is given it gets the event, and the Watch has no channel. More than one is ErrBadArguments. The same holds
// for ExistsW and ChildrenW.
func (c *Client) GetW(ctx context.Context, path string, to ...Receiver) ([]byte, Stat, *Watch, error) {
	cl, w, err := c.watchCall(proto.OpGetData, path, watchData, to)
	got, err := await(ctx, c, cl, err, readData)
	if err != nil {
		return nil, Stat{}, nil, err
	}
	return got.Data, got.Stat, w, nil
}

// ExistsW is Exists that also sets a one-shot watch, on the znode or on its creation. Ctx bounds the call, not
// the watch.
func (c *Client) ExistsW(ctx context.Context, path string, to ...Receiver) (Stat, bool, *Watch, error) {
	cl, w, err := c.watchCall(proto.OpExists, path, watchData, to)
	stat, err := await(ctx, c, cl, err, readStat)
	switch {
	case errors.Is(err, ErrNoNode):
		return Stat{}, false, w, nil
	case err != nil:
		return Stat{}, false, nil, err
	}
	return stat, true, w, nil
}

// ChildrenW is Children that also sets a one-shot watch on the list of children. Ctx bounds the call, not the watch.
func (c *Client) ChildrenW(ctx context.Context, path string, to ...Receiver) ([]string, Stat, *Watch, error) {
	cl, w, err := c.watchCall(proto.OpGetChildren2, path, watchChild, to)
	got, err := await(ctx, c, cl, err, readChildren)
	if err != nil {
		return nil, Stat{}, nil, err
	}
	return got.Names, got.Stat, w, nil
}

// Watch sets a persistent watch; the znode need not exist. The watch lives until ctx ends or Close is called.
// Errors: ErrUnimplemented from servers before 3.6, which also cut the connection.
func (c *Client) Watch(ctx context.Context, path string, mode WatchMode) (*Watch, error) {
	return c.watchFor(ctx, ctx, path, mode, newEventQueue(c.cfg.watchQueue))
}

// watchFor sets a persistent watch that lives as long as the context life. Ctx bounds the call.
func (c *Client) watchFor(ctx, life context.Context, path string, mode WatchMode, queue *eventQueue) (*Watch, error) {
	cl, err := c.versionCall(proto.OpAddWatch, path, int32(mode))
	if err != nil {
		return nil, err
	}
	kind := watchPersistent
	if mode == WatchSubtree {
		kind = watchRecursive
	}
	w := c.watches.add(path, kind, queue, false)
	cl.watch = w
	if _, err := await(ctx, c, cl, nil, readNothing); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(life, func() { c.watches.drop(w, true) })
	c.watches.tie(w, queue, stop)
	return w, nil
}

// removeQuietly asks the server, without waiting, to forget the watches of a path, which is with the chroot. It
// returns false without a connection.
func (c *Client) removeQuietly(path string) bool {
	st := c.s.now.Load()
	if st.conn == nil {
		return false
	}
	cl := c.newCall(proto.OpRemoveWatches, path)
	cl.chroot, cl.version = "", int32(proto.WatcherAny)
	cl.state.Store(callAbandoned)
	st.conn.pushQuietly(cl)
	return true
}

// HasWatch asks the server whether this connection has a watch on the path.
func (c *Client) HasWatch(ctx context.Context, path string, t WatcherType) (bool, error) {
	cl, err := c.versionCall(proto.OpCheckWatches, path, int32(t))
	_, err = await(ctx, c, cl, err, readNothing)
	if errors.Is(err, ErrNoWatcher) {
		return false, nil
	}
	return err == nil, err
}

// RemoveWatches removes all watches of a type from a path, on the server and in this client, where they end
// without an event. Watch.Close ends a single watch. Errors: ErrNoWatcher.
func (c *Client) RemoveWatches(ctx context.Context, path string, t WatcherType) error {
	cl, err := c.versionCall(proto.OpRemoveWatches, path, int32(t))
	_, err = await(ctx, c, cl, err, readNothing)
	return err
}

// Node is a znode at one moment.
type Node struct {
	Path   string
	Data   []byte
	Stat   Stat
	Exists bool
}

// Follow ranges over the states of a znode: the current one, then every later one that the client sees, whether the
// znode exists or not. It may skip states in quick succession, but never the last one. The range ends with an error,
// or when ctx ends. With WithRenewal it goes on under the next session.
func (c *Client) Follow(ctx context.Context, path string) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		for {
			n, w, err := c.look(ctx, path)
			if err != nil {
				if ctx.Err() == nil {
					yield(Node{Path: path}, err)
				}
				return
			}
			if !yield(n, nil) {
				w.Close()
				return
			}
			if _, ok := w.Next(ctx); !ok && ctx.Err() != nil {
				w.Close()
				return
			}
		}
	}
}

// look reads a znode, existing or not, and watches it. It waits while there is no connection.
func (c *Client) look(ctx context.Context, path string) (n Node, w *Watch, err error) {
	for w == nil && (err == nil || c.outlives(err)) {
		err = Retry(ctx, func(ctx context.Context) (err error) {
			n = Node{Path: path}
			n.Data, n.Stat, w, err = c.GetW(ctx, path)
			if n.Exists = err == nil; !errors.Is(err, ErrNoNode) {
				return err
			}
			var exists bool
			if _, exists, w, err = c.ExistsW(ctx, path); exists { // it was created in between
				w.Close()
				w = nil
			}
			return err
		})
	}
	return n, w, err
}
