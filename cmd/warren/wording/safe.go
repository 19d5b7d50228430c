package wording

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe returns a foreign text in which only the end of a line and the tab act on a terminal: other control characters,
// which could change what the screen shows or what the terminal is, and those that turn the direction of the text are
// escaped.
func Safe(text string) string {
	if !strings.ContainsFunc(text, isUnsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnsafe(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// SafeJSON is Safe for JSON, which means the same afterwards. The encoder escapes only some control characters.
func SafeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isUnsafe) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		if isUnsafe(r) { // in a string, because there are none elsewhere
			b = fmt.Appendf(b, `\u%04x`, r)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

func isUnsafe(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
