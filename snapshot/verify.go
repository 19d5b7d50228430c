package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Verify reads a snapshot completely and checks what loading checks: the format, every seal, and that every znode
// follows its parent. It returns ErrCorrupt for a file that is not whole.
func (s *Store) Verify(m Meta) error {
	t, seen, err := verify(s.o.FS, s.path(m.Name))
	if err = s.view().compared(m, &t, seen, err); err == nil {
		s.warned(m.Name, s.remember(m.Name, m.Zxid, seen))
	}
	return err
}

// Verify checks the snapshot file at path as Store.Verify does.
func Verify(fs vfs.FS, path string) (Trailer, error) {
	t, _, err := verify(fs, path)
	return t, err
}

func verify(fs vfs.FS, path string) (Trailer, sums, error) {
	t, seen, err := load(fs, path, &preOrder{}, chunkBytes)
	if errors.Is(err, errNotPreOrder) {
		t, seen, err = load(fs, path, &parentsFirst{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}, chunkBytes)
	}
	return t, seen, err
}

// errNotPreOrder does not mean that a file is damaged.
var errNotPreOrder = errors.New("not in pre-order")

// errNoParent is returned for a znode whose parent was not read before it.
var errNoParent = errors.New("comes before its parent, or has none")

// preOrder is a Sink that checks that every znode follows its parent, in the order in which every known writer
// walks a tree: there the parent of a znode is the znode before it, or an ancestor of that one.
type preOrder struct {
	discard
	last []byte
}

func (o *preOrder) Node(path, _ []byte, _ int64, _ *proto.StatPersisted) error {
	parent := path[:max(bytes.LastIndexByte(path, '/'), 0)]
	if !bytes.HasPrefix(o.last, parent) || len(o.last) > len(parent) && o.last[len(parent)] != '/' {
		return errNotPreOrder
	}
	o.last = append(o.last[:0], path...)
	return nil
}

// parentsFirst is a Sink that checks the same in any order, with a hash of every path in memory.
type parentsFirst struct {
	discard
	seed maphash.Seed
	seen map[uint64]struct{}
}

func (o *parentsFirst) Node(path, _ []byte, _ int64, _ *proto.StatPersisted) error {
	if len(path) > 0 {
		parent := path[:bytes.LastIndexByte(path, '/')]
		if _, ok := o.seen[maphash.Bytes(o.seed, parent)]; !ok {
			return fmt.Errorf("%w: %w", ErrCorrupt, errNoParent)
		}
	}
	o.seen[maphash.Bytes(o.seed, path)] = struct{}{}
	return nil
}
