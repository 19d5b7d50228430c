//go:build unix

package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// descriptor returns the number of the descriptor of a connection, and how many the process may open at present. ok
// is false if it is no socket, or if there is no limit.
func descriptor(nc net.Conn) (number, most uint64, ok bool) {
	raw := Raw(nc)
	if raw == nil {
		return 0, 0, false
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || int64(limit.Cur) <= 0 {
		return 0, 0, false
	}
	err := raw.Control(func(fd uintptr) { number = uint64(fd) })
	return number, uint64(limit.Cur), err == nil
}
