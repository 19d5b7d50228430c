package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// choosePortLate leaves the choice of a socket's port to connect.
func choosePortLate(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
}

// sleepExactly makes the sleeps of this thread end in time.
func sleepExactly() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0) }

// sleep waits in the kernel, without the timers of the runtime.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
