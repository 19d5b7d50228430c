package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// batches is the common part of the queues: persistent znodes that hold items, and ephemerals of the same names
// that mark the items that consumers process. The queues differ in the names.
type batches struct {
	items line
	locks line
	parse func(rest string) (entry, bool) // reads the part of a name after the marker
}

// entry is the name of one batch and the values in it.
type entry struct {
	name string
	key  int64 // smaller is first
	seq  int32 // orders batches with one key
	due  time.Time
}

func newBatches(c *client.Client, path, locks string, parse func(string) (entry, bool), options []Option) batches {
	o := newOptions(options)
	return batches{line{c: c, parent: path, options: o}, line{c: c, parent: locks, options: o}, parse}
}

// put adds a batch under a name to which the server appends a number.
func (q *batches) put(ctx context.Context, name string, items [][]byte) error {
	data, l := layouts.AppendItems(nil, items), &q.items
	return l.below(ctx, l.c, l.parent, func() error {
		return client.Retry(ctx, func(ctx context.Context) error {
			_, err := l.c.Create(ctx, paths.ChildOf(l.parent, name), data, client.PersistentSequential,
				client.WithACL(l.acl...))
			return err
		})
	})
}

// order picks the names of batches and sorts them. Numbers are compared by their distance, as in a line.
func (q *batches) order(names []string) []entry {
	var all []entry
	for _, name := range names {
		if i := strings.LastIndex(name, layouts.Item); i >= 0 {
			if e, ok := q.parse(name[i+len(layouts.Item):]); ok {
				e.name = name
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), int(a.seq-b.seq))
	})
	return all
}

func (q *batches) len(ctx context.Context) (int, error) {
	names, err := childrenOf(ctx, q.items.c, q.items.parent)
	return len(q.order(names)), err
}

// Delivery is a batch that one consumer processes. The consumer must call either Done or Release.
type Delivery struct {
	*Hold // of the lock; Context ends when another consumer may get the batch, Release gives it back
	Items [][]byte

	queue *batches
	item  string
	made  client.Zxid // the czxid of the item
}

// Done removes the batch: its items are consumed. If ctx ends first, the batch is removed in the background. A
// consumer that has lost its Hold may come so late that another has removed the batch, the empty queue is gone, and a
// new one has a batch with the same name: that one stays.
func (d *Delivery) Done(ctx context.Context) error {
	items := &d.queue.items
	err := items.dropClaim(ctx, d.item, d.made)
	if err != nil && ctx.Err() != nil {
		// Ends with the client at the latest.
		go func() { _ = items.dropClaim(context.WithoutCancel(ctx), d.item, d.made) }()
	}
	return errors.Join(err, d.Release(ctx))
}

// take waits for a batch that is due and that no consumer processes.
func (q *batches) take(ctx context.Context) (*Delivery, error) {
	return outliving(ctx, q.items.c, func() (*Delivery, error) { return q.takeIn(ctx) })
}

// takeIn is take in one session.
func (q *batches) takeIn(ctx context.Context) (*Delivery, error) {
	for {
		free, locksWatch, itemsWatch, err := q.free(ctx)
		if err != nil {
			return nil, err
		}
		var d *Delivery
		var next time.Duration = math.MaxInt64
		isTried := false
		for _, e := range free {
			if next = time.Until(e.due); next > 0 {
				break // all later batches are due later still
			}
			isTried = true
			if d, err = q.try(ctx, e.name); d != nil || err != nil {
				break
			}
		}
		if d == nil && err == nil && !isTried {
			err = awaitEither(ctx, locksWatch, itemsWatch, next)
		}
		locksWatch.Close()
		itemsWatch.Close()
		if d != nil || err != nil {
			return d, err
		}
	}
}

// free returns the batches that no consumer processes, in order, and watches for others. It reads the locks
// first: a batch whose lock and znode are deleted in between is in neither list.
func (q *batches) free(ctx context.Context) (free []entry, locksWatch, itemsWatch *client.Watch, err error) {
	locked, locksWatch, err := q.locks.list(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	names, itemsWatch, err := q.items.list(ctx)
	if err != nil {
		locksWatch.Close()
		return nil, nil, nil, err
	}
	isLocked := make(map[string]bool, len(locked))
	for _, name := range locked {
		isLocked[name] = true
	}
	free = slices.DeleteFunc(q.order(names), func(e entry) bool { return isLocked[e.name] })
	return free, locksWatch, itemsWatch, nil
}

// list returns the children of a line's parent, which it creates if it is missing, and a watch on them.
func (l *line) list(ctx context.Context) (names []string, w *client.Watch, err error) {
	err = l.below(ctx, l.c, l.parent, func() error {
		return client.Retry(ctx, func(ctx context.Context) (err error) {
			names, _, w, err = l.c.ChildrenW(ctx, l.parent)
			return err
		})
	})
	return names, w, err
}

// try locks a batch and reads it. Nil without an error means that another consumer was faster.
func (q *batches) try(ctx context.Context, name string) (*Delivery, error) {
	lock, item := paths.ChildOf(q.locks.parent, name), paths.ChildOf(q.items.parent, name)
	token, err := q.locks.claim(ctx, lock, []byte(newID()))
	if err != nil || token == 0 {
		if errors.Is(err, client.ErrNoNode) {
			err = nil // the parent was removed after its last child
		}
		return nil, err
	}
	h, err := q.locks.possessClaim(ctx, lock, token)
	if err != nil {
		if errors.Is(err, ErrLost) {
			err = nil
		}
		return nil, err
	}
	items, made, err := q.read(ctx, item)
	if err != nil {
		_ = h.Release(ctx) // goes on in the background if ctx has ended
		if errors.Is(err, client.ErrNoNode) {
			return nil, nil // consumed by another
		}
		return nil, err
	}
	return &Delivery{Hold: h, Items: items, queue: q, item: item, made: made}, nil
}

// read returns the items of a batch, and its czxid.
func (q *batches) read(ctx context.Context, item string) (items [][]byte, made client.Zxid, err error) {
	var data []byte
	var stat client.Stat
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		data, stat, err = q.items.c.Get(ctx, item)
		return err
	})
	if err == nil {
		if items, err = layouts.ReadItems(data); err != nil {
			err = fmt.Errorf("%s: %w: %w", item, ErrFormat, err)
		}
	}
	return items, stat.Czxid, err
}

// awaitEither waits for the event of one of two one-shot watches, but not longer than limit.
func awaitEither(ctx context.Context, a, b *client.Watch, limit time.Duration) error {
	var e client.Event
	var ok bool
	w := a
	select {
	case e, ok = <-a.C():
	case e, ok = <-b.C():
		w = b
	case <-time.After(limit):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	return eventError(ctx, w, e, ok)
}
