package recipes

import (
	"context"
	"errors"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Barrier holds processes back while its znode exists. It is one znode, as in Curator's DistributedBarrier.
//
// Guarantee: Wait returns only after its server has seen the barrier gone. The znode is persistent: it outlives
// the process that set it, and all processes wait until one removes it. A Barrier has no state and may be used
// concurrently. Source: operations 9.2.
type Barrier struct {
	c    *client.Client
	path string
	options
}

// NewBarrier returns the barrier at a path.
func NewBarrier(c *client.Client, path string, options ...Option) *Barrier {
	return &Barrier{c, path, newOptions(options)}
}

// Set makes all processes wait from now on. If the barrier is already set, Set succeeds.
func (b *Barrier) Set(ctx context.Context) error {
	return again(ctx, func(ctx context.Context) error {
		err := b.below(ctx, b.c, paths.ParentOf(b.path), func() error {
			_, err := b.c.Create(ctx, b.path, b.data, client.Persistent, client.WithACL(b.acl...))
			return err
		})
		if errors.Is(err, client.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// Remove lets all processes continue. If the barrier is not set, Remove succeeds. If ctx ends first, the barrier is
// removed in the background. It may repeat the removal after a lost connection, even of a barrier that was set again
// in between.
func (b *Barrier) Remove(ctx context.Context) error { return b.c.DeleteSurely(ctx, b.path) }

// Wait waits until the barrier is not set, or ctx ends. It first makes the server catch up, so that it sees a
// barrier that was set before the call. With client.WithRenewal it goes on under the next session.
func (b *Barrier) Wait(ctx context.Context) error {
	_, err := outliving(ctx, b.c, func() (struct{}, error) { return struct{}{}, b.wait(ctx) })
	return err
}

func (b *Barrier) wait(ctx context.Context) error {
	err := client.Retry(ctx, func(ctx context.Context) error { return b.c.Sync(ctx, b.path) })
	for err == nil {
		w, watchErr := watchOf(ctx, b.c, b.path)
		if w == nil {
			return watchErr
		}
		err = awaitEvent(ctx, w)
	}
	return err
}
