package server

import "sync"

// sizes is the size in bytes of the last, the smallest and the largest of some messages. Any
// goroutine may use it.
type sizes struct {
	mu   sync.Mutex
	last sizeRange
}

// sizeRange is sizes without a lock. Zero is nothing seen.
type sizeRange struct {
	seen              bool
	last, least, most int64
}

func (r *sizeRange) add(n int64) {
	if !r.seen || n < r.least {
		r.least = n
	}
	if !r.seen || n > r.most {
		r.most = n
	}
	r.last, r.seen = n, true
}

// observe notes one message.
func (s *sizes) observe(n int64) {
	s.mu.Lock()
	s.last.add(n)
	s.mu.Unlock()
}

// merge notes all the messages of r, the last of them as the last.
func (s *sizes) merge(r sizeRange) {
	if !r.seen {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.add(r.least)
	s.last.add(r.most)
	s.last.add(r.last)
}

// reset forgets all.
func (s *sizes) reset() {
	s.mu.Lock()
	s.last = sizeRange{}
	s.mu.Unlock()
}

// view is -1 for all before the first message, as ZooKeeper shows it.
func (s *sizes) view() (last, least, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.seen {
		return -1, -1, -1
	}
	return s.last.last, s.last.least, s.last.most
}
