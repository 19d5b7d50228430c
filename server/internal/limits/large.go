package limits

import "sync/atomic"

// LargeBudget bounds the bytes of large requests in flight. Any goroutine may use it. Source: server-semantics 6.3.
type LargeBudget struct {
	threshold int64 // requests above it are large; negative: no request is large
	most      int64
	used      atomic.Int64
}

// NewLargeBudget returns a budget of most bytes for requests of more than threshold bytes; a negative threshold
// switches it off.
func NewLargeBudget(threshold, most int64) *LargeBudget {
	return &LargeBudget{threshold: threshold, most: most}
}

// Reserve takes n bytes if that is a large request, and reports false if there are not enough.
func (l *LargeBudget) Reserve(n int) bool {
	if l.threshold < 0 || int64(n) <= l.threshold {
		return true
	}
	if l.used.Add(int64(n)) > l.most {
		l.used.Add(-int64(n))
		return false
	}
	return true
}

// Release gives back what Reserve took for a request of n bytes.
func (l *LargeBudget) Release(n int) {
	if l.threshold >= 0 && int64(n) > l.threshold {
		l.used.Add(-int64(n))
	}
}

// Used returns how many bytes are taken.
func (l *LargeBudget) Used() int64 { return l.used.Load() }
