package datatree

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// systemPaths are the znodes every tree has. Nobody may delete them.
var systemPaths = [...]string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"}

// validPath reports whether path may name a znode that is created, changed or checked. Deletes
// and reads are not validated. Source: client-protocol section 12.1; its rules on UTF-16 units
// are restated here on code points: everything beyond U+FFFF and every malformed sequence is
// refused.
func validPath(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	if len(path) == 1 {
		return true
	}
	component := 1 // where the current component begins
	for i := 1 + plainPrefix(path[1:]); i < len(path); {
		c := path[i]
		switch {
		case c == '/':
			if !validComponent(path[component:i]) {
				return false
			}
			i++
			component = i
			i += plainPrefix(path[i:])
		case c < utf8.RuneSelf:
			if c < 0x20 || c == 0x7f {
				return false
			}
			i++
		default:
			r, size := utf8.DecodeRune(path[i:])
			if !validRune(r) {
				return false
			}
			i += size
		}
	}
	return validComponent(path[component:])
}

// plainPrefix returns how many bytes at the beginning of a path, in steps of eight, are ASCII that needs no second look: no slash and no
// control character.
func plainPrefix(path []byte) (n int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(path)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(path[n:])
		slash, del := w^('/'*ones), w^(0x7f*ones)
		// x-ones&^x has the high bit of the lowest byte of x that is 0, and perhaps of others, but only if there is one; so has
		// w-' '*ones&^w of one below a space.
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

// lastSlash returns where the last slash of a path is, -1 if there is none. It looks at eight bytes at once, for a name may be very long.
func lastSlash(path []byte) int {
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

// splitParent splits path at its last slash into the parent's path, "" for the root, and the
// last component. ok is false for a path that no create or delete may name: one without a slash
// or with a NUL. Nothing else is validated here, because the parent is looked up before the rest
// of the path is judged. Source: client-protocol section 11.2.
func splitParent(path []byte) (parent, name []byte, ok bool) {
	slash := lastSlash(path)
	if slash < 0 || bytes.IndexByte(path, 0) >= 0 {
		return nil, nil, false
	}
	return path[:slash], path[slash+1:], true
}

// isSystemPath reports whether path names one of the znodes that cannot be deleted.
func isSystemPath(path []byte) bool {
	for _, p := range systemPaths {
		if string(path) == p {
			return true
		}
	}
	return false
}

// rootAlias maps "/" to "", so that the root has one name.
func rootAlias(path []byte) []byte {
	if len(path) == 1 && path[0] == '/' {
		return path[:0]
	}
	return path
}
