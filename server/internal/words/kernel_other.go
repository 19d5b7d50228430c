//go:build !linux

package words

// kernelVersion is the release of the operating system, on Linux only.
func kernelVersion() string { return "n/a" }
