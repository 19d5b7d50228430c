package recipes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/seed94657493/warren/client"
)

// Errors about the data of a znode.
var (
	// ErrOverflow is returned by Add if the result does not fit. Nothing has changed then.
	ErrOverflow = errors.New("recipes: number overflows")
	// ErrFormat says that the data of a znode is not in the format of the recipe.
	ErrFormat = errors.New("recipes: malformed data")
)

// Number is a number that all clients see and may change: the data of one znode, big-endian. A znode that does
// not exist counts as 0, and is created by the first change.
//
// Guarantee: changes are atomic and happen one after the other; none overwrites another unseen. If the connection
// is lost during a change, its error satisfies client.MayHaveApplied: the change was applied once or not at all,
// and only the caller can decide how to go on. The result of Get may be old when it arrives. The guarantee fails
// if a client deletes the znode, which begins at 0 again. Changes are optimistic, so many competing ones slow
// each other down. A Number has no state and may be used concurrently. Source: operations 9.2.
type Number[T int32 | int64] struct{ cell }

// Counter is a number in the layout of Curator's SharedCount and DistributedAtomicInteger: 4 bytes.
type Counter = Number[int32]

// AtomicLong is a number in the layout of Curator's DistributedAtomicLong: 8 bytes.
type AtomicLong = Number[int64]

// NewCounter returns the counter at a path.
func NewCounter(c *client.Client, path string, options ...Option) *Counter {
	return &Counter{cell{c, path, newOptions(options)}}
}

// NewAtomicLong returns the atomic long at a path.
func NewAtomicLong(c *client.Client, path string, options ...Option) *AtomicLong {
	return &AtomicLong{cell{c, path, newOptions(options)}}
}

// Get returns the number. Errors: ErrFormat.
func (n *Number[T]) Get(ctx context.Context) (T, error) {
	now, err := n.read(ctx)
	if err != nil {
		return 0, err
	}
	return n.decode(now)
}

// Add adds delta and returns the sum. Errors: ErrOverflow, ErrFormat, and one that satisfies client.MayHaveApplied.
func (n *Number[T]) Add(ctx context.Context, delta T) (T, error) {
	return n.alter(ctx, func(value T) (T, error) {
		sum := value + delta
		if (sum > value) != (delta > 0) && delta != 0 {
			return 0, fmt.Errorf("%w: %d + %d at %s", ErrOverflow, value, delta, n.path)
		}
		return sum, nil
	})
}

// Set replaces any value of the number. It may repeat the write after a lost connection, so another change in
// between may be lost.
func (n *Number[T]) Set(ctx context.Context, value T) error {
	_, err := n.put(ctx, n.encode(value))
	return err
}

// CompareAndSet replaces the number if it is the expected one, and reports whether it was. Errors are those of Add.
func (n *Number[T]) CompareAndSet(ctx context.Context, expected, value T) (bool, error) {
	_, err := n.alter(ctx, func(now T) (T, error) {
		if now != expected {
			return 0, errStop
		}
		return value, nil
	})
	if errors.Is(err, errStop) {
		return false, nil
	}
	return err == nil, err
}

// Follow ranges over the values: the current one, then every later one that it sees. It may skip values in quick
// succession, but never the last. It ends with an error, or without one when ctx ends.
func (n *Number[T]) Follow(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for node, err := range n.c.Follow(ctx, n.path) {
			var value T
			if err == nil {
				value, err = n.decode(node)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// alter applies f to the current value until no other change came in between.
func (n *Number[T]) alter(ctx context.Context, f func(T) (T, error)) (value T, err error) {
	_, err = n.change(ctx, func(old client.Node) ([]byte, error) {
		if value, err = n.decode(old); err == nil {
			value, err = f(value)
		}
		return n.encode(value), err
	})
	if err != nil {
		return 0, err
	}
	return value, nil
}

func (n *Number[T]) encode(value T) []byte {
	b, _ := binary.Append(nil, binary.BigEndian, value) // fails only for types without a fixed size
	return b
}

func (n *Number[T]) decode(now client.Node) (value T, err error) {
	if !now.Exists {
		return 0, nil
	}
	if len(now.Data) != binary.Size(value) {
		return 0, fmt.Errorf("%w: %s has %d bytes, want %d", ErrFormat, n.path, len(now.Data), binary.Size(value))
	}
	_, err = binary.Decode(now.Data, binary.BigEndian, &value)
	return value, err
}
