package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// cell is one znode whose data is replaced as a whole.
type cell struct {
	c    *client.Client
	path string
	options
}

func (n *cell) read(ctx context.Context) (client.Node, error) { return read(ctx, n.c, n.path) }

// read returns a znode, existing or not.
func read(ctx context.Context, c *client.Client, path string) (client.Node, error) {
	n := client.Node{Path: path}
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		n.Data, n.Stat, err = c.Get(ctx, path)
		return err
	})
	n.Exists = err == nil
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return n, err
}

// errStop is returned by a function that change calls if there is nothing to change.
var errStop = errors.New("recipes: no change")

// change applies f to the content of the cell until no other write came in between.
func (n *cell) change(ctx context.Context, f func(old client.Node) ([]byte, error)) (client.Stat, error) {
	for limit := time.Millisecond; ; limit = min(2*limit, 100*time.Millisecond) {
		old, err := n.read(ctx)
		if err != nil {
			return client.Stat{}, err
		}
		data, err := f(old)
		if err != nil {
			return client.Stat{}, err
		}
		stat, err := n.write(ctx, data, old)
		if err == nil || !isOvertaken(err) && !client.SafeToRetry(err) {
			return stat, err
		}
		select {
		case <-time.After(rand.N(limit)): // competing writers come back at different times
		case <-ctx.Done():
			return client.Stat{}, ctx.Err()
		}
	}
}

// isOvertaken reports whether a write was refused because another writer was faster, or because the parents were
// created only now.
func isOvertaken(err error) bool {
	return errors.Is(err, client.ErrBadVersion) || errors.Is(err, client.ErrNodeExists) ||
		errors.Is(err, client.ErrNoNode)
}

// write replaces exactly the content that read has seen. It creates missing parents for the next try.
func (n *cell) write(ctx context.Context, data []byte, old client.Node) (client.Stat, error) {
	if old.Exists {
		return n.c.Set(ctx, n.path, data, old.Stat.Version)
	}
	_, stat, err := n.c.CreateStat(ctx, n.path, data, client.Persistent, client.WithACL(n.acl...))
	if errors.Is(err, client.ErrNoNode) {
		if ensureErr := n.ensure(ctx, n.c, paths.ParentOf(n.path)); ensureErr != nil && !isUnknown(ensureErr) {
			return stat, ensureErr
		}
	}
	return stat, err
}

// put replaces any content of the cell. It may repeat the write after a lost connection, so another change in
// between may be lost.
func (n *cell) put(ctx context.Context, data []byte) (stat client.Stat, err error) {
	err = again(ctx, func(ctx context.Context) (err error) {
		stat, err = n.change(ctx, func(client.Node) ([]byte, error) { return data, nil })
		return err
	})
	return stat, err
}
