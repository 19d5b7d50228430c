// Package socket writes to sockets without waiting for them: a goroutine writes its own data at once, and no
// other goroutine has to be woken. A Writer belongs to one connection, and one goroutine may use it at a time.
package socket

import (
	"net"
	"net/netip"
	"syscall"
)

// Raw returns the connection that WriteNow needs for nc, or nil if nc is not a plain TCP socket, and on systems that
// are no Unix.
func Raw(nc net.Conn) syscall.RawConn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok || !canTry {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// AddrPort returns the address and port of addr; the zero value if it is not an IP address. An IPv4-mapped IPv6
// address becomes IPv4.
func AddrPort(addr net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ap = tcp.AddrPort()
	} else {
		ap, _ = netip.ParseAddrPort(addr.String()) // of a connection that replaces a socket
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// ToBind is the one of the addresses of a name that a port is bound at: as for package net the first of IPv4, else
// the first.
func ToBind(ips []string) string {
	for _, text := range ips {
		if ip, err := netip.ParseAddr(text); err == nil && ip.Is4() {
			return text
		}
	}
	return ips[0]
}

// Writer is the state of a write, kept so that none has to be allocated. Its zero value is ready to use.
type Writer struct {
	write func(fd uintptr) bool // try, made once
	b     []byte
	n     int
	err   error
}

// WriteNow writes as much of b as the socket takes at once, and returns how many bytes that is. Fewer than len(b)
// bytes are not an error.
func (w *Writer) WriteNow(raw syscall.RawConn, b []byte) (n int, err error) {
	if w.write == nil {
		w.write = w.try
	}
	w.b, w.n, w.err = b, 0, nil
	err = raw.Write(w.write)
	w.b = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// try never asks to be called again when the socket is ready.
func (w *Writer) try(fd uintptr) bool {
	for w.n < len(w.b) {
		n, err := Write(fd, w.b[w.n:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			w.err = err
			return true
		default:
			w.n += n
		}
	}
	return true
}
