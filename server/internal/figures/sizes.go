package figures

import "sync"

// Sizes is the size in bytes of the last, the smallest and the largest of some messages. Any
// goroutine may use it.
type Sizes struct {
	mu   sync.Mutex
	last SizeRange
}

// SizeRange is Sizes without a lock. The zero value has seen nothing.
type SizeRange struct {
	seen              bool
	last, least, most int64
}

// Add notes one message of n bytes.
func (r *SizeRange) Add(n int64) {
	if !r.seen || n < r.least {
		r.least = n
	}
	if !r.seen || n > r.most {
		r.most = n
	}
	r.last, r.seen = n, true
}

// Observe notes one message of n bytes.
func (s *Sizes) Observe(n int64) {
	s.mu.Lock()
	s.last.Add(n)
	s.mu.Unlock()
}

// Merge notes all the messages of r, the last of them as the last.
func (s *Sizes) Merge(r SizeRange) {
	if !r.seen {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.Add(r.least)
	s.last.Add(r.most)
	s.last.Add(r.last)
}

func (s *Sizes) reset() {
	s.mu.Lock()
	s.last = SizeRange{}
	s.mu.Unlock()
}

// View returns the three sizes; -1 for each before the first message, as ZooKeeper shows it.
func (s *Sizes) View() (last, least, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.seen {
		return -1, -1, -1
	}
	return s.last.last, s.last.least, s.last.most
}
