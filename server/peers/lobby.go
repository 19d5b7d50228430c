package peers

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/seed94657493/warren/server/internal/socket"
)

// lobby holds the connections of one port on which the other side has not introduced itself yet. A member does that
// at once, but its handshake waits for those of others. When the lobby is full, a connection is closed: of the address
// that has most of them, the one that has waited longest. So neither silent connections nor floods keep members out.
// While the process has its last file descriptors, scarceMax connections fill the lobby.
type lobby struct {
	max int
	mu  struct {
		sync.Mutex
		waiting []guest // oldest first
	}
}

// guest is a connection in a lobby.
type guest struct {
	nc   net.Conn
	from netip.Addr // of IPv6 the network of 64 bits
}

// scarceMax is how many connections wait while file descriptors are scarce.
const scarceMax = 8

// enter lets a connection wait. scarce says that it has one of the last file descriptors.
func (l *lobby) enter(nc net.Conn, scarce bool) {
	most := l.max
	if scarce {
		most = min(most, scarceMax)
	}
	from := socket.AddrPort(nc.RemoteAddr()).Addr()
	if from.Is6() {
		network, _ := from.Prefix(64) // 64 bits are not too many
		from = network.Addr()
	}
	var leave []net.Conn
	l.mu.Lock()
	for len(l.mu.waiting) >= most {
		i := l.last()
		leave = append(leave, l.mu.waiting[i].nc)
		l.mu.waiting = slices.Delete(l.mu.waiting, i, i+1)
	}
	l.mu.waiting = append(l.mu.waiting, guest{nc, from})
	l.mu.Unlock()
	for _, nc := range leave {
		_ = nc.Close()
	}
}

// last is the index of the connection that leaves next. REQUIRES: mu, and at least one waits.
func (l *lobby) last() (found int) {
	count := map[netip.Addr]int{}
	for _, s := range l.mu.waiting {
		count[s.from]++
	}
	for i, s := range l.mu.waiting {
		if count[s.from] > count[l.mu.waiting[found].from] {
			found = i
		}
	}
	return found
}

// leave takes nc out of the lobby. It returns false if nc was not there any more, because enter has closed it.
func (l *lobby) leave(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.mu.waiting, func(s guest) bool { return s.nc == nc })
	if i < 0 {
		return false
	}
	l.mu.waiting = slices.Delete(l.mu.waiting, i, i+1)
	return true
}
