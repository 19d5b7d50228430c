package socket

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Unacknowledged returns for how long TCP has heard nothing from the other side although it has sent bytes, or probes
// of its keep-alive, that are not acknowledged. The kernel of the other side acknowledges bytes also while its process
// stands still, until its buffers are full and it takes no more, but may leave a probe unanswered if it has answered
// another less than half a second ago; so this is about the way to the other side. It is 0 if there are no such bytes
// and probes, and if it is not known.
func Unacknowledged(t *net.TCPConn) (silent time.Duration) {
	if info := infoOf(t); info != nil && (info.Unacked > 0 || info.Probes > 1) {
		silent = time.Duration(info.Last_ack_recv) * time.Millisecond
	}
	return silent
}

// FactsOf returns the facts of a connection; none if they are not known.
func FactsOf(t *net.TCPConn) (f Facts) {
	info := infoOf(t)
	if info == nil {
		return f
	}
	return Facts{Unacked: int(info.Unacked), Sacked: int(info.Sacked), NoWindow: info.Snd_wnd == 0,
		Repeats: int(info.Retransmits), Acked: info.Bytes_acked, Received: info.Segs_in}
}

// infoOf returns what the kernel tells of a connection; nil if it does not.
func infoOf(t *net.TCPConn) (info *unix.TCPInfo) {
	raw, err := t.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			info = got
		}
	})
	return info
}
