package datatree

import (
	"bytes"

	"github.com/seed94657493/warren/proto/paths"
)

// Finder looks up paths for one caller and remembers the last parent: requests that follow each
// other are often about siblings, for which all components but the last need not be looked up
// again. The zero value is ready.
//
// Invariant: path is the path of id, unless a znode was removed since (State.removals).
type Finder struct {
	path     []byte
	id       NodeID
	removals uint64
}

// Lookup returns s.Lookup(path).
func (f *Finder) Lookup(s *State, path []byte) NodeID {
	slash := paths.LastSlash(path)
	if slash <= 0 || slash == len(path)-1 || path[slash-1] == '/' {
		return s.Lookup(path)
	}
	parent := f.parent(s, path[:slash])
	if parent == 0 {
		return 0
	}
	return s.Child(parent, path[slash+1:])
}

// parent returns s.Lookup(path), and remembers it.
func (f *Finder) parent(s *State, path []byte) NodeID {
	if f.id != 0 && f.removals == s.removals && bytes.Equal(f.path, path) {
		return f.id
	}
	id := s.Lookup(path)
	if id != 0 {
		f.path, f.id, f.removals = append(f.path[:0], path...), id, s.removals
	}
	return id
}
