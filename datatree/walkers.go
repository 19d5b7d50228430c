package datatree

import "sync"

// walkers are the snapshots under way.
type walkers struct {
	mu   sync.Mutex // walkers begin and end under the read lock
	live []*Walker
}

// leave tells all walkers that a znode without children is about to go.
func (w *walkers) leave(s *State, id NodeID) {
	for _, walker := range w.live {
		walker.leave(s, id)
	}
}
