//go:build !linux

package socket

import (
	"net"
	"time"
)

// Unacknowledged returns 0: only Linux tells.
func Unacknowledged(*net.TCPConn) time.Duration { return 0 }

// FactsOf returns no facts: only Linux tells.
func FactsOf(*net.TCPConn) (f Facts) { return f }
