package peers

import (
	"net"
	"slices"
	"sync"
)

// lobby holds the connections of one port on which the other side has not introduced itself yet. A member does that
// at once. When the lobby is full, the connection that has waited longest is closed, so silent connections cannot
// keep members out.
type lobby struct {
	max int
	mu  struct {
		sync.Mutex
		waiting []net.Conn // oldest first
	}
}

func (l *lobby) enter(nc net.Conn) {
	l.mu.Lock()
	var oldest net.Conn
	if len(l.mu.waiting) >= l.max {
		oldest = l.mu.waiting[0]
		l.mu.waiting = slices.Delete(l.mu.waiting, 0, 1)
	}
	l.mu.waiting = append(l.mu.waiting, nc)
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
}

// leave takes nc out of the lobby. It returns false if nc was not there any more, because enter has closed it.
func (l *lobby) leave(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.mu.waiting, nc)
	if i < 0 {
		return false
	}
	l.mu.waiting = slices.Delete(l.mu.waiting, i, i+1)
	return true
}
