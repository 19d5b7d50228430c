package words

import "golang.org/x/sys/unix"

// kernelVersion is the release of the operating system.
func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "n/a"
	}
	return unix.ByteSliceToString(u.Release[:])
}
