//go:build !linux

package inuse

import "net/netip"

// holderOf does not know.
func holderOf(string, netip.AddrPort) string { return Unknown }

// lockedBy does not know: there is no list of locks.
func lockedBy(string, string) (string, bool) { return "", false }

// nameOf names a process by its id.
func nameOf(_, pid string) string { return "process " + pid }
