package krb5

import "syscall"

// endsWithTest makes the KDC end with the thread that has started it, so at the latest with the process of the test.
func endsWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
