package client

import (
	"fmt"
	"strings"

	"github.com/seed94657493/warren/proto/paths"
)

// checkPath returns an error for a path that no server accepts in a write. A sequential path is checked as if it
// had a suffix, so its end may be any character. Source: client-protocol 12.1.
func checkPath(path string, isSequential bool) error {
	if at := paths.FaultAt([]byte(path), isSequential); at >= 0 {
		return fmt.Errorf("path %q is not valid at byte %d: %w", path, at, ErrBadArguments)
	}
	return nil
}

// appendPath appends the encoding of a path below a chroot ("" or "/a/b").
func appendPath(b []byte, chroot, path string) []byte {
	if chroot != "" && path == "/" {
		path = ""
	}
	n := len(chroot) + len(path)
	b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	b = append(b, chroot...)
	return append(b, path...)
}

func joinChroot(chroot, path string) string {
	switch {
	case chroot == "":
		return path
	case path == "/":
		return chroot
	}
	return chroot + path
}

// stripChroot returns a server's path without the chroot. A path outside of the chroot is returned unchanged.
func stripChroot(chroot, path string) string {
	if chroot == "" || !strings.HasPrefix(path, chroot) {
		return path
	}
	switch rest := path[len(chroot):]; {
	case rest == "":
		return "/"
	case rest[0] == '/':
		return rest
	}
	return path
}

// belowChroot keeps the paths of a server that are in the chroot, without the chroot.
func belowChroot(chroot string, paths []string) []string {
	if chroot == "" {
		return paths
	}
	kept := paths[:0]
	for _, path := range paths {
		if stripped := stripChroot(chroot, path); len(stripped) < len(path) {
			kept = append(kept, stripped)
		}
	}
	return kept
}
