//go:build !linux

package words

// kernelVersion is the release of the operating system, which is not known here.
func kernelVersion() string { return "n/a" }
