package sasl

import (
	"fmt"
	"strings"
)

// JAAS holds the sections of a JAAS login configuration, by name. The grammar is that of Java's ConfigFile:
// sections of the form
//
//	Name {
//	  class.of.LoginModule required
//	    option="value"
//	    option=value;
//	};
//
// with one or more modules each, and comments as in Java. Expansion of ${property} is refused.
type JAAS map[string][]Module

// Module is one login module of a section.
type Module struct {
	// Class is the Java class.
	Class string
	// Flag is required, requisite, sufficient or optional, in lower case.
	Flag string
	// Options are the options of the module.
	Options map[string]string
}

// Bounds of a file, so that a wrong file does no harm.
const (
	// JAASBytesMax is the largest file that is read, in bytes.
	JAASBytesMax   = 1 << 20
	sectionsMax    = 1024
	modulesMax     = 64
	optionsMax     = 100_000
	identifierMax  = 1024
	optionValueMax = 64 << 10
)

// ParseJAAS reads a file. Errors name the line and the expected text, and never the found text: it could be a
// password.
func ParseJAAS(text []byte) (JAAS, error) {
	if len(text) > JAASBytesMax {
		return nil, fmt.Errorf("sasl: JAAS file of %d bytes is larger than %d", len(text), JAASBytesMax)
	}
	p := &jaasParser{text: text, line: 1}
	p.next()
	all := JAAS{}
	for p.token != jaasEnd && p.err == nil {
		name := p.name("the name of a section")
		p.expect('{', "'{' after the name of a section")
		modules := p.modules()
		p.expect(';', "';' after the '}' of a section")
		if _, twice := all[name]; twice {
			p.fail("a section with another name")
		}
		if all[name] = modules; len(all) > sectionsMax {
			p.fail("fewer sections")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return all, nil
}

// jaasToken is the token at which the scanner is: a sign as itself, or one of these.
type jaasToken rune

const (
	jaasEnd  jaasToken = -1
	jaasWord jaasToken = -2 // quoted or not
)

// jaasParser reads one file. After the first error it reads nothing more.
type jaasParser struct {
	text  []byte
	at    int
	line  int // of the next byte
	token jaasToken
	value string // of a word
	began int    // line of token
	err   error
}

func (p *jaasParser) fail(expected string) {
	if p.err == nil {
		p.err = fmt.Errorf("sasl: JAAS file, line %d: expected %s", p.began, expected)
	}
	p.token = jaasEnd
}

func (p *jaasParser) expect(sign jaasToken, what string) {
	if p.token != sign {
		p.fail(what)
		return
	}
	p.next()
}

func (p *jaasParser) name(what string) string {
	if p.token != jaasWord || p.value == "" || len(p.value) > identifierMax {
		p.fail(what)
		return ""
	}
	v := p.value
	p.next()
	return v
}

func (p *jaasParser) modules() (all []Module) {
	for p.token != '}' && p.err == nil {
		m := Module{Class: p.name("the class of a login module"), Options: map[string]string{}}
		m.Flag = strings.ToLower(p.name("a flag after the class"))
		switch m.Flag {
		case "required", "requisite", "sufficient", "optional":
		default:
			p.fail("required, requisite, sufficient or optional")
		}
		p.options(&m)
		if all = append(all, m); len(all) > modulesMax {
			p.fail("fewer login modules")
		}
	}
	p.expect('}', "'}' at the end of a section")
	return all
}

func (p *jaasParser) options(m *Module) {
	for p.token != ';' && p.err == nil {
		key := p.name("an option or ';'")
		p.expect('=', "'=' after an option")
		if p.token != jaasWord || len(p.value) > optionValueMax {
			p.fail("the value of an option, in quotes unless it is a plain word")
			return
		}
		if strings.Contains(p.value, "${") {
			p.fail("a value without ${...}, which is not expanded")
			return
		}
		m.Options[key] = p.value
		if len(m.Options) > optionsMax {
			p.fail("fewer options")
		}
		p.next()
	}
	p.expect(';', "';' after the last option of a login module")
}

// next moves to the next token.
func (p *jaasParser) next() {
	if p.err != nil {
		return
	}
	p.blanks()
	p.began, p.value = p.line, ""
	if p.at == len(p.text) {
		p.token = jaasEnd
		return
	}
	c := p.text[p.at]
	switch {
	case c == '"' || c == '\'':
		p.quote(c)
	case isWordByte(c):
		start := p.at
		for p.at < len(p.text) && isWordByte(p.text[p.at]) {
			p.at++
		}
		p.token, p.value = jaasWord, string(p.text[start:p.at])
	default:
		p.at++
		p.token = jaasToken(c)
	}
}

// isWordByte reports whether c may occur in a word without quotes.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0xa0 ||
		c == '_' || c == '$' || c == '-' || c == '*' || c == '.'
}

// blanks skips white space and comments.
func (p *jaasParser) blanks() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.at++
		case rest[0] <= ' ':
			p.at++
		case len(rest) > 1 && rest[0] == '/' && rest[1] == '*':
			p.at += 2
			for p.at < len(p.text) && (p.text[p.at] != '*' || p.at+1 == len(p.text) || p.text[p.at+1] != '/') {
				if p.text[p.at] == '\n' {
					p.line++
				}
				p.at++
			}
			p.at = min(p.at+2, len(p.text))
		case rest[0] == '/': // Java takes one slash as two
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// quote reads a text in quotes, which ends on its line.
func (p *jaasParser) quote(end byte) {
	var b []byte
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case end:
			p.at++
			p.token, p.value = jaasWord, string(b)
			return
		case '\n', '\r':
			p.fail("the end of a quoted text on its line")
			return
		case '\\':
			b = append(b, p.escape())
		default:
			b = append(b, c)
		}
	}
	p.fail("the end of a quoted text")
}

// escapes maps a letter after a backslash to its byte; any other byte stands for itself.
var escapes = map[byte]byte{'a': 7, 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': 11}

// escape reads the rest of an escape after the backslash, up to its last byte: a letter, or up to three octal
// digits.
func (p *jaasParser) escape() byte {
	if p.at+1 == len(p.text) {
		return '\\'
	}
	p.at++
	c := p.text[p.at]
	if c < '0' || c > '7' {
		if e, ok := escapes[c]; ok {
			return e
		}
		return c
	}
	v := int(c - '0')
	for n, most := 1, 3; n < most && p.at+1 < len(p.text); n++ {
		d := p.text[p.at+1]
		if d < '0' || d > '7' || v*8+int(d-'0') > 0xff {
			break
		}
		v = v*8 + int(d-'0')
		p.at++
	}
	return byte(v)
}
