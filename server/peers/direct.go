package peers

import (
	"net"
	"syscall"
)

// directSocket writes to a socket without waiting. One goroutine may use it at a time.
type directSocket struct {
	raw syscall.RawConn
	fn  func(fd uintptr) bool // try, made once
	b   []byte
	n   int
	err error
}

// newDirectSocket returns nil if nc is not a plain socket.
func newDirectSocket(nc net.Conn) *directSocket {
	sc, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	d := &directSocket{raw: raw}
	d.fn = d.try
	return d
}

// write writes as much of b as the socket takes now.
func (d *directSocket) write(b []byte) (n int, err error) {
	d.b, d.n, d.err = b, 0, nil
	err = d.raw.Write(d.fn)
	d.b = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// try never asks to be called again when the socket is ready.
func (d *directSocket) try(fd uintptr) bool {
	for d.n < len(d.b) {
		n, err := syscall.Write(int(fd), d.b[d.n:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			d.err = err
			return true
		default:
			d.n += n
		}
	}
	return true
}
