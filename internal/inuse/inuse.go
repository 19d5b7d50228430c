// Package inuse says which process has a TCP port that cannot be opened. It holds no state, and any goroutine may use
// it.
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
	holder := "another process"
	if at, ok := op.Addr.(*net.TCPAddr); ok {
		holder = holderOf("/proc", at.AddrPort())
	}
	return &Error{err, holder}
}

// Listen is net.Listen with Explain.
func Listen(network, address string) (net.Listener, error) {
	ln, err := net.Listen(network, address)
	return ln, Explain(err)
}
