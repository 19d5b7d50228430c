//go:build !linux

package serve

import (
	"net"
	"syscall"
)

// peek checks whether accepted connections have ended already, on Linux only.
type peek struct{}

func newPeek() *peek { return &peek{} }

func (*peek) gone(net.Conn) bool { return false }

// hungUp reports whether the client has ended a connection, on Linux only.
func hungUp(syscall.RawConn) bool { return false }
