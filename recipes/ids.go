package recipes

import (
	"context"
	"fmt"

	"github.com/seed94657493/warren/client"
)

// IDs hands out numbers that are unique: 1, 2, 3 and so on, with gaps.
//
//	/path    persistent; 8 bytes: the largest number that was handed out, or may be
//
// Guarantee: no number is handed out twice, whatever happens to connections and processes, and the numbers of one
// IDs grow. Numbers are reserved a block at a time, so a block in use is lost with its process, and the numbers
// of two processes are not in the order of time. The guarantee fails if a client deletes or lowers the znode. The
// layout is that of AtomicLong. All methods may be called concurrently.
type IDs struct {
	last  *AtomicLong
	block int64

	turn  chan struct{} // holds a token while a call uses what follows
	next  int64
	limit int64 // [next, limit) are reserved
}

// NewIDs returns the source of numbers at a path, which reserves block of them at a time. It panics if block is
// below one.
func NewIDs(c *client.Client, path string, block int, options ...Option) *IDs {
	if block < 1 {
		panic(fmt.Sprintf("recipes: ids in blocks of %d at %s", block, path))
	}
	return &IDs{last: NewAtomicLong(c, path, options...), block: int64(block), turn: make(chan struct{}, 1)}
}

// Next returns a fresh number. Only the first number of each block waits for a server; concurrent calls wait with
// it. Errors: ErrOverflow, ErrFormat.
func (s *IDs) Next(ctx context.Context) (int64, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if s.next == s.limit {
		// A block whose reservation has an unknown outcome is never used.
		err := again(ctx, func(ctx context.Context) error {
			last, err := s.last.Add(ctx, s.block)
			if err == nil {
				s.next, s.limit = last-s.block+1, last+1
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	s.next++
	return s.next - 1, nil
}
