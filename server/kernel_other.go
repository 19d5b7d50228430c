//go:build !linux

package server

// kernelVersion is the release of the operating system, which is not known here.
func kernelVersion() string { return "n/a" }
