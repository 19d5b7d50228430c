package wording

import (
	"strconv"
	"strings"
	"unicode"
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

func isUnsafe(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
