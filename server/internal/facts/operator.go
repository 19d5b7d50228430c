package facts

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"strings"

	"github.com/seed94657493/warren/datatree/auth"
)

// Credentials is the header Authorization, cut at its first blank, and the identity of its sender.
type Credentials struct {
	Scheme string
	Auth   string
	Remote netip.Addr
	// Certificate is the verified certificate of the client; nil without one.
	Certificate *x509.Certificate
}

// Errors of Authorize. Their texts are ZooKeeper's. Source: operations 3.3.
var (
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthenticated = errors.New("Not authenticated")
	//lint:ignore ST1005 the text is ZooKeeper's
	ErrNotAuthorized = errors.New("Not authorized")
)

// ErrTooManyGuesses is returned by Authorize without a look at the credentials: too many passwords from that address
// were wrong. ZooKeeper lets anyone guess.
var ErrTooManyGuesses = errors.New("too many wrong passwords from this address: wait a minute")

// Authorize returns nil if the credentials have every permission on the root, else ErrNotAuthenticated,
// ErrNotAuthorized or ErrTooManyGuesses.
func (f *Facts) Authorize(c Credentials) error {
	guesses := c.Scheme == auth.SchemeDigest
	if guesses && !f.front.Guesses.Has(c.Remote, f.Runtime.Now()) {
		f.Metrics.AuthFailed.Inc()
		return ErrTooManyGuesses
	}
	ids, ok := f.identities(c)
	switch {
	case !ok:
		f.Metrics.AuthFailed.Inc()
		return ErrNotAuthenticated
	case f.ownsRoot(ids):
		return nil
	case guesses && !f.isNamed(ids):
		f.front.Guesses.Fail(c.Remote, f.Runtime.Now())
	}
	return ErrNotAuthorized
}

// identities returns the identities that the credentials of an admin command prove.
func (f *Facts) identities(c Credentials) ([]auth.Identity, bool) {
	switch {
	case c.Scheme == auth.SchemeX509:
		return f.certified(c)
	case c.Scheme == auth.SchemeIP && (c.Auth != "" || c.Remote == netip.Addr{}):
		return nil, false
	case c.Scheme == auth.SchemeDigest && !strings.Contains(c.Auth, ":"):
		return nil, false
	}
	return f.front.Authenticate(c.Remote, c.Scheme, []byte(c.Auth))
}

// certified returns the identity of the certificate that a client of the admin server has shown.
func (f *Facts) certified(c Credentials) ([]auth.Identity, bool) {
	if c.Certificate == nil || !f.Config.Admin.NeedClientAuth {
		return nil, false
	}
	ids, err := f.front.Security.Names.Identities(c.Certificate)
	return ids, err == nil
}
