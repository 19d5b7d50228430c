//go:build linux || darwin || freebsd

package durable

import "syscall"

// The modes of access(2).
const (
	mayEnter = 1
	mayWrite = 2
)

// writable returns why this process may not make files in a directory.
func writable(dir string) error { return syscall.Access(dir, mayWrite|mayEnter) }
