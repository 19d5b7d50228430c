// Package inuse says which process has what this one wants: a TCP port that cannot be opened, or a file that is
// locked. It holds no state, and any goroutine may use it.
package inuse

import (
	"errors"
	"net"
	"syscall"
)

// Error is why a port was not opened: another process has it.
type Error struct {
	Err    error  // of package net
	Holder string // that process, such as "java (pid 4711)"; in words if it may not be known
}

// Error is the text of package net, and the process.
func (e *Error) Error() string { return e.Err.Error() + " by " + e.Holder }

// Unwrap returns the error of package net.
func (e *Error) Unwrap() error { return e.Err }

// Explain returns an error of net.Listen, as an *Error if the port is taken.
func Explain(err error) error {
	var op *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &op) {
		return err
	}
	holder := Unknown
	if at, ok := op.Addr.(*net.TCPAddr); ok {
		holder = holderOf("/proc", at.AddrPort())
	}
	return &Error{err, holder}
}

// Unknown is the holder that cannot be told.
const Unknown = "another process"

// LockedBy returns the id of the process that has locked a whole file; ok is false if none has, or it is not known.
func LockedBy(file string) (pid string, ok bool) { return lockedBy("/proc", file) }

// LockHolder is the process that has locked a file, such as "java (pid 4711)", or Unknown.
func LockHolder(file string) string {
	if pid, ok := LockedBy(file); ok {
		return nameOf("/proc", pid)
	}
	return Unknown
}

// Listen is net.Listen with Explain.
func Listen(network, address string) (net.Listener, error) {
	ln, err := net.Listen(network, address)
	return ln, Explain(err)
}
