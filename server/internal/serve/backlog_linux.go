package serve

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setBacklog bounds how many connections wait to be accepted, as listen(2) does. The system bounds it as well (net.core.somaxconn).
func setBacklog(ln net.Listener, n int) error {
	l, ok := ln.(syscall.Conn)
	if !ok {
		return nil // no socket of the system
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Listen(int(fd), n) }) // on a socket that listens it changes this alone
	if err != nil {
		return err
	}
	return failed
}
