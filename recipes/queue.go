package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed94657493/warren/client"
)

const itemMarker = "queue-"

// Queue hands items from producers to consumers, each at least once, oldest first.
//
//	/path/queue-0000000007     persistent; one batch of items
//	/path/queue-0000000008
//	/locks/queue-0000000007    ephemeral; a consumer is at it
//
// Guarantee: a batch that was put stays until a consumer calls Done; if the consumer dies or is cut off, another takes it when the
// session has expired. So no item is lost, and one may be consumed twice: by a consumer that ended between the work and Done, or that
// went on although the Context of its Delivery had ended. A batch is begun before those behind it, but several consumers may finish
// in any order. Every Put wakes all consumers that wait. All children are listed at once: a queue of tens of thousands needs a larger
// jute.maxbuffer, so it should be several queues. Layout and data are those of Curator's DistributedQueue with a lockPath. A Queue has no
// state and may be used concurrently. Source: operations section 9.2.
type Queue struct {
	items line
	locks line
}

// NewQueue returns the queue at a path. Consumers lock items below locks, which must not be below the path.
func NewQueue(c *client.Client, path, locks string, options ...Option) *Queue {
	o := newOptions(options)
	return &Queue{line{c, path, []string{itemMarker}, o}, line{c, locks, []string{itemMarker}, o}}
}

// Put appends items, to be consumed together. An error that satisfies client.MayHaveApplied leaves open if they are in the queue.
func (q *Queue) Put(ctx context.Context, items ...[]byte) error {
	data := encodeItems(items)
	for {
		err := client.Retry(ctx, func(ctx context.Context) error {
			_, err := q.items.c.Create(ctx, childOf(q.items.parent, itemMarker), data, client.PersistentSequential, client.WithACL(q.items.acl...))
			return err
		})
		if !errors.Is(err, client.ErrNoNode) {
			return err
		}
		if err := q.items.ensure(ctx, q.items.c, q.items.parent); err != nil {
			return err
		}
	}
}

// Len returns how many batches there are, with those that are being consumed.
func (q *Queue) Len(ctx context.Context) (int, error) {
	line, err := q.items.places(ctx)
	return len(line), err
}

// Delivery is a batch that one consumer is at. One of Done and Release must be called.
type Delivery struct {
	*Hold // of the lock; Context ends when another consumer may get the batch, Release gives it back
	Items [][]byte

	queue *Queue
	item  string
}

// Done removes the batch: its items are consumed. If ctx ends first, it is removed in the background.
func (d *Delivery) Done(ctx context.Context) error {
	err := d.queue.items.c.DeleteSurely(ctx, d.item)
	return errors.Join(err, d.Release(ctx))
}

// Take waits for a batch that nobody is at, or until ctx ends. A znode that holds no items is an error that wraps ErrFormat and names it;
// it stays, for somebody to look at.
func (q *Queue) Take(ctx context.Context) (*Delivery, error) {
	for {
		free, locksWatch, itemsWatch, err := q.free(ctx)
		if err != nil {
			return nil, err
		}
		var d *Delivery
		for _, name := range free {
			if d, err = q.try(ctx, name); d != nil || err != nil {
				break
			}
		}
		if d == nil && err == nil && len(free) == 0 {
			err = awaitEither(ctx, locksWatch, itemsWatch)
		}
		locksWatch.Close()
		itemsWatch.Close()
		if d != nil || err != nil {
			return d, err
		}
	}
}

// free returns the names of batches that nobody was at, oldest first, and watches for others. The locks are read first: a batch
// whose lock and znode went in between is in neither list.
func (q *Queue) free(ctx context.Context) (free []string, locksWatch, itemsWatch *client.Watch, err error) {
	locked, locksWatch, err := q.list(ctx, &q.locks)
	if err != nil {
		return nil, nil, nil, err
	}
	names, itemsWatch, err := q.list(ctx, &q.items)
	if err != nil {
		locksWatch.Close()
		return nil, nil, nil, err
	}
	for _, p := range order(names, q.items.markers) {
		if !slices.Contains(locked, p.name) {
			free = append(free, p.name)
		}
	}
	return free, locksWatch, itemsWatch, nil
}

// list returns the children of a line's parent, which it creates if it is missing, and a watch on them.
func (q *Queue) list(ctx context.Context, l *line) (names []string, w *client.Watch, err error) {
	for {
		err = client.Retry(ctx, func(ctx context.Context) (err error) {
			names, _, w, err = l.c.ChildrenW(ctx, l.parent)
			return err
		})
		if !errors.Is(err, client.ErrNoNode) {
			return names, w, err
		}
		if err := l.ensure(ctx, l.c, l.parent); err != nil {
			return nil, nil, err
		}
	}
}

// try locks a batch and reads it. Nil without an error means that somebody was faster.
func (q *Queue) try(ctx context.Context, name string) (*Delivery, error) {
	c, lock, item := q.locks.c, childOf(q.locks.parent, name), childOf(q.items.parent, name)
	isOurs, err := q.claim(ctx, lock)
	if err != nil || !isOurs {
		return nil, err
	}
	h, err := q.locks.possess(ctx, lock)
	if err != nil {
		_ = q.locks.leave(ctx, lock) // goes on in the background if ctx has ended
		if errors.Is(err, ErrLost) {
			return nil, nil
		}
		return nil, err
	}
	var data []byte
	var items [][]byte
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		data, _, err = c.Get(ctx, item)
		return err
	})
	if err == nil {
		if items, err = decodeItems(data); err != nil {
			err = fmt.Errorf("%s: %w", item, err)
		}
	}
	if err != nil {
		_ = h.Release(ctx) // goes on in the background if ctx has ended
		if errors.Is(err, client.ErrNoNode) {
			return nil, nil // consumed by another
		}
		return nil, err
	}
	return &Delivery{Hold: h, Items: items, queue: q, item: item}, nil
}

// claim creates a lock, unless there is one. Its data is a fresh id, so that it is recognised if the connection is lost before the
// answer. If ctx ends before that is settled, there is a second to undo it; after that the lock may stay as long as the session.
func (q *Queue) claim(ctx context.Context, lock string) (isOurs bool, err error) {
	c, id := q.locks.c, newID()
	err = client.Retry(ctx, func(ctx context.Context) error {
		_, err := c.Create(ctx, lock, []byte(id), client.Ephemeral, client.WithACL(q.locks.acl...))
		return err
	})
	switch {
	case errors.Is(err, client.ErrNodeExists), errors.Is(err, client.ErrNoNode):
		return false, nil
	case !client.MayHaveApplied(err):
		return err == nil, err
	}
	isOurs, err = isNamed(ctx, c, lock, id)
	if ctx.Err() == nil {
		return isOurs, err
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if isOurs, _ = isNamed(undo, c, lock, id); isOurs {
		_ = q.locks.leave(undo, lock)
	}
	return false, ctx.Err()
}

// isNamed reports whether a znode has the data id. The sync settles what an earlier connection may have done.
func isNamed(ctx context.Context, c *client.Client, path, id string) (bool, error) {
	var data []byte
	err := client.Retry(ctx, func(ctx context.Context) error {
		err := c.Sync(ctx, path)
		if err == nil {
			data, _, err = c.Get(ctx, path)
		}
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		return false, nil
	}
	return string(data) == id, err
}

// awaitEither waits for the event of one of two one-shot watches.
func awaitEither(ctx context.Context, a, b *client.Watch) error {
	var e client.Event
	var ok bool
	w := a
	select {
	case e, ok = <-a.C():
	case e, ok = <-b.C():
		w = b
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case !ok && w.Err() != nil:
		return w.Err()
	case !ok:
		return client.ErrClosed
	}
	return e.Err
}
