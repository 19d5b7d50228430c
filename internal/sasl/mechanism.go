package sasl

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/proto/digestmd5"
)

// ErrAuth is returned when the other side has not proved its identity. The reason is for the log.
var ErrAuth = errors.New("sasl: authentication failed")

// The mechanisms, by the names that SASL has for them.
const (
	mechanismDigest   = "DIGEST-MD5"
	mechanismKerberos = "GSSAPI"
)

// Exchange is the accepting side of one exchange. It is owned by one goroutine.
type Exchange interface {
	// Step takes a token of the other side and returns the answer, which may be nil. After an error, and after the
	// exchange is done, every further token is an error.
	Step(token []byte) ([]byte, error)
	// Done reports whether the other side has proved its identity.
	Done() bool
	// User returns the name of the other side; "" before Done.
	User() string
}

// Acceptor is the accepting side that a section of a JAAS file asks for. It may be used by many goroutines.
type Acceptor struct {
	// Mechanism is mechanismDigest or mechanismKerberos.
	Mechanism string
	// Begin begins an exchange. may says whether the password of a user may be guessed now, and hears of each user
	// whose password is to be compared; nil is always.
	Begin func(may func(user string) bool) Exchange
	// tokenMax is the longest token of the mechanism in bytes.
	tokenMax int
}

// NewDigest returns the accepting side that takes users with passwords.
func NewDigest(realm digestmd5.Realm, users Users) *Acceptor {
	begin := func(may func(user string) bool) Exchange {
		password := func(user string) (string, bool) {
			if may != nil && !may(user) {
				return "", false
			}
			password, known := users[user]
			return password, known
		}
		return digestmd5.NewServer(realm, password, NewNonce())
	}
	return &Acceptor{mechanismDigest, begin, digestmd5.TokenMax}
}

// NewKerberos returns the accepting side that takes tickets. name returns the user that a principal is here, or an
// error if it is none.
func NewKerberos(a *kerberos.Acceptor, name func(kerberos.Principal) (string, error)) *Acceptor {
	begin := func(func(string) bool) Exchange { return &kerberosServer{ticket: a.Accept(), name: name} }
	return &Acceptor{mechanismKerberos, begin, kerberos.TokenMax}
}

// kerberosServer is an Exchange by Kerberos.
type kerberosServer struct {
	ticket *kerberos.Acceptance
	name   func(kerberos.Principal) (string, error)
	user   string // "" before the exchange is done
}

func (s *kerberosServer) Step(token []byte) ([]byte, error) {
	s.user = ""
	reply, err := s.ticket.Step(token)
	if err == nil && s.ticket.Done() {
		s.user, err = s.name(s.ticket.Client())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	return reply, nil
}

func (s *kerberosServer) Done() bool { return s.user != "" }

func (s *kerberosServer) User() string { return s.user }
