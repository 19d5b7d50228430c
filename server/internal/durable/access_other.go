//go:build !(linux || darwin || freebsd)

package durable

// writable returns why this process may not make files in a directory; that is not known here.
func writable(string) error { return nil }
