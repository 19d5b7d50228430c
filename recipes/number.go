package recipes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/client"
)

// Errors about the data of a znode.
var (
	// ErrOverflow is returned by Add if the result does not fit. Nothing has changed then.
	ErrOverflow = errors.New("recipes: number overflows")
	// ErrFormat says that a znode does not hold what the recipe keeps there.
	ErrFormat = errors.New("recipes: malformed data")
)

// Number is a number that everybody sees and may change: the data of one znode, big-endian. A znode that does not exist is 0, and
// made by the first change.
//
// Guarantee: changes are atomic and happen one after the other; none is overwritten unseen. If the connection is lost while a change
// is under way, its error satisfies client.MayHaveApplied: it has happened once or not at all, and only the caller can decide what to do
// about it. What Get returns may be old when it arrives. It breaks if somebody deletes the znode, which begins at 0 again. Changes
// are optimistic, so many that compete slow each other down. A Number has no state and may be used concurrently. Source:
// operations section 9.2.
type Number[T int32 | int64] struct {
	c    *client.Client
	path string
	options
}

// Counter is a number in the layout of Curator's SharedCount and DistributedAtomicInteger: 4 bytes.
type Counter = Number[int32]

// AtomicLong is a number in the layout of Curator's DistributedAtomicLong: 8 bytes.
type AtomicLong = Number[int64]

// NewCounter returns the counter at a path.
func NewCounter(c *client.Client, path string, options ...Option) *Counter {
	return &Counter{c, path, newOptions(options)}
}

// NewAtomicLong returns the atomic long at a path.
func NewAtomicLong(c *client.Client, path string, options ...Option) *AtomicLong {
	return &AtomicLong{c, path, newOptions(options)}
}

// Get returns the number. Errors: ErrFormat.
func (n *Number[T]) Get(ctx context.Context) (T, error) {
	value, _, _, err := n.read(ctx)
	return value, err
}

// Add adds delta and returns the sum. Errors: ErrOverflow, ErrFormat, and one that satisfies client.MayHaveApplied.
func (n *Number[T]) Add(ctx context.Context, delta T) (T, error) {
	return n.change(ctx, func(value T) (T, error) {
		sum := value + delta
		if (sum > value) != (delta > 0) && delta != 0 {
			return 0, fmt.Errorf("%w: %d + %d at %s", ErrOverflow, value, delta, n.path)
		}
		return sum, nil
	})
}

// Set replaces the number, whatever it is. It may be repeated after a lost connection, so another change in between may be lost.
func (n *Number[T]) Set(ctx context.Context, value T) error {
	return again(ctx, func(ctx context.Context) error {
		_, err := n.change(ctx, func(T) (T, error) { return value, nil })
		return err
	})
}

// errDiffers stops a CompareAndSet.
var errDiffers = errors.New("recipes: number differs")

// CompareAndSet replaces the number if it is the expected one, and reports whether it was. Errors are those of Add.
func (n *Number[T]) CompareAndSet(ctx context.Context, expected, value T) (bool, error) {
	_, err := n.change(ctx, func(now T) (T, error) {
		if now != expected {
			return 0, errDiffers
		}
		return value, nil
	})
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	return err == nil, err
}

// Follow ranges over the values: the current one, then every later one that is seen. Values that follow each other quickly may be left
// out, the last never is. It ends with an error, or silently when ctx ends.
func (n *Number[T]) Follow(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for node, err := range n.c.Follow(ctx, n.path) {
			var value T
			if err == nil && node.Exists {
				value, err = n.decode(node.Data)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// change applies f to the current value until nobody has come in between.
func (n *Number[T]) change(ctx context.Context, f func(T) (T, error)) (T, error) {
	for limit := time.Millisecond; ; limit = min(2*limit, 100*time.Millisecond) {
		value, stat, exists, err := n.read(ctx)
		if err != nil {
			return 0, err
		}
		value, err = f(value)
		if err != nil {
			return 0, err
		}
		err = n.write(ctx, value, stat.Version, exists)
		switch {
		case err == nil:
			return value, nil
		case errors.Is(err, client.ErrBadVersion), errors.Is(err, client.ErrNodeExists), errors.Is(err, client.ErrNoNode):
			// Somebody else was faster. All who compete come back at different times.
		case !client.SafeToRetry(err):
			return 0, err
		}
		timer := time.NewTimer(rand.N(limit))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}

// write replaces what read has seen.
func (n *Number[T]) write(ctx context.Context, value T, version int32, exists bool) error {
	if exists {
		_, err := n.c.Set(ctx, n.path, n.encode(value), version)
		return err
	}
	_, err := n.c.Create(ctx, n.path, n.encode(value), client.Persistent, client.WithACL(n.acl...))
	if errors.Is(err, client.ErrNoNode) {
		if ensureErr := n.ensure(ctx, n.c, parentOf(n.path)); ensureErr != nil && !isUnknown(ensureErr) {
			return ensureErr
		}
	}
	return err
}

func (n *Number[T]) read(ctx context.Context) (value T, stat client.Stat, exists bool, err error) {
	var data []byte
	err = client.Retry(ctx, func(ctx context.Context) (err error) {
		data, stat, err = n.c.Get(ctx, n.path)
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		return 0, stat, false, nil
	}
	if err == nil {
		value, err = n.decode(data)
	}
	return value, stat, true, err
}

func (n *Number[T]) encode(value T) []byte {
	b, _ := binary.Append(nil, binary.BigEndian, value) // fails only for types without a fixed size
	return b
}

func (n *Number[T]) decode(data []byte) (value T, err error) {
	if len(data) != binary.Size(value) {
		return 0, fmt.Errorf("%w: %s has %d bytes, want %d", ErrFormat, n.path, len(data), binary.Size(value))
	}
	_, err = binary.Decode(data, binary.BigEndian, &value)
	return value, err
}
