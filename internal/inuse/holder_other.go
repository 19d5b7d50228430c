//go:build !linux

package inuse

import "net/netip"

// holderOf does not know.
func holderOf(string, netip.AddrPort) string { return "another process" }
