package peers

import (
	"net"
	"slices"
	"sync"
)

// lobby holds the connections of one port on which the other side has not introduced itself yet. A member does that
// at once. When the lobby is full, the connection that has waited longest is closed, so silent connections cannot
// keep members out. While the process has its last file descriptors, scarceMax connections fill the lobby.
type lobby struct {
	max int
	mu  struct {
		sync.Mutex
		waiting []net.Conn // oldest first
	}
}

// scarceMax is how many connections wait while file descriptors are scarce.
const scarceMax = 8

// enter lets a connection wait. scarce says that it has one of the last file descriptors.
func (l *lobby) enter(nc net.Conn, scarce bool) {
	most := l.max
	if scarce {
		most = min(most, scarceMax)
	}
	l.mu.Lock()
	over := max(0, len(l.mu.waiting)-most+1)
	oldest := slices.Clone(l.mu.waiting[:over])
	l.mu.waiting = append(slices.Delete(l.mu.waiting, 0, over), nc)
	l.mu.Unlock()
	for _, nc := range oldest {
		_ = nc.Close()
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
