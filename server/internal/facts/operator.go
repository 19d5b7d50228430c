package facts

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
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
	case f.OwnsRoot(ids):
		return nil
	case guesses && !f.IsNamed(ids):
		f.front.Guesses.Fail(c.Remote, f.Runtime.Now())
		f.Metrics.AuthFailed.Inc()
		f.Log.Warn("admin command refused: the password is wrong, or no ACL names the user",
			zap.Stringer("client_addr", c.Remote))
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
	ids, err := f.front.CertIdentities(c.Certificate)
	return ids, err == nil
}

// OwnsRoot reports whether ids may fetch and replace the whole tree, with the znodes that they may not read. A super
// user may, and identities to which entries of the root's ACL together give every permission. Entries for the world
// do not count, since the root of a new server is open to the world.
func (f *Facts) OwnsRoot(ids []auth.Identity) bool {
	if auth.IsSuper(ids) {
		return true
	}
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	list := f.Store.State.ACLs().List(f.Store.State.Node(datatree.Root).ACL)
	for _, perm := range everyPerm {
		if !slices.ContainsFunc(list, func(e proto.ACL) bool {
			return e.Id.Scheme.String() != auth.SchemeWorld && auth.EntryAllows(&e, perm, ids)
		}) {
			return false
		}
	}
	return true
}

// everyPerm holds every permission.
var everyPerm = []int32{proto.PermRead, proto.PermWrite, proto.PermCreate, proto.PermDelete, proto.PermAdmin}

// listsPerLock is how many ACL lists are searched under one hold of the lock.
const listsPerLock = 1000

// IsNamed reports whether an ACL names one of ids. ZooKeeper takes every user with every password, because an identity
// without an ACL opens nothing; here that is taken for a wrong password.
func (f *Facts) IsNamed(ids []auth.Identity) (found bool) {
	for from := 0; !found; {
		f.Store.Mu.RLock()
		found, from = f.Store.State.ACLs().Mentions(ids, from, listsPerLock)
		f.Store.Mu.RUnlock()
		if from == 0 {
			break
		}
	}
	return found
}
