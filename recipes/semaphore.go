package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// Semaphore admits a limited number of holders.
//
//	/path/locks/_c_<uuid>-lock-0000000012      waits for the next permit; one at a time watches the leases
//	/path/leases/_c_<uuid>-lease-0000000009    a permit that is held
//
// Guarantee: at most limit Holds have a live Context, if all participants use the same limit; permits are granted
// in the order of the requests, and tokens grow in that order. It fails as Mutex's does. A release wakes at most
// one participant. The layout is that of Curator's InterProcessSemaphoreV2. A Semaphore has no state and may be
// used concurrently. Source: operations 9.2.
type Semaphore struct {
	lock   line
	leases line
	limit  int
}

// NewSemaphore returns the semaphore at a path. It panics if limit is below one. The option WithData applies to
// leases.
func NewSemaphore(c *client.Client, path string, limit int, options ...Option) *Semaphore {
	if limit < 1 {
		panic(fmt.Sprintf("recipes: semaphore of %d permits at %s", limit, path))
	}
	o := newOptions(options)
	lockOptions := o
	lockOptions.data, lockOptions.isStrict = nil, false
	return &Semaphore{
		lock:   line{c, paths.ChildOf(path, layouts.Locks), []string{layouts.Lock}, lockOptions},
		leases: line{c, paths.ChildOf(path, layouts.Leases), []string{layouts.Lease}, o},
		limit:  limit,
	}
}

// Acquire waits until a permit is granted or ctx ends, and leaves no znode behind if it fails.
func (s *Semaphore) Acquire(ctx context.Context) (*Hold, error) { return s.acquire(ctx, false) }

// TryAcquire is Acquire that returns ErrBusy instead of waiting. It is also busy while another participant is
// being granted a permit.
func (s *Semaphore) TryAcquire(ctx context.Context) (*Hold, error) { return s.acquire(ctx, true) }

func (s *Semaphore) acquire(ctx context.Context, isTry bool) (*Hold, error) {
	turn, err := s.lock.acquire(ctx, layouts.Lock, predecessor, isTry)
	if err != nil {
		return nil, err
	}
	// If the turn is lost meanwhile, another participant may count at the same time. That is harmless: a lease is
	// granted if it is among the first limit ones, which the order of znodes decides, not the turn.
	h, err := s.leases.acquireAfter(ctx, layouts.Lease, func(path string) error {
		return s.awaitRoom(ctx, path, isTry)
	})
	if releaseErr := turn.Release(ctx); err == nil && releaseErr != nil {
		_ = h.Release(ctx)
		return nil, releaseErr
	}
	return h, err
}

// awaitRoom waits until a lease is among the first of them. While it waits it is the only one that watches.
func (s *Semaphore) awaitRoom(ctx context.Context, path string, isTry bool) error {
	for {
		var names []string
		var w *client.Watch
		err := client.Retry(ctx, func(ctx context.Context) (err error) {
			names, _, w, err = s.leases.c.ChildrenW(ctx, s.leases.parent)
			return err
		})
		if errors.Is(err, client.ErrNoNode) {
			return ErrLost
		}
		if err != nil {
			return err
		}
		rank, isIn := 0, false
		for _, p := range layouts.Order(names, s.leases.markers) {
			if isIn = paths.ChildOf(s.leases.parent, p.Name) == path; isIn {
				break
			}
			rank++
		}
		switch {
		case !isIn:
			err = ErrLost
		case rank < s.limit:
			w.Close()
			return nil
		case isTry:
			err = ErrBusy
		default:
			err = awaitEvent(ctx, w)
		}
		if err != nil {
			w.Close()
			return err
		}
	}
}

// Holders returns the participants that have a permit, and the next one, in the order of grants.
func (s *Semaphore) Holders(ctx context.Context) ([]Contender, error) {
	return s.leases.contenders(ctx)
}
