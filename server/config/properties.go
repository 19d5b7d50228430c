package config

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// fileBytesMax bounds configuration files: thousands of times a large zoo.cfg.
const fileBytesMax = 1 << 20

// entry is one key and value of a file, unescaped and trimmed.
type entry struct {
	key, value string
	line       int // the first line it is on, 1-based
}

// parseProperties splits a Java Properties file into its properties in file order, duplicates included.
// A malformed \u escape is a problem and leaves its property out. Source: operations 1.1.
func parseProperties(text []byte, file string) ([]entry, Problems) {
	var (
		props    []entry
		problems Problems
	)
	lines := lineReader{rest: decodeText(text)}
	for {
		raw, line, ok := lines.next()
		if !ok {
			return props, problems
		}
		rawKey, rawValue := splitProperty(raw)
		key, keyErr := unescape(rawKey)
		value, valueErr := unescape(rawValue)
		if keyErr != nil || valueErr != nil {
			problems = append(problems, &Problem{
				File: file, Line: line, Key: trim(rawKey), Rule: string(errEscape), Code: ExitInvalid,
			})
			continue
		}
		props = append(props, entry{key: trim(key), value: trim(value), line: line})
	}
}

// EachProperty calls read for each property of a Java Properties file, duplicates included, until read fails. A
// malformed file is Problems.
func EachProperty(text []byte, file string, read func(line int, key, value string) error) error {
	entries, problems := parseProperties(text, file)
	if err := problems.err(); err != nil {
		return err
	}
	for _, e := range entries {
		if err := read(e.line, e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// decodeText reads the bytes as UTF-8 if they are valid UTF-8, and otherwise as Latin-1, in which Properties
// files are written. A byte order mark is dropped: it would become part of the first key.
func decodeText(text []byte) string {
	if utf8.Valid(text) {
		return string(bytes.TrimPrefix(text, []byte("\ufeff")))
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for _, c := range text {
		b.WriteRune(rune(c))
	}
	return b.String()
}

// lineReader yields logical lines: blank lines and comments are skipped, continued lines joined. Escapes stay in.
type lineReader struct {
	rest string
	line int // natural lines taken so far
}

// next returns the next logical line and the number of its first natural line.
func (r *lineReader) next() (logical string, first int, ok bool) {
	var b strings.Builder
	continued := false
	for r.rest != "" {
		natural := r.natural()
		natural = strings.TrimLeft(natural, " \t\f")
		if !continued {
			if natural == "" || natural[0] == '#' || natural[0] == '!' {
				continue
			}
			first = r.line
		}
		if body, cut := cutContinuation(natural); cut {
			b.WriteString(body)
			continued = true
			continue
		}
		b.WriteString(natural)
		return b.String(), first, true
	}
	return b.String(), first, continued && b.Len() > 0
}

// natural takes one line without its end, which is LF, CR or CR LF.
func (r *lineReader) natural() string {
	r.line++
	i := strings.IndexAny(r.rest, "\r\n")
	if i < 0 {
		line := r.rest
		r.rest = ""
		return line
	}
	line := r.rest[:i]
	if strings.HasPrefix(r.rest[i:], "\r\n") {
		i++
	}
	r.rest = r.rest[i+1:]
	return line
}

// cutContinuation drops the last backslash of a line that ends in an odd number of them.
func cutContinuation(line string) (string, bool) {
	n := len(line) - len(strings.TrimRight(line, `\`))
	if n%2 == 0 {
		return line, false
	}
	return line[:len(line)-1], true
}

// splitProperty cuts a logical line at the first unescaped '=', ':' or blank. Blanks around a separator belong to it.
func splitProperty(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' && end+1 < len(line) {
			end++
		}
		end++
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], value
}

// unescape resolves the escapes of a key or value. An unknown escape is the character itself.
func unescape(s string) (string, error) {
	if !strings.ContainsRune(s, '\\') {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1]
		if c == 'u' {
			r, n, err := unicodeEscape(s[i:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n
			continue
		}
		if at := strings.IndexByte("tnrf", c); at >= 0 {
			c = "\t\n\r\f"[at]
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), nil
}

// unicodeEscape reads \uXXXX, or two of them that form a surrogate pair, and returns how many bytes that took.
func unicodeEscape(s string) (rune, int, error) {
	high, err := codeUnit(s)
	if err != nil {
		return 0, 0, err
	}
	if !utf16.IsSurrogate(high) {
		return high, 6, nil
	}
	if low, err := codeUnit(s[6:]); err == nil {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 12, nil
		}
	}
	return utf8.RuneError, 6, nil
}

const errEscape = rule("malformed \\uxxxx encoding")

// codeUnit reads one \uXXXX.
func codeUnit(s string) (rune, error) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, errEscape
	}
	unit, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return 0, errEscape
	}
	return rune(unit), nil
}

// trim drops the characters that Java's String.trim drops: all up to U+0020, at both ends.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
