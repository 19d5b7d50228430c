package digestmd5

import (
	"bytes"
	"errors"
)

// directives are the key=value pairs of a token. Source: RFC 2831 section 7.1.
type directives map[string]string

const (
	// TokenMax is the longest token that is read, in bytes: RFC 2831 section 2.1.2.
	TokenMax = 4096

	directivesMax = 64
)

var (
	errTokenSize = errors.New("digest-md5: token is too long")
	errToken     = errors.New("digest-md5: token is malformed")
	errTwice     = errors.New("digest-md5: token has a directive twice")
)

// parseDirectives reads a token. Keys are compared without regard to case. Each may occur once, except realm and
// auth-param of a challenge, of which the first counts.
func parseDirectives(token []byte) (directives, error) {
	if len(token) > TokenMax {
		return nil, errTokenSize
	}
	all := directives{}
	rest := token
	for {
		if rest = bytes.TrimLeft(rest, blanks+","); len(rest) == 0 {
			return all, nil
		}
		var key, value string
		var ok bool
		if key, rest, ok = takeKey(rest); !ok {
			return nil, errToken
		}
		if value, rest, ok = takeValue(rest); !ok {
			return nil, errToken
		}
		if _, twice := all[key]; twice && key != "realm" {
			return nil, errTwice
		} else if !twice {
			all[key] = value
		}
		if len(all) > directivesMax {
			return nil, errToken
		}
		if rest = skipBlanks(rest); len(rest) > 0 && rest[0] != ',' {
			return nil, errToken
		}
	}
}

const blanks = " \t\r\n"

func skipBlanks(b []byte) []byte { return bytes.TrimLeft(b, blanks) }

// takeKey reads a token and the equals sign, in lower case.
func takeKey(b []byte) (key string, rest []byte, ok bool) {
	var name []byte
	for len(b) > 0 && isTokenByte(b[0]) {
		c := b[0]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		name, b = append(name, c), b[1:]
	}
	b = skipBlanks(b)
	if len(name) == 0 || len(b) == 0 || b[0] != '=' {
		return "", nil, false
	}
	return string(name), skipBlanks(b[1:]), true
}

// takeValue reads a token or a quoted text.
func takeValue(b []byte) (value string, rest []byte, ok bool) {
	var v []byte
	if len(b) == 0 || b[0] != '"' {
		for len(b) > 0 && isTokenByte(b[0]) {
			v, b = append(v, b[0]), b[1:]
		}
		return string(v), b, len(v) > 0
	}
	for b = b[1:]; len(b) > 0; b = b[1:] {
		switch {
		case b[0] == '"':
			return string(v), b[1:], true
		case b[0] == '\\' && len(b) > 1:
			b = b[1:]
		}
		v = append(v, b[0])
	}
	return "", nil, false
}

// isTokenByte reports whether c may occur in a value without quotes. RFC 2616 does not allow slashes there, but
// some clients send them.
func isTokenByte(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', '"', '=', '\\':
		return false
	}
	return c > ' ' && c < 0x7f
}

func appendQuoted(b []byte, value string) []byte {
	b = append(b, '"')
	for i := range len(value) {
		if c := value[i]; c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, value[i])
	}
	return append(b, '"')
}
