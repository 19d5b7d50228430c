//go:build !linux

package peers

import (
	"net"
	"time"
)

// setUserTimeout does nothing: only Linux has the option.
func setUserTimeout(*net.TCPConn, time.Duration) {}
