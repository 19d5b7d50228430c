package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The part of a Config that an operator may see: where a setting was made, and its value without passwords.

// Given reports whether the setting was made, rather than left at its default. The key is the first of its names,
// without the prefix "zookeeper.".
func (c *Config) Given(key string) bool {
	_, given := c.origins[key]
	return given
}

// Named returns a key with the place where the setting was made, as "clientPort in zoo.cfg:2", and the key alone if
// it was not made. A client port that only this server's line has is "clientPort of server.1 in zoo.cfg:9". The keys
// are as in Given.
func (c *Config) Named(key string) string {
	at, given := c.origins[key]
	if own := c.Member(c.ServerID); !given && own != nil && (key == "clientPort" && own.Client.Port != PortUnset ||
		key == "secureClientPort" && own.Secure.Port != PortUnset) {
		line := fmt.Sprintf("server.%d", own.ID)
		at, given = c.origins[line]
		key += " of " + line
	}
	switch {
	case !given:
		return key
	case at.file == "-D":
		return key + " on the command line"
	}
	return key + " in " + at.String()
}

// About returns an error as a Problem of the first of these settings that was made, with its place and its value. It
// is for what shows only when a setting is used, such as a file that cannot be read. If none of them was made, or the
// error is a Problem already, it returns the error as it is. The keys are as in Given.
func (c *Config) About(err error, keys ...string) error {
	i := slices.IndexFunc(keys, c.Given)
	var placed *Problem
	if i < 0 || err == nil || errors.As(err, &placed) {
		return err
	}
	p := c.problem(keys[i], err.Error())
	p.Err = err
	return p
}

// problem is a broken rule of a setting. If the setting was not made, it has no key.
func (c *Config) problem(key, rule string) *Problem {
	pos, given := c.origins[key]
	p := &Problem{File: pos.file, Line: pos.line, Rule: rule, Code: ExitInvalid}
	if given {
		p.Key = key
		isSecret := func(s setting) bool { return s.secret && s.name() == key }
		if !slices.ContainsFunc(c.settings(), isSecret) {
			p.Value = c.values[key]
		}
	}
	return p
}

// Property is a setting in the form of a Java system property.
type Property struct{ Name, Value string }

// hidden replaces the value of a secret.
const hidden = "***"

// Properties returns the settings that were made and that a Java server keeps as system properties, sorted by
// name. Values are as they were written, secrets are hidden.
func (c *Config) Properties() []Property {
	var all []Property
	add := func(k kind, key, value string) {
		if k == passthrough {
			key = "zookeeper." + key
		}
		all = append(all, Property{key, value})
	}
	for _, s := range c.settings() {
		value, given := c.values[s.name()]
		if !given || s.kind == native {
			continue
		}
		if s.secret {
			value = hidden
		}
		add(s.kind, s.name(), value)
	}
	for _, f := range c.families() {
		for key, value := range c.values {
			if strings.HasPrefix(key, f.prefix) {
				add(f.kind, key, value)
			}
		}
	}
	slices.SortFunc(all, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Entry is a setting as an operator may see it.
type Entry struct {
	Name    string // the first of its names
	Value   string // in force; stars for a secret that is set
	Default string // what holds if it is not set
	Origin  string // file:line, "-D" or the name of an environment variable; empty for the default
	Live    string // how a change takes effect without a restart; empty if it needs one
}

// live says how another value of the setting takes effect without a restart, "" if it needs one.
func (s *setting) live() string {
	if s.name() == "warren.logLevel" {
		return "SIGHUP or warren loglevel"
	}
	return ""
}

// Entries returns every setting, sorted by name. Values are those in force when the server started.
func (c *Config) Entries() []Entry {
	var all []Entry
	usual := base()
	usual.resolve()
	of := usual.settings()
	for i, s := range c.settings() {
		if s.show == nil {
			continue // it is refused whatever its value is
		}
		e := Entry{Name: s.name(), Value: s.show(), Default: of[i].show(), Origin: c.origins[s.name()].String(),
			Live: s.live()}
		if s.secret && e.Value != "" {
			e.Value = hidden
		}
		all = append(all, e)
	}
	for key, value := range c.values {
		if slices.ContainsFunc(c.families(), func(f family) bool { return strings.HasPrefix(key, f.prefix) }) {
			all = append(all, Entry{Name: key, Value: value, Origin: c.origins[key].String()})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// MaskedText returns Text with the values of secrets replaced by stars, also in lines that are commented out, and line
// ends by LF. A key counts as secret if it sets a secret, or if its name contains a word for a password.
func (c *Config) MaskedText() string {
	text := decodeText(c.Text)
	isSecret := c.secretKeys()
	secrets := secretLines(text, isSecret)
	var b strings.Builder
	r := lineReader{rest: text}
	for r.rest != "" {
		line := r.natural()
		key, secret := secrets[r.line]
		switch {
		case !secret:
			b.WriteString(maskedComment(line, isSecret))
		case key == "":
			continue // goes on with the value of the line before
		default:
			b.WriteString(key + "=" + hidden)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// secretKeys returns a function that reports whether a key, as it is written, counts as secret.
func (c *Config) secretKeys() func(written string) bool {
	keys := map[string]bool{}
	for _, s := range c.settings() {
		for _, key := range s.keys {
			keys[key] = s.secret
		}
	}
	return func(written string) bool {
		key, err := unescape(written)
		if err != nil {
			key = written
		}
		secret, known := keys[strings.TrimPrefix(trim(key), "zookeeper.")]
		return secret || !known && soundsSecret(key)
	}
}

// maskedComment returns a line in which no secret is set, without the value of one that is commented out. In prose, a
// word is no key: that has a dot.
func maskedComment(line string, isSecret func(written string) bool) string {
	mark := line[:len(line)-len(strings.TrimLeft(line, "#! \t\f"))]
	key, value := splitProperty(line[len(mark):])
	if value == "" || !strings.ContainsAny(mark, "#!") || !strings.Contains(key, ".") || !isSecret(key) {
		return line
	}
	return mark + key + "=" + hidden
}

// secretLines returns the key of each natural line that belongs to a secret, and "" for lines that continue one.
func secretLines(text string, isSecret func(written string) bool) map[int]string {
	lines := map[int]string{}
	for r := (lineReader{rest: text}); ; {
		raw, first, ok := r.next()
		if !ok {
			return lines
		}
		written, _ := splitProperty(raw)
		if !isSecret(written) {
			continue
		}
		for n := first + 1; n <= r.line; n++ {
			lines[n] = ""
		}
		lines[first] = written
	}
}

// soundsSecret decides for unknown keys, such as those of Java itself.
func soundsSecret(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "password") || strings.Contains(key, "secret") || strings.Contains(key, "superdigest")
}
