package serve

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/server/internal/socket"
)

// peek looks whether accepted connections are over already. It belongs to the goroutine that accepts.
type peek struct {
	look func(fd uintptr) bool // once, made by NewPeek
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

// gone reports whether the client has ended a connection without a word. Whoever opens and closes connections as fast as it can costs
// only this look then, and no reader with its buffers.
func (p *peek) gone(nc net.Conn) bool {
	raw := socket.Raw(nc)
	if raw == nil {
		return false
	}
	p.over = false
	return raw.Read(p.look) == nil && p.over
}
