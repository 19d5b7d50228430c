package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// cacheWatches are the one-shot watches of one znode in a cache over a server without persistent watches. All
// feed one queue.
type cacheWatches struct {
	data, children *Watch
}

func (w *cacheWatches) close() {
	for _, watch := range []*Watch{w.data, w.children} {
		if watch != nil {
			watch.Close()
		}
	}
}

// refreshAll reads the whole subtree and watches every znode.
func (k *Cache) refreshAll(ctx context.Context) error {
	k.mu.RLock()
	dirty := map[string]bool{k.root: true}
	for path := range k.nodes {
		dirty[path] = true
	}
	k.mu.RUnlock()
	return k.refresh(ctx, dirty)
}

// refresh reads znodes and their lists of children again, watches both, and goes on with new children.
func (k *Cache) refresh(ctx context.Context, dirty map[string]bool) error {
	paths := slices.SortedFunc(maps.Keys(dirty), byDepth)
	for i := 0; i < len(paths); i++ {
		added, err := k.refreshNode(ctx, paths[i])
		if err != nil {
			return err
		}
		paths = append(paths, added...)
	}
	return nil
}

// refreshNode brings one znode up to date and returns its new children. The watches are set before anything is
// shown, so that a later change is an event.
func (k *Cache) refreshNode(ctx context.Context, path string) (added []string, err error) {
	w := k.watched[path]
	if w == nil {
		w = &cacheWatches{}
		k.watched[path] = w
	}
	forget := func() {
		w.close()
		delete(k.watched, path)
	}
	cl, err := k.watchAgain(proto.OpGetData, path, watchData, &w.data)
	got, err := await(ctx, k.c, cl, err, readData)
	if err := k.show(Node{path, got.Data, got.Stat, true}, err); err != nil {
		forget()
		return nil, err
	}
	if err != nil {
		return nil, k.awaitNode(ctx, path, w, forget, errors.Is(err, ErrNoAuth))
	}
	cl, err = k.watchAgain(proto.OpGetChildren2, path, watchChild, &w.children)
	list, err := await(ctx, k.c, cl, err, readChildren)
	switch {
	case errors.Is(err, ErrNoNode), errors.Is(err, ErrNoAuth):
		return nil, nil // the data watch reports the deletion
	case err != nil:
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.nodes[path]
	if n == nil {
		return nil, nil
	}
	now := make(map[string]bool, len(list.Names))
	for _, name := range list.Names {
		now[name] = true
		if _, ok := n.children[name]; !ok {
			added = append(added, paths.ChildOf(path, strings.Clone(name)))
		}
	}
	for name := range n.children {
		if !now[name] {
			k.remove(paths.ChildOf(path, name))
		}
	}
	return added, nil
}

// awaitNode handles a znode that does not exist or that the client may not read. If it is the root, awaitNode sets a
// watch, which fires when the root is created or next changes; every other znode is reported by its parent's watch.
func (k *Cache) awaitNode(ctx context.Context, path string, w *cacheWatches, forget func(), isSecret bool) error {
	if path != k.root {
		forget()
		return nil
	}
	w.close()
	cl, watch, err := k.c.watchCall(proto.OpExists, path, watchData, []Receiver{k.queue})
	w.data, w.children = watch, nil
	_, err = await(ctx, k.c, cl, err, readStat)
	switch {
	case errors.Is(err, ErrNoNode), err == nil && isSecret:
		return nil
	case err == nil: // created in between
		return k.refresh(ctx, map[string]bool{path: true})
	}
	return err
}

// watchAgain prepares a read that sets a watch in place of another one, which may be nil.
func (k *Cache) watchAgain(op proto.OpCode, path string, kind watchKind, watch **Watch) (*call, error) {
	cl, w, err := k.c.watchCall(op, path, kind, []Receiver{k.queue})
	if err != nil {
		return nil, err
	}
	old := *watch
	*watch = w
	if old != nil {
		old.Close() // after the new one was added, so that the server keeps its registration
	}
	return cl, nil
}
