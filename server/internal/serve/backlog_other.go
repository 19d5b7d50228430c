//go:build !linux

package serve

import (
	"errors"
	"net"
)

// setBacklog bounds how many connections wait to be accepted, on Linux only.
func setBacklog(net.Listener, int) error { return errors.ErrUnsupported }
