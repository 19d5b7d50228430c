package recipes

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// line is a set of ephemeral sequential znodes under one parent, in the order in which they were created.
type line struct {
	c       *client.Client
	parent  string
	markers []string // the parts of the names before the number; all use the same counter
	options
}

// join adds a znode at the end and returns its path. Missing parents are created.
func (l *line) join(ctx context.Context, marker string) (path string, err error) {
	err = l.below(ctx, l.c, l.parent, func() (err error) {
		path, err = l.c.CreateProtected(ctx, paths.ChildOf(l.parent, marker), l.data, client.EphemeralSequential,
			client.WithACL(l.acl...))
		return err
	})
	return path, err
}

// leave deletes a znode of this session. The end of ctx does not stop it, and it succeeds if the session has
// ended.
func (l *line) leave(ctx context.Context, path string) error {
	if err := l.c.DeleteSurely(ctx, path); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// places returns the line in order. A parent that does not exist is an empty line.
func (l *line) places(ctx context.Context) ([]layouts.Place, error) {
	names, err := childrenOf(ctx, l.c, l.parent)
	return layouts.Order(names, l.markers), err
}

// childrenOf returns the names of a znode's children, none if it does not exist.
func childrenOf(ctx context.Context, c *client.Client, path string) (names []string, err error) {
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		names, _, err = c.Children(ctx, path)
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return names, err
}

// blocker returns the place that the i-th place has to wait for, -1 if none.
type blocker func(line []layouts.Place, i int) int

// predecessor is the blocker of an exclusive line.
func predecessor(_ []layouts.Place, i int) int { return i - 1 }

// await waits until nothing blocks the znode at path. Each wait is for one other znode only, so that a release
// wakes one waiter. The watch is set by getData and not by exists: if the znode was gone already, the watch of
// exists would stay on the server forever. Every read of this session shows at least everything before its own
// znode, and shows a deletion late at worst. So a stale server delays and never misleads. Errors: ErrLost if the
// caller's znode is gone, ErrBusy if isTry and it would have to wait.
func (l *line) await(ctx context.Context, path string, blocks blocker, isTry bool) error {
	own := paths.NameOf(path)
	for {
		line, err := l.places(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(line, func(p layouts.Place) bool { return p.Name == own })
		if i < 0 {
			return ErrLost
		}
		j := blocks(line, i)
		switch {
		case j < 0:
			return nil
		case isTry:
			return ErrBusy
		}
		if err := awaitChange(ctx, l.c, paths.ChildOf(l.parent, line[j].Name)); err != nil {
			return err
		}
	}
}

// awaitChange waits until a znode changes, and returns at once if it does not exist.
func awaitChange(ctx context.Context, c *client.Client, path string) error {
	w, err := watchOf(ctx, c, path)
	if w == nil {
		return err
	}
	return awaitEvent(ctx, w)
}

// watchOf sets a one-shot watch on a znode. It is nil if that does not exist.
func watchOf(ctx context.Context, c *client.Client, path string) (*client.Watch, error) {
	_, _, w, err := readW(ctx, c, path)
	return w, err
}

// readW reads a znode and sets a one-shot watch on it, which is nil if it does not exist.
func readW(
	ctx context.Context, c *client.Client, path string,
) (data []byte, stat client.Stat, w *client.Watch, err error) {
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		data, stat, w, err = c.GetW(ctx, path)
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return data, stat, w, err
}

// awaitEvent waits for the event of a one-shot watch.
func awaitEvent(ctx context.Context, w *client.Watch) error {
	_, err := nextEvent(ctx, w)
	return err
}

// nextEvent is awaitEvent that returns the event.
func nextEvent(ctx context.Context, w *client.Watch) (client.Event, error) {
	defer w.Close()
	e, ok := w.Next(ctx)
	return e, eventError(ctx, w, e, ok)
}

// follow ranges over what read returns, at first and after each event of its watch, unless that is the same again. It
// ends with an error, or without one when ctx ends.
func follow[T any](
	ctx context.Context, c *client.Client, read func(ctx context.Context) (T, *client.Watch, error),
	isSame func(a, b T) bool,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last, none T
		for isFirst := true; ; {
			now, w, err := read(ctx)
			if err == nil {
				if (isFirst || !isSame(now, last)) && !yield(now, nil) {
					w.Close()
					return
				}
				last, isFirst = now, false
				err = awaitEvent(ctx, w)
			}
			err = renewed(ctx, c, err)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(none, err)
				return
			}
		}
	}
}

// awaitNews waits for events of a persistent watch and takes all queued ones: one read covers all of them.
func awaitNews(ctx context.Context, w *client.Watch) error {
	e, ok := w.Next(ctx)
	for more := ok; more; {
		select {
		case next, isOpen := <-w.C():
			if more = isOpen; isOpen {
				e = next
			}
		default:
			more = false
		}
	}
	return eventError(ctx, w, e, ok)
}

// eventError returns why a wait for an event of a watch has ended without one; ok is false if none was received.
func eventError(ctx context.Context, w *client.Watch, e client.Event, ok bool) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok && w.Err() != nil:
		return w.Err()
	case !ok:
		return client.ErrClosed
	}
	return e.Err
}
