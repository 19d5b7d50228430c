package recipes

import (
	"context"
	"errors"
	"slices"

	"github.com/seed94657493/warren/client"
)

// MultiMutex is several locks that are held together or not at all.
//
//	/a/_c_<uuid>-lock-0000000003    one Mutex at each path
//	/b/_c_<uuid>-lock-0000000017
//
// Guarantee: the same as Mutex's, for each of the paths. Locks are taken in the order of their paths, so that
// MultiMutexes never wait for each other in a cycle, whatever paths they have. A cycle is possible with programs that
// take the same locks one by one in another order; the context of the call ends that. Each path has a fencing token of
// its own: the resource that a lock protects checks the token of that lock. The layout is that of Curator's
// InterProcessMultiLock. A MultiMutex has no state and may be used concurrently. Source: operations 9.2.
type MultiMutex struct {
	c       *client.Client
	paths   []string
	options []Option
}

// NewMultiMutex returns the locks at some paths; a path that is given twice counts once. It panics if there is
// none.
func NewMultiMutex(c *client.Client, paths []string, options ...Option) *MultiMutex {
	if len(paths) == 0 {
		panic("recipes: multi mutex of no paths")
	}
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return &MultiMutex{c, slices.Compact(paths), options}
}

// Lock waits until all locks are granted or ctx ends. After an error it holds none.
func (m *MultiMutex) Lock(ctx context.Context) (*MultiHold, error) {
	return m.lock(ctx, (*Mutex).Lock)
}

// TryLock is Lock that returns ErrBusy instead of waiting.
func (m *MultiMutex) TryLock(ctx context.Context) (*MultiHold, error) {
	return m.lock(ctx, (*Mutex).TryLock)
}

func (m *MultiMutex) lock(ctx context.Context, lock func(*Mutex, context.Context) (*Hold, error)) (*MultiHold, error) {
	h := &MultiHold{paths: m.paths}
	h.ctx, h.end = tieTo(context.WithoutCancel(ctx))
	for _, path := range m.paths {
		part, err := lock(NewMutex(m.c, path, m.options...), ctx)
		if err == nil {
			h.parts, h.ctx.to = append(h.parts, part), append(h.ctx.to, part.Context())
			context.AfterFunc(part.Context(), func() { h.end(context.Cause(part.Context())) })
			if h.ctx.Err() != nil { // a lock that was granted before is lost
				err = context.Cause(h.ctx)
			}
		}
		if err != nil {
			_ = h.Release(ctx) // goes on in the background if ctx has ended
			return nil, err
		}
	}
	return h, nil
}

// MultiHold is the possession of several locks. All methods may be called concurrently.
type MultiHold struct {
	paths []string
	parts []*Hold // in the order of paths
	ctx   *tied
	end   context.CancelCauseFunc
}

// Context ends when the possession of one of the locks is no longer certain. See Hold.Context.
func (h *MultiHold) Context() context.Context { return h.ctx }

// Token is the fencing token of the lock at one of the paths, 0 for any other. See Hold.Token.
func (h *MultiHold) Token(path string) client.Zxid {
	if i, ok := slices.BinarySearch(h.paths, path); ok {
		return h.parts[i].Token()
	}
	return 0
}

// Release gives up all locks, the last one first. See Hold.Release.
func (h *MultiHold) Release(ctx context.Context) error {
	h.end(ErrReleased)
	var err error
	for _, part := range slices.Backward(h.parts) {
		err = errors.Join(err, part.Release(ctx))
	}
	return err
}
