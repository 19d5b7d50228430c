package zk

import (
	"strings"
	"unicode/utf8"
)

// checkPath returns ErrInvalidPath for paths that go-zookeeper does not send. A sequential path may end in a
// slash. Package client refuses some more paths, as servers do, with ErrBadArguments.
func checkPath(path string, isSequential bool) error {
	if path == "" || path[0] != '/' {
		return ErrInvalidPath
	}
	if path == "/" {
		return nil
	}
	for rest, more := path[1:], true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if name == "." || name == ".." || name == "" && (more || !isSequential) {
			return ErrInvalidPath
		}
	}
	for i := 1; i < len(path); i++ {
		if c := path[i]; c < 0x20 || c == 0x7f || c >= utf8.RuneSelf {
			return checkRunes(path[i:])
		}
	}
	return nil
}

// checkRunes is checkPath for the part that is not ASCII.
func checkRunes(path string) error {
	for _, r := range path {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xf000 && r <= 0xf8ff || r >= 0xfff0 && r < 0xffff {
			return ErrInvalidPath
		}
	}
	return nil
}
