//go:build !linux

package serve

import "net"

// peek looks whether accepted connections are over already, which is not known here.
type peek struct{}

func newPeek() *peek { return &peek{} }

func (*peek) gone(net.Conn) bool { return false }
