package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// grant is what the locks give.
type grant interface {
	Context() context.Context
	Token() client.Zxid
	Release(ctx context.Context) error
}

// shares is a grant that others may have at the same time.
type shares struct{ grant }

type lock func(ctx context.Context) (grant, error)

// asLock turns a method of a recipe into a lock.
func asLock[G grant](take func(context.Context) (G, error)) lock {
	return func(ctx context.Context) (grant, error) {
		h, err := take(ctx)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
}

// kind is one kind of lock.
type kind struct {
	open    func(c *client.Client, path string, r *rand.Rand) lock
	limit   int  // of those that share it; 0 if it cannot be shared
	outlive bool // its holds outlive connections, by a clock that knows nothing of the network between servers
}

// kinds are all that one session holds at a time.
var kinds = map[string]kind{
	"Mutex": {open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewMutex(c, path).Lock)
	}},
	"UntilExpiry": {outlive: true, open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewMutex(c, path, recipes.UntilExpiry()).Lock)
	}},
	"SimpleMutex": {open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewSimpleMutex(c, path).Lock)
	}},
	"RWMutex": {limit: sessions, open: readOrWrite},
	"Semaphore": {open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewSemaphore(c, path, 1).Acquire)
	}},
	"TwoPermits": {limit: 2, open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return sharing(asLock(recipes.NewSemaphore(c, path, 2).Acquire))
	}},
	"MultiMutex": {open: some},
	"Revoked":    {open: impatient},
	"Latch": {open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewLatch(c, path, "x").Campaign)
	}},
	"Selector": {open: func(c *client.Client, path string, _ *rand.Rand) lock {
		return asLock(recipes.NewSelector(c, path, "x").Campaign)
	}},
	"QueueItem": {open: item},
}

func sharing(take lock) lock {
	return func(ctx context.Context) (grant, error) {
		h, err := take(ctx)
		if err != nil {
			return nil, err
		}
		return shares{h}, nil
	}
}

// readOrWrite is an RWMutex, taken in either way.
func readOrWrite(c *client.Client, path string, r *rand.Rand) lock {
	m := recipes.NewRWMutex(c, path)
	read, write := sharing(asLock(m.RLock)), asLock(m.Lock)
	return func(ctx context.Context) (grant, error) {
		if r.IntN(2) == 0 {
			return read(ctx)
		}
		return write(ctx)
	}
}

// part is one of the locks of a MultiHold.
type part struct {
	*recipes.MultiHold
	path string
}

func (p part) Token() client.Zxid { return p.MultiHold.Token(p.path) }

// some takes the lock together with others that not every client wants, before it and behind it in the order.
func some(c *client.Client, path string, r *rand.Rand) lock {
	return func(ctx context.Context) (grant, error) {
		paths := []string{path + "/m"}
		for _, other := range []string{"/a", "/b", "/x", "/y"} {
			if r.IntN(2) == 0 {
				paths = append(paths, path+other)
			}
		}
		h, err := recipes.NewMultiMutex(c, paths).Lock(ctx)
		if err != nil {
			return nil, err
		}
		return part{h, paths[0]}, nil
	}
}

// impatient asks the holder of the lock to release before it waits.
func impatient(c *client.Client, path string, r *rand.Rand) lock {
	m := recipes.NewMutex(c, path)
	return func(ctx context.Context) (grant, error) {
		if line, err := m.Contenders(ctx); err == nil && len(line) > 0 && r.IntN(2) == 0 {
			if err := recipes.Revoke(ctx, c, line[0].Path); err != nil && !errors.Is(err, client.ErrNoNode) {
				return nil, err
			}
		}
		h, err := m.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
}

// item takes the only batch of a queue, whose lock excludes.
func item(c *client.Client, path string, _ *rand.Rand) lock {
	q := recipes.NewQueue(c, path+"/items", path+"/locks")
	var isThere atomic.Bool
	return func(ctx context.Context) (grant, error) {
		if !isThere.Load() {
			_, err := c.Create(ctx, path+"/items/queue-0000000001", encodedItem, client.Persistent)
			if errors.Is(err, client.ErrNoNode) {
				if err = c.CreateAll(ctx, path+"/items"); err == nil || errors.Is(err, client.ErrNodeExists) {
					_, err = c.Create(ctx, path+"/items/queue-0000000001", encodedItem, client.Persistent)
				}
			}
			if err != nil && !errors.Is(err, client.ErrNodeExists) {
				return nil, err
			}
			isThere.Store(true)
		}
		d, err := q.Take(ctx)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// encodedItem is a batch of one item of no bytes.
var encodedItem = []byte{0, 1, 0, 1, 1, 0, 0, 0, 0, 2}
