// Package paths holds the lexical rules of znode paths: which paths are valid, where they split, which names are
// reserved for the system. It does not know whether a znode exists.
//
// All functions are pure. They allocate nothing and return parts of their argument, but for ChildOf.
package paths

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// Valid reports whether path may name a znode that is created, changed or checked. Deletes
// and reads are not validated. Source: client-protocol 12.1; its rules on UTF-16 units
// are restated here on code points: everything beyond U+FFFF and every malformed sequence is
// refused.
func Valid(path []byte) bool { return FaultAt(path, false) < 0 }

// FaultAt returns where the first byte or component that is not valid begins, -1 for a valid path. A sequential path
// is judged as if it had its suffix, so its last component may be any.
func FaultAt(path []byte, isSequential bool) int {
	if len(path) == 0 || path[0] != '/' {
		return 0
	}
	if len(path) == 1 {
		return -1
	}
	component := 1 // where the current component begins
	for i := 1 + plainPrefix(path[1:]); i < len(path); {
		c := path[i]
		switch {
		case c == '/':
			if !validComponent(path[component:i]) {
				return component
			}
			i++
			component = i
			i += plainPrefix(path[i:])
		case c < utf8.RuneSelf:
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
		default:
			r, size := utf8.DecodeRune(path[i:])
			if !validRune(r) {
				return i
			}
			i += size
		}
	}
	if isSequential || validComponent(path[component:]) {
		return -1
	}
	return component
}

// plainPrefix returns how many bytes at the beginning of a path, in steps of eight, are ASCII
// without slashes and control characters.
func plainPrefix(path []byte) (n int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(path)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(path[n:])
		slash, del := w^('/'*ones), w^(0x7f*ones)
		// x-ones&^x has the high bit of the lowest byte of x that is 0, and perhaps of others, but only if there
		// is one. In the same way w-' '*ones&^w has the high bit of the lowest byte below a space.
		if (w|(w-' '*ones)&^w|(slash-ones)&^slash|(del-ones)&^del)&highs != 0 {
			break
		}
	}
	return n
}

func validComponent(name []byte) bool {
	switch len(name) {
	case 0:
		return false
	case 1:
		return name[0] != '.'
	case 2:
		return name[0] != '.' || name[1] != '.'
	}
	return true
}

// validRune judges a rune beyond ASCII. A malformed sequence arrives as U+FFFD, which the last
// rule refuses.
func validRune(r rune) bool {
	switch {
	case r <= 0x9f: // C1 controls
		return false
	case r >= 0xd800 && r <= 0xf8ff: // surrogates and private use
		return false
	case r >= 0xfff0: // specials, and all that UTF-16 writes as a pair
		return false
	}
	return true
}

// LastSlash returns where the last slash of a path is, -1 if there is none. It looks at eight bytes at
// once, because a name may be very long.
func LastSlash(path []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	end := len(path)
	for ; end >= 8; end -= 8 {
		w := binary.LittleEndian.Uint64(path[end-8:]) ^ '/'*ones
		if (w-ones)&^w&highs != 0 {
			break
		}
	}
	return bytes.LastIndexByte(path[:end], '/')
}

// SplitParent splits path at its last slash into the parent's path, "" for the root, and the
// last component. ok is false for a path that no create or delete may name: one without a slash
// or with a NUL. Nothing else is validated here, because the parent is looked up before the rest
// of the path is judged. Source: client-protocol 11.2.
func SplitParent(path []byte) (parent, name []byte, ok bool) {
	slash := LastSlash(path)
	if slash < 0 || bytes.IndexByte(path, 0) >= 0 {
		return nil, nil, false
	}
	return path[:slash], path[slash+1:], true
}

// IsSystem reports whether path names one of the znodes that every tree has. They cannot be deleted.
func IsSystem(path []byte) bool {
	switch string(path) {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}

// WithoutRoot maps "/" to "" and leaves every other path as it is, so that the root has one name.
func WithoutRoot(path []byte) []byte {
	if len(path) == 1 && path[0] == '/' {
		return path[:0]
	}
	return path
}

// Parent returns the path of the parent of a znode other than the root, without a copy.
func Parent(path []byte) []byte {
	i := LastSlash(path)
	return path[:max(i, 1)]
}

// Hidden reports whether a path is below /zookeeper. Such a znode does not count in the digest of the tree.
func Hidden(path []byte) bool { return bytes.HasPrefix(path, []byte("/zookeeper/")) }

// ParentOf returns the path of the parent; of / it is /.
func ParentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// NameOf returns the last component of a path.
func NameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// ChildOf returns the path of a child.
func ChildOf(path, name string) string {
	if path == "/" {
		return "/" + name
	}
	return path + "/" + name
}

// Split returns the path of the parent ("/" if it is the root) and the last component. A path
// without a slash, that ends in one, or whose last two slashes touch, has no name.
func Split(path []byte) (parent, name []byte) {
	i := LastSlash(path)
	switch {
	case i < 0 || i == len(path)-1 || i > 0 && path[i-1] == '/':
		return nil, nil
	case i == 0:
		return path[:1], path[1:]
	}
	return path[:i], path[i+1:]
}
