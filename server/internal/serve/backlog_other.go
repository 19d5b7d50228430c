//go:build !linux

package serve

import (
	"errors"
	"net"
)

// setBacklog bounds how many connections wait to be accepted, where that is known how.
func setBacklog(net.Listener, int) error { return errors.ErrUnsupported }
