package serve

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/server/internal/socket"
)

// peek checks whether accepted connections have ended already. Owned by the goroutine that accepts.
type peek struct {
	look func(fd uintptr) bool // made once by newPeek
	one  [1]byte
	over bool
}

func newPeek() *peek {
	p := &peek{}
	p.look = func(fd uintptr) bool {
		n, _, err := unix.Recvfrom(int(fd), p.one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		p.over = n == 0 && err == nil || errors.Is(err, syscall.ECONNRESET)
		return true
	}
	return p
}

// hungUp reports whether the client has ended a connection, on which it may have sent something before. raw may be
// nil.
func hungUp(raw syscall.RawConn) (over bool) {
	if raw == nil {
		return false
	}
	err := raw.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(look, 0)
		over = err == nil && n > 0
	})
	return err != nil || over
}

// gone reports whether the client has ended the connection without sending anything. A client that opens and closes
// connections as fast as it can then costs only this check, and no reader with its buffers.
func (p *peek) gone(nc net.Conn) bool {
	raw := socket.Raw(nc)
	if raw == nil {
		return false
	}
	p.over = false
	return raw.Read(p.look) == nil && p.over
}
