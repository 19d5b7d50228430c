//go:build !linux

package facts

// What the system tells of this process and of the machine is known on Linux only.

func kernelVersion() string { return "n/a" }

func fileDescriptors() (open, most int64) { return 0, 0 }
