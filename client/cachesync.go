package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto/paths"
)

// run follows the watch until ctx ends or the watch is lost. It takes events in batches and reads all changed
// znodes again, with all reads of a batch outstanding together. A read is sent after its event was received, so
// it shows the change of that event or a later state. A change after the read comes as another event, in a later
// batch.
func (k *Cache) run(ctx context.Context) error {
	for {
		batch, err := k.collect(ctx)
		if err == nil {
			err = k.follow(ctx, batch)
		}
		for limit := retryMin; k.mayGoOn(err) && pause(ctx, limit) == nil; limit = min(2*limit, retryMax) {
			err = k.resync(ctx) // whatever the batch has told
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ErrClosed
		default:
			return err
		}
	}
}

// mayGoOn reports whether reading everything again may succeed after an error.
func (k *Cache) mayGoOn(err error) bool { return SafeToRetry(err) || k.c.outlives(err) }

// collect waits for an event and takes all queued ones.
func (k *Cache) collect(ctx context.Context) (batch []Event, err error) {
	select {
	case e, ok := <-k.queue.ch:
		if !ok {
			return nil, ErrClosed
		}
		batch = append(batch, e)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for len(batch) < cacheEvents {
		select {
		case e, ok := <-k.queue.ch:
			if !ok {
				return batch, nil
			}
			batch = append(batch, e)
		default:
			return batch, nil
		}
	}
	return batch, nil
}

// follow brings the cache up to date with a batch of events.
func (k *Cache) follow(ctx context.Context, batch []Event) error {
	dirty := map[string]bool{}
	for _, e := range batch {
		switch e.Type {
		case WatchLost:
			return k.recover(ctx, e.Err)
		case WatchRearmed, WatchOverflow:
			return k.resync(ctx) // covers every event of the batch
		}
		dirty[e.Path] = true
	}
	if k.isOld {
		return k.refresh(ctx, dirty)
	}
	return k.load(ctx, slices.Collect(maps.Keys(dirty)))
}

// recover goes on after the watch was lost, if possible: in a new session, or with the watches that an older
// server knows.
func (k *Cache) recover(ctx context.Context, why error) error {
	switch {
	case k.c.outlives(why):
	case errors.Is(why, ErrUnimplemented):
		k.isOld, k.watch, k.queue = true, nil, newEventQueue(cacheEvents)
	default:
		return why
	}
	return k.resync(ctx)
}

// load reads znodes again and shows their state. Parents are shown before their children.
func (k *Cache) load(ctx context.Context, paths []string) error {
	slices.SortFunc(paths, byDepth)
	for part := range slices.Chunk(paths, cacheWindow) {
		reads := make([]Future[NodeData], len(part))
		for i, path := range part {
			reads[i] = k.c.Async().Get(ctx, path)
		}
		for i, path := range part {
			got, err := reads[i].Wait(ctx)
			if err := k.show(Node{path, got.Data, got.Stat, true}, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// show applies the outcome of one read.
func (k *Cache) show(n Node, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		return k.put(n)
	case errors.Is(err, ErrNoNode), errors.Is(err, ErrNoAuth):
		k.remove(n.Path)
		return nil
	}
	return err
}

// resync reads the whole subtree again, level by level: the children of every znode, and the data of new or
// changed znodes. Afterwards it hides every znode that it has not found.
func (k *Cache) resync(ctx context.Context) error {
	if k.isOld {
		return k.refreshAll(ctx)
	}
	found := map[string]bool{}
	for level := []string{k.root}; len(level) > 0; {
		below, stale, err := k.listLevel(ctx, level, found)
		if err == nil {
			err = k.load(ctx, stale)
		}
		if err != nil {
			return err
		}
		level = below
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for path := range k.nodes {
		if !found[path] {
			k.remove(path)
		}
	}
	return nil
}

// listLevel lists the children of the znodes of a level. It returns the paths of the children, and the znodes of
// the level whose shown state is out of date.
func (k *Cache) listLevel(
	ctx context.Context, level []string, found map[string]bool,
) (below, stale []string, err error) {
	for part := range slices.Chunk(level, cacheWindow) {
		lists := make([]Future[NodeChildren], len(part))
		for i, path := range part {
			lists[i] = k.c.Async().Children(ctx, path)
		}
		for i, path := range part {
			got, err := lists[i].Wait(ctx)
			switch {
			case errors.Is(err, ErrNoNode), errors.Is(err, ErrNoAuth):
				continue
			case err != nil:
				return nil, nil, err
			}
			found[path] = true
			if n, ok := k.Get(path); !ok || n.Stat.Mzxid != got.Stat.Mzxid || n.Stat.Czxid != got.Stat.Czxid {
				stale = append(stale, path)
			}
			for _, name := range got.Names {
				below = append(below, paths.ChildOf(path, strings.Clone(name)))
			}
			if len(below)*cacheNodeBytes > k.bytesMax {
				return nil, nil, fmt.Errorf("%w: %d znodes on one level below %s", ErrCacheFull, len(below), k.root)
			}
		}
	}
	return below, stale, nil
}

// byDepth orders parents before children.
func byDepth(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(len(a), len(b)),
		cmp.Compare(a, b))
}

// stopWatching removes the watches of the cache from the server.
func (k *Cache) stopWatching() {
	if k.watch != nil {
		k.watch.Close()
	}
	for _, w := range k.watched {
		w.close()
	}
}
