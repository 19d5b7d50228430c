package shell

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// checkPath refuses a path as ZooKeeper's clients do, in their words. A sequential path is judged with a suffix.
// Positions count UTF-16 units, as in Java. Source: client-protocol 12.1.
func checkPath(path string, isSequential bool) error {
	const hint = "paths look like /a/b"
	if isSequential {
		path += "1"
	}
	switch {
	case path == "":
		return wrong("Path length must be > 0", hint)
	case path[0] != '/':
		return wrong("Path must start with / character", hint)
	case path == "/":
		return nil
	case strings.HasSuffix(path, "/"):
		return wrong("Path must not end with / character", hint)
	}
	if reason := badUnit(utf16.Encode([]rune(path))); reason != "" {
		return wrong(fmt.Sprintf("Invalid path string %q caused by %s", plain(path), reason), hint)
	}
	return nil
}

// plain lets %q add nothing but the quotes.
type plain string

// Format writes the quoted text without escapes.
func (p plain) Format(f fmt.State, _ rune) { fmt.Fprint(f, `"`+string(p)+`"`) }

// badUnit names the first thing that is wrong with a path, "" if nothing is.
func badUnit(u []uint16) string {
	endsName := func(i int) bool { return i == len(u) || u[i] == '/' }
	for i := 1; i < len(u); i++ {
		c, before := u[i], u[i-1]
		switch {
		case c == 0:
			return fmt.Sprintf("null character not allowed @%d", i)
		case c == '/' && before == '/':
			return fmt.Sprintf("empty node name specified @%d", i)
		case c == '.' && before == '.' && u[i-2] == '/' && endsName(i+1),
			c == '.' && before == '/' && endsName(i+1):
			return fmt.Sprintf("relative paths not allowed @%d", i)
		case c > 0 && c <= 0x1f, c >= 0x7f && c <= 0x9f, c >= 0xd800 && c <= 0xf8ff, c >= 0xfff0:
			return fmt.Sprintf("invalid character @%d", i)
		}
	}
	return ""
}
