package sasl

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/kerberos"
)

// Names says which user a Kerberos principal is. It is immutable. Source: client-protocol 14.3, operations 8.4.
type Names struct {
	rules                   []rule
	defaultRealm            string
	removeHost, removeRealm bool
}

// rule gives a principal its short name, if it applies to it.
type rule struct {
	isDefault  bool // the first component of principals of the default realm
	components int
	format     string         // $0 is the realm, $1 and $2 the components
	match      *regexp.Regexp // of all of what the format gives; nil for any
	from       *regexp.Regexp // what is replaced; nil for nothing
	to         string
	all        bool // every occurrence is replaced
}

// defaultRules are the rules of ZooKeeper without a setting.
const defaultRules = "DEFAULT"

// NewNames reads rules as the key security.auth_to_local has them: DEFAULT, or
// RULE:[components:format](match)s/from/to/g, where all after the brackets may be missing; "" is DEFAULT. A principal
// keeps its host and its realm behind the short name, unless these are to be removed.
func NewNames(rules, defaultRealm string, removeHost, removeRealm bool) (*Names, error) {
	n := &Names{defaultRealm: defaultRealm, removeHost: removeHost, removeRealm: removeRealm}
	for rest := cmp.Or(strings.TrimSpace(rules), defaultRules); rest != ""; {
		r, after, err := parseRule(rest)
		if err != nil {
			return nil, fmt.Errorf("sasl: security.auth_to_local, at %.100q: %w", rest, err)
		}
		n.rules, rest = append(n.rules, r), strings.TrimSpace(after)
	}
	return n, nil
}

// componentsMax is how many components a principal can have that has a user.
const componentsMax = 2

var (
	errRule    = errors.New("neither DEFAULT nor RULE:[components:format](match)s/from/to/g")
	errFormat  = errors.New("the format has a $ without the number of a component of the rule")
	errNoUser  = errors.New("sasl: no rule of security.auth_to_local gives this principal a name")
	errNotName = errors.New("sasl: a rule of security.auth_to_local gives this principal no plain name")
)

// parseRule reads the first of some rules.
func parseRule(text string) (r rule, rest string, err error) {
	if rest, ok := strings.CutPrefix(text, defaultRules); ok {
		return rule{isDefault: true}, rest, nil
	}
	rest, ok := strings.CutPrefix(text, "RULE:[")
	number, rest, hasNumber := strings.Cut(rest, ":")
	if !ok || !hasNumber {
		return r, "", errRule
	}
	if r.components, err = strconv.Atoi(number); err != nil || r.components < 1 || r.components > componentsMax {
		return r, "", fmt.Errorf("a principal has 1 or %d components", componentsMax)
	}
	if r.format, rest, ok = strings.Cut(rest, "]"); !ok {
		return r, "", errRule
	}
	if _, err := r.fill(make([]string, r.components+1)); err != nil {
		return r, "", err
	}
	if after, ok := strings.CutPrefix(rest, "("); ok {
		var match string
		if match, rest, ok = strings.Cut(after, ")"); !ok {
			return r, "", errRule
		}
		if r.match, err = regexp.Compile(`\A(?:` + match + `)\z`); err != nil {
			return r, "", err
		}
	}
	if after, ok := strings.CutPrefix(rest, "s/"); ok {
		parts := strings.SplitN(after, "/", 3)
		if len(parts) < 3 {
			return r, "", errRule
		}
		if r.from, err = regexp.Compile(parts[0]); err != nil {
			return r, "", err
		}
		r.to = parts[1]
		rest, r.all = strings.CutPrefix(parts[2], "g")
	}
	return r, rest, nil
}

// fill returns the format with the realm and the components in place of $0, $1 and $2.
func (r *rule) fill(parts []string) (string, error) {
	var b strings.Builder
	for rest := r.format; ; {
		text, after, found := strings.Cut(rest, "$")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		if err != nil || n >= len(parts) {
			return "", errFormat
		}
		b.WriteString(parts[n])
		rest = after[digits:]
	}
}

// apply returns the short name; ok is false if the rule is not for the principal.
func (r *rule) apply(p kerberos.Principal, defaultRealm string) (name string, ok bool) {
	if r.isDefault {
		return p.Components[0], p.Realm == defaultRealm
	}
	if len(p.Components) != r.components {
		return "", false
	}
	name, err := r.fill(append([]string{p.Realm}, p.Components...))
	if err != nil || r.match != nil && !r.match.MatchString(name) {
		return "", false
	}
	if r.from != nil {
		name = r.replace(name)
	}
	return name, true
}

// replace replaces the first occurrence, or all.
func (r *rule) replace(text string) string {
	count := 1
	if r.all {
		count = -1
	}
	var b strings.Builder
	end := 0
	for _, match := range r.from.FindAllStringSubmatchIndex(text, count) {
		b.WriteString(text[end:match[0]])
		r.expand(&b, text, match)
		end = match[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

// expand appends the replacement. As in Java, $ and the number of a group is its text, with as many digits as make
// the number of a group, and a backslash takes the meaning of the next byte away.
func (r *rule) expand(b *strings.Builder, text string, match []int) {
	for i := 0; i < len(r.to); i++ {
		c := r.to[i]
		switch {
		case c == '\\' && i+1 < len(r.to):
			i++
			b.WriteByte(r.to[i])
		case c == '$':
			group := 0
			for first := i + 1; i+1 < len(r.to) && r.to[i+1] >= '0' && r.to[i+1] <= '9'; i++ {
				if next := group*10 + int(r.to[i+1]-'0'); i+1 == first || next <= r.from.NumSubexp() {
					group = next
				} else {
					break
				}
			}
			if 2*group+1 < len(match) && match[2*group] >= 0 {
				b.WriteString(text[match[2*group]:match[2*group+1]])
			}
		default:
			b.WriteByte(c)
		}
	}
}

// User returns the id in ACLs of a principal: short name, host and realm. A principal to which no rule applies is an
// error, so that it has no identity at all: ZooKeeper lets such a client choose its id.
func (n *Names) User(p kerberos.Principal) (string, error) {
	if len(p.Components) == 0 || len(p.Components) > componentsMax {
		return "", fmt.Errorf("%w: %s", errNoUser, p)
	}
	for i := range n.rules {
		name, ok := n.rules[i].apply(p, n.defaultRealm)
		if !ok {
			continue
		}
		if name == "" || strings.ContainsAny(name, "/@") {
			return "", fmt.Errorf("%w: %s", errNotName, p)
		}
		if host := p.Host(); host != "" && !n.removeHost {
			name += "/" + host
		}
		if !n.removeRealm {
			name += "@" + p.Realm
		}
		return name, nil
	}
	return "", fmt.Errorf("%w: %s", errNoUser, p)
}
