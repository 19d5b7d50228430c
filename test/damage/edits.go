// Package damage damages the files of one server of three in every way that is listed, and starts all three again.
// Whatever happens to the damaged server, every acknowledged write is there, and no server shows another tree.
package damage

import (
	"bytes"
	"strings"
)

// Edit is something that may happen to the bytes of any file.
type Edit struct {
	Name   string
	change func(content []byte) []byte
}

// Do returns what becomes of a file called name that holds text.
func (e *Edit) Do(name string, text []byte) []byte { return edited(name, text, e.change) }

// edited changes the content of a file. The zeros at the end of a log are no content.
func edited(name string, text []byte, change func(content []byte) []byte) []byte {
	content, zeros := text, 0
	if strings.HasPrefix(name, "log.") {
		content = bytes.TrimRight(text, "\x00")
		zeros = len(text) - len(content)
	}
	if len(content) == 0 {
		return text
	}
	out := change(bytes.Clone(content))
	if len(out) == len(content) {
		out = append(out, make([]byte, zeros)...)
	}
	return out
}

func flip(part, of int) func([]byte) []byte {
	return func(c []byte) []byte {
		c[min(len(c)*part/of, len(c)-1)] ^= 0x10
		return c
	}
}

func zero(part, of, size int) func([]byte) []byte {
	return func(c []byte) []byte {
		at := min(len(c)*part/of, max(len(c)-size, 0))
		clear(c[at:min(at+size, len(c))])
		return c
	}
}

func cut(size func(n int) int) func([]byte) []byte {
	return func(c []byte) []byte { return c[:max(min(size(len(c)), len(c)), 0)] }
}

// Edits are all of them.
var Edits = []Edit{
	{"first byte flipped", flip(0, 1)},
	{"byte 12 flipped", func(c []byte) []byte { c[min(12, len(c)-1)] ^= 0x40; return c }},
	{"byte at a quarter flipped", flip(1, 4)},
	{"byte in the middle flipped", flip(1, 2)},
	{"byte at three quarters flipped", flip(3, 4)},
	{"last byte flipped", flip(1, 1)},
	{"64 bytes zeroed at a quarter", zero(1, 4, 64)},
	{"512 bytes zeroed in the middle", zero(1, 2, 512)},
	{"64 bytes zeroed at the end", zero(1, 1, 64)},
	{"zeroed", zero(0, 1, 1<<30)},
	{"cut to nothing", cut(func(int) int { return 0 })},
	{"cut to one byte", cut(func(int) int { return 1 })},
	{"cut to 16 bytes", cut(func(int) int { return 16 })},
	{"cut to a half", cut(func(n int) int { return n / 2 })},
	{"cut by one byte", cut(func(n int) int { return n - 1 })},
	{"64 bytes longer", func(c []byte) []byte { return append(c, bytes.Repeat([]byte("junk"), 16)...) }},
	{"twice as long", func(c []byte) []byte { return append(c, c...) }},
	{"replaced by text", func([]byte) []byte { return []byte("this is no file of a server\n") }},
}
