package cluster

import "syscall"

// procAttr makes the kernel end the child when the test process ends, and keeps signals of the
// terminal from it.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
