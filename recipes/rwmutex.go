package recipes

import (
	"context"
	"slices"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
)

// RWMutex is the read/write lock of the paper: many readers or one writer.
//
//	/path/_c_<uuid>-__READ__0000000004    reads
//	/path/_c_<uuid>-__READ__0000000005    reads
//	/path/_c_<uuid>-__WRIT__0000000006    waits for 5, then for 4
//	/path/_c_<uuid>-__READ__0000000007    waits for 6, so that writers do not starve
//
// Guarantee: while the Context of a writer's Hold lives, no other Hold's does, and conflicting locks are granted
// in the order of their znodes. It fails as Mutex's does. The release of a reader wakes at most one writer, that
// of a writer the readers directly after it and at most one writer. Not re-entrant: a participant that holds one
// kind and waits for the other waits forever, or until its context ends. The layout is that of Curator's
// InterProcessReadWriteLock. An RWMutex has no state and may be used concurrently. Source: the paper's section
// 2.4; operations 9.2.
type RWMutex struct{ line line }

// NewRWMutex returns the lock at a path. All participants must use the same path.
func NewRWMutex(c *client.Client, path string, options ...Option) *RWMutex {
	return &RWMutex{line{c, path, []string{layouts.Read, layouts.Write}, newOptions(options)}}
}

// Lock waits until every participant before it has released, or ctx ends. It leaves no znode behind if it fails.
func (m *RWMutex) Lock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Write, predecessor, false)
}

// TryLock is Lock that returns ErrBusy instead of waiting.
func (m *RWMutex) TryLock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Write, predecessor, true)
}

// RLock waits until every writer before it has released, or ctx ends. It leaves no znode behind if it fails.
func (m *RWMutex) RLock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Read, writerAhead, false)
}

// TryRLock is RLock that returns ErrBusy instead of waiting.
func (m *RWMutex) TryRLock(ctx context.Context) (*Hold, error) {
	return m.line.acquire(ctx, layouts.Read, writerAhead, true)
}

// Contenders returns readers and writers, both holders and waiting ones, in the order of their znodes.
func (m *RWMutex) Contenders(ctx context.Context) ([]Contender, error) {
	return m.line.contenders(ctx)
}

// writerAhead is the blocker of readers: the nearest writer before them.
func writerAhead(line []layouts.Place, i int) int {
	for j, p := range slices.Backward(line[:i]) {
		if p.Marker == layouts.Write {
			return j
		}
	}
	return -1
}
