package client

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkPath returns an error for a path that no server accepts in a write. A sequential path is checked as if it
// had a suffix, so its end may be any character. Source: client-protocol 12.1.
func checkPath(path string, isSequential bool) error {
	if path == "" || path[0] != '/' {
		return fmt.Errorf("path %q does not begin with /: %w", path, ErrBadArguments)
	}
	if path == "/" {
		return nil
	}
	start := 1 // of the component
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			if c := path[i]; c < 0x20 || c == 0x7f || c >= utf8.RuneSelf && !validRune(path[i:]) {
				return fmt.Errorf("path %q has an invalid character at %d: %w", path, i, ErrBadArguments)
			}
			continue
		}
		if i == len(path) && isSequential {
			return nil
		}
		switch name := path[start:i]; name {
		case "", ".", "..":
			return fmt.Errorf("path %q has the invalid component %q: %w", path, name, ErrBadArguments)
		}
		start = i + 1
	}
	return nil
}

// validRune checks the rune at the front of s; inside of a rune it returns true.
func validRune(s string) bool {
	if !utf8.RuneStart(s[0]) {
		return true // checked at its first byte
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n <= 1:
		return false
	case r >= 0x7f && r <= 0x9f, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
		return false
	}
	return true
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

// joinChroot returns the path at the server.
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

// parentOf returns the path of the parent; of / it is /.
func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// childOf returns the path of a child.
func childOf(path, name string) string {
	if path == "/" {
		return "/" + name
	}
	return path + "/" + name
}
