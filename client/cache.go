package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/seed94657493/warren/proto/paths"
)

// CacheOption changes how a Cache works.
type CacheOption func(*Cache)

// WithCacheBytes bounds the memory of a cache, overriding the default 256 MiB: the bytes of paths and data, plus
// 200 bytes for each znode. A subtree that needs more ends the cache with ErrCacheFull.
func WithCacheBytes(n int) CacheOption { return func(k *Cache) { k.bytesMax = n } }

const (
	cacheBytesDefault = 256 << 20
	cacheNodeBytes    = 200 // of maps and a Node
	cacheWindow       = 256 // reads outstanding
	cacheEvents       = 4096
)

// Cache is a copy of a subtree that follows the ensemble. The shown state of a znode never goes back in time, a znode
// is never shown without its parent, and the content of a View does not change during the View. The Stat of a znode is
// as of its data: counts and versions of children are not kept up to date, but Children is. Znodes that the client may
// not read are left out.
//
// It uses one recursive watch, or with servers before 3.6 two one-shot watches for each znode. After a reconnect
// it reads again everything that may have changed. All methods may be called concurrently.
type Cache struct {
	c        *Client
	root     string
	bytesMax int
	queue    *eventQueue
	isOld    bool   // the server does not know persistent watches
	watch    *Watch // recursive; nil if isOld
	watched  map[string]*cacheWatches
	cancel   context.CancelFunc
	done     chan struct{}

	mu      sync.RWMutex
	nodes   map[string]*cacheNode
	bytes   int
	changes *changeLink // newest, not filled yet
	err     error       // why the cache has ended
}

type cacheNode struct {
	Node
	children map[string]struct{}
}

// Change is one difference between two successive states of the cache.
type Change struct {
	Type EventType // NodeCreated, NodeDataChanged or NodeDeleted
	Node Node      // the new state; of a deleted znode the last state
}

// changeLink is a link of a list that followers walk; only followers keep old links alive.
type changeLink struct {
	change Change
	next   *changeLink
	ready  chan struct{} // closed when change and next are set, or the cache has ended
}

// NewCache returns the copy of the subtree at root once it is complete. If the root does not exist, the cache is
// empty. It must be closed.
func (c *Client) NewCache(ctx context.Context, root string, options ...CacheOption) (*Cache, error) {
	if err := checkPath(root, false); err != nil {
		return nil, &Error{Op: "cache", Path: root, Err: err}
	}
	k := &Cache{c: c, root: root, bytesMax: cacheBytesDefault, nodes: map[string]*cacheNode{},
		watched: map[string]*cacheWatches{}, done: make(chan struct{}),
		changes: &changeLink{ready: make(chan struct{})}}
	for _, o := range options {
		o(k)
	}
	if err := k.open(ctx); err != nil {
		k.stopWatching()
		return nil, err
	}
	life, cancel := context.WithCancel(c.life())
	k.cancel = cancel
	isStarted := c.start(func(context.Context) {
		defer close(k.done)
		defer cancel()
		k.end(k.run(life))
	})
	if !isStarted {
		cancel()
		k.stopWatching()
		return nil, &Error{Op: "cache", Path: root, Err: ErrClosed}
	}
	return k, nil
}

// open sets the watch and fills the cache.
func (k *Cache) open(ctx context.Context) error {
	err := Retry(ctx, func(ctx context.Context) (err error) {
		// The watch outlives the call, so its context is the client's. If the watch could not be set, its queue
		// is closed.
		k.queue = newEventQueue(cacheEvents)
		k.watch, err = k.c.watchFor(ctx, k.c.life(), k.root, WatchSubtree, k.queue)
		return err
	})
	if errors.Is(err, ErrUnimplemented) {
		k.isOld, k.queue, err = true, newEventQueue(cacheEvents), nil
	}
	if err != nil {
		return err
	}
	return Retry(ctx, k.resync)
}

// Close ends the cache and waits for its goroutine. Its content stays readable.
func (k *Cache) Close() {
	k.cancel()
	<-k.done
}

// Done returns a channel that is closed when the cache no longer follows the ensemble; Err says why.
func (k *Cache) Done() <-chan struct{} { return k.done }

// Err returns why the cache has ended: ErrCacheFull, ErrSessionExpired, ErrClosed; nil while it has not.
func (k *Cache) Err() error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.err
}

func (k *Cache) end(err error) {
	k.stopWatching()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	close(k.changes.ready) // next is nil: the end
}

// Get returns a znode of the subtree. Data must not be changed.
func (k *Cache) Get(path string) (Node, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return View{k}.Get(path)
}

// Children returns the names of a znode's children, in no particular order.
func (k *Cache) Children(path string) []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return View{k}.Children(path)
}

// Len returns how many znodes there are.
func (k *Cache) Len() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.nodes)
}

// View calls f while the cache does not change. F must be quick and must not call the Cache itself.
func (k *Cache) View(f func(View)) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	f(View{k})
}

// View is a Cache that does not change. It is valid during the call of Cache.View.
type View struct{ k *Cache }

// Get is Cache.Get.
func (v View) Get(path string) (Node, bool) {
	n := v.k.nodes[path]
	if n == nil {
		return Node{}, false
	}
	return n.Node, true
}

// Children is Cache.Children.
func (v View) Children(path string) []string {
	n := v.k.nodes[path]
	if n == nil {
		return nil
	}
	return slices.AppendSeq(make([]string, 0, len(n.children)), maps.Keys(n.children))
}

// All ranges over the znodes, in no particular order.
func (v View) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, n := range v.k.nodes {
			if !yield(n.Node) {
				return
			}
		}
	}
}

// Changes ranges over all znodes as created, then over every later change, until ctx ends or the cache has ended.
// Applying all changes in order gives the content of the cache; several states of a znode in quick succession may be
// one change.
func (k *Cache) Changes(ctx context.Context) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		k.mu.RLock()
		link := k.changes
		first := make([]Node, 0, len(k.nodes))
		for _, n := range k.nodes {
			first = append(first, n.Node)
		}
		k.mu.RUnlock()
		slices.SortFunc(first, func(a, b Node) int { return byDepth(a.Path, b.Path) })
		for _, n := range first {
			if !yield(Change{NodeCreated, n}) {
				return
			}
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-link.ready:
			}
			if link.next == nil || !yield(link.change) {
				return
			}
			link = link.next
		}
	}
}

// publish appends a change. REQUIRES: mu.
func (k *Cache) publish(t EventType, n Node) {
	link := k.changes
	link.change = Change{t, n}
	link.next = &changeLink{ready: make(chan struct{})}
	k.changes = link.next
	close(link.ready)
}

// put shows a znode. If its parent is not shown, the parent was deleted meanwhile: the znode is left out.
// REQUIRES: mu.
func (k *Cache) put(n Node) error {
	old := k.nodes[n.Path]
	switch {
	case old == nil:
		if n.Path != k.root {
			parent := k.nodes[paths.ParentOf(n.Path)]
			if parent == nil {
				return nil
			}
			parent.children[paths.NameOf(n.Path)] = struct{}{}
		}
		k.nodes[n.Path] = &cacheNode{Node: n, children: map[string]struct{}{}}
		k.bytes += cacheNodeBytes + len(n.Path) + len(n.Data)
		k.publish(NodeCreated, n)
	case old.Stat.Czxid > n.Stat.Czxid, old.Stat.Mzxid > n.Stat.Mzxid:
		return nil // older than the shown state
	case old.Stat.Czxid != n.Stat.Czxid || old.Stat.Mzxid != n.Stat.Mzxid:
		k.bytes += len(n.Data) - len(old.Data)
		old.Node = n
		k.publish(NodeDataChanged, n)
	default:
		old.Stat = n.Stat // counts of children, versions of the ACL
	}
	if k.bytes > k.bytesMax {
		return fmt.Errorf("%w: more than %d bytes below %s", ErrCacheFull, k.bytesMax, k.root)
	}
	return nil
}

// remove hides a znode and everything below it, children first. REQUIRES: mu.
func (k *Cache) remove(path string) {
	n := k.nodes[path]
	if n == nil {
		return
	}
	for name := range n.children {
		k.remove(paths.ChildOf(path, name))
	}
	delete(k.nodes, path)
	if parent := k.nodes[paths.ParentOf(path)]; parent != nil && path != k.root {
		delete(parent.children, paths.NameOf(path))
	}
	k.bytes -= cacheNodeBytes + len(path) + len(n.Data)
	k.publish(NodeDeleted, n.Node)
}
