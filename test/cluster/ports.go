package cluster

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports that tests take. They lie below the range from which the kernel takes the ports of outgoing connections and
// of listeners that do not name one.
const (
	portFirst = 10_000
	portBlock = 500
	portLimit = 24_000
)

// ports is the block of ports that this process has for itself: it listens on the first as long as it lives, so that
// no other process of tests takes the block, though nothing listens on the rest yet, or a server on one of them is
// down.
var ports struct {
	sync.Mutex
	held  net.Listener
	first int // that is held
	last  int // that was given away
}

// FreePorts returns n different ports as FreePort does.
func FreePorts(t testing.TB, n int) (free []int) {
	t.Helper()
	for range n {
		free = append(free, FreePort(t))
	}
	return free
}

// FreePort returns a loopback port that no process listens on, and that stays free until it is used and while a
// server is down. It comes again when all others of the block have been given away. It may be called concurrently.
func FreePort(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.held == nil {
		takeBlock(t)
	}
	for range portBlock {
		ports.last = ports.first + 1 + (ports.last-ports.first)%(portBlock-1)
		if l := listenOn(ports.last); l != nil {
			_ = l.Close()
			return ports.last
		}
	}
	t.Fatal("cluster: no free port")
	return 0
}

// takeBlock finds a block that no process has.
func takeBlock(t testing.TB) {
	t.Helper()
	for _, i := range rand.Perm((portLimit - portFirst) / portBlock) {
		first := portFirst + i*portBlock
		if l := listenOn(first); l != nil {
			ports.held, ports.first, ports.last = l, first, first
			return
		}
	}
	t.Fatal("cluster: no free block of ports")
}

// listenOn returns nil if a process listens on a port.
func listenOn(port int) net.Listener {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil
	}
	return l
}
