package serve

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setBacklog bounds how many connections wait to be accepted, as listen(2) does. The kernel bounds that as well
// (net.core.somaxconn).
func setBacklog(ln net.Listener, n int) error {
	l, ok := ln.(syscall.Conn)
	if !ok {
		return nil // not a socket of the operating system
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	// On a listening socket listen(2) changes only the backlog.
	err = raw.Control(func(fd uintptr) { failed = unix.Listen(int(fd), n) })
	if err != nil {
		return err
	}
	return failed
}
