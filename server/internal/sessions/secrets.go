package sessions

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// Secrets decide which password a session has. Every server of an ensemble can check the password of every
// session, because it follows from the session's id and from what the file of secrets says, which all servers have.
// The zero value is ZooKeeper's rule alone, which is public: the password follows from the id by a constant.
type Secrets struct {
	rules []rule // the first makes passwords, all are accepted; none is ZooKeeper's rule alone
}

// rule is a secret; nil is ZooKeeper's rule.
type rule []byte

const (
	publicRule  = "zookeeper" // the line that means ZooKeeper's rule
	secretLeast = 32          // characters

	// SecretsBytesMax bounds the text of secrets.
	SecretsBytesMax = 64 << 10
)

var (
	errNoSecret     = errors.New("it has no secret")
	errLongSecrets  = fmt.Errorf("it has more than %d bytes", SecretsBytesMax)
	errShortSecret  = fmt.Errorf("a secret has fewer than %d characters; use openssl rand -hex 32", secretLeast)
	errRepeatedRule = errors.New("a line is repeated")
)

// ParseSecrets reads secrets from the text of a file, one a line; the line "zookeeper" is ZooKeeper's rule, and lines
// that begin with # are comments. Errors never have contents.
func ParseSecrets(text []byte) (s Secrets, err error) {
	if len(text) > SecretsBytesMax {
		return s, errLongSecrets
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, SecretsBytesMax+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case seen[line]:
			return Secrets{}, errRepeatedRule
		case line == publicRule:
			s.rules = append(s.rules, nil)
		case len(line) < secretLeast:
			return Secrets{}, errShortSecret
		default:
			s.rules = append(s.rules, rule(line))
		}
		seen[line] = true
	}
	if err := lines.Err(); err != nil {
		return Secrets{}, err
	}
	if len(s.rules) == 0 {
		return Secrets{}, errNoSecret
	}
	return s, nil
}

// Password returns the password that a client is told with its session.
func (s Secrets) Password(id proto.SessionID) [proto.PasswordSize]byte {
	if len(s.rules) == 0 {
		return proto.SessionPassword(id)
	}
	return s.rules[0].password(id)
}

// Accepts reports whether password is one that this server, or another with the file before or after this one, has
// told the client of session id. Its time does not depend on the bytes of the password.
func (s Secrets) Accepts(id proto.SessionID, password []byte) bool {
	rules := s.rules
	if len(rules) == 0 {
		rules = []rule{nil}
	}
	accepted := 0
	for _, r := range rules {
		want := r.password(id)
		accepted |= subtle.ConstantTimeCompare(want[:], password)
	}
	return accepted == 1
}

// SamplingKey is a number that all servers with the same first secret share, and that tells nothing of it.
func (s Secrets) SamplingKey() uint64 {
	if len(s.rules) == 0 || s.rules[0] == nil {
		return 0
	}
	h := hmac.New(sha256.New, s.rules[0])
	h.Write([]byte("sampling of traces"))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Guessable reports whether a session can be taken over by a client that knows its id.
func (s Secrets) Guessable() bool {
	return len(s.rules) == 0 || slices.ContainsFunc(s.rules, func(r rule) bool { return r == nil })
}

func (r rule) password(id proto.SessionID) (p [proto.PasswordSize]byte) {
	if r == nil {
		return proto.SessionPassword(id)
	}
	h := hmac.New(sha256.New, r)
	h.Write([]byte("session password"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(id)))
	copy(p[:], h.Sum(nil))
	return p
}
