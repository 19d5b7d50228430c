//go:build unix

package rescue

import (
	"io/fs"
	"syscall"
)

// inodeOf is the number of a file on its file system.
func inodeOf(info fs.FileInfo) (uint64, bool) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino, true
	}
	return 0, false
}
