package recipes

import (
	"context"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
)

// Mutex is the lock without herd effect of the paper: each participant waits for the one before it, and a release
// wakes one.
//
//	/path/_c_<uuid>-lock-0000000007    the holder
//	/path/_c_<uuid>-lock-0000000008    waits for 7
//	/path/_c_<uuid>-lock-0000000009    waits for 8
//
// Guarantee: at most one Hold's Context lives at a time, and locks are granted in the order of their znodes. The
// guarantee fails when a holder acts without checking Context, or is paused in between; the fencing token covers
// that. Locks are not re-entrant: a second Lock waits for the first, also of the same session. The layout is that
// of Curator's InterProcessMutex; the two exclude each other. A Mutex has no state and may be used concurrently.
// Source: the paper's section 2.4; operations 9.2.
type Mutex struct{ line line }

// NewMutex returns the lock at a path. All participants must use the same path.
func NewMutex(c *client.Client, path string, options ...Option) *Mutex {
	return &Mutex{line{c, path, []string{layouts.Lock}, newOptions(options)}}
}

// Lock waits until the lock is granted or ctx ends, and leaves no znode behind if it fails. ErrLost says that
// this participant's znode disappeared during the wait.
func (m *Mutex) Lock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Lock, predecessor, false)
}

// TryLock is Lock that returns ErrBusy instead of waiting.
func (m *Mutex) TryLock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Lock, predecessor, true)
}

// Contenders returns the holder and the waiting participants, in the order of grants.
func (m *Mutex) Contenders(ctx context.Context) ([]Contender, error) { return m.line.contenders(ctx) }
