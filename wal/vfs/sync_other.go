//go:build !linux

package vfs

import "os"

// syncData is fsync, where fdatasync does not exist or promises less.
func syncData(f *os.File) error { return f.Sync() }
