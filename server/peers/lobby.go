package peers

import (
	"net"
	"slices"
	"sync"
)

// lobby is the waiting room of one port: connections that have not said who they are. A member says so at once, so when the room
// is full the one that has waited longest leaves; silent strangers cannot keep members out.
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

// leave reports whether nc was still there; if not, it has been closed.
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
