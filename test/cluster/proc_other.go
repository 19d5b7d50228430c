//go:build unix && !linux

package cluster

import "syscall"

// procAttr keeps signals of the terminal from the child.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
