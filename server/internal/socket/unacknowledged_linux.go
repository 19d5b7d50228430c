package socket

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Unacknowledged returns for how long TCP has heard nothing from the other side although it has sent bytes that are
// not acknowledged. The kernel of the other side acknowledges bytes also while its process stands still, until its
// buffers are full and it takes no more; so this is about the way to the other side. It is 0 if there are no such
// bytes, and if it is not known.
func Unacknowledged(t *net.TCPConn) (silent time.Duration) {
	raw, err := t.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Unacked > 0 {
			silent = time.Duration(info.Last_ack_recv) * time.Millisecond
		}
	})
	return silent
}
