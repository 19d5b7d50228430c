package serve

import (
	"bytes"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// identity is who the client of a connection is: its address, its session, and the identities that it has proved.
//
// Only the reader proves identities and goes on with a SASL exchange. Any goroutine may read the rest without a lock.
// Invariant: the list of identities only grows, within maxIdentities and maxIdentityBytes, and no list that a
// goroutine has read changes.
type identity struct {
	Remote      netip.AddrPort
	Established time.Time // when the socket was accepted
	SecurePort  bool      // the client connected to secureClientPort; set before serve
	// knowsReadOnly is whether the client's ConnectRequest has the ReadOnly byte. Set before the request is handed on.
	knowsReadOnly bool
	// extensions are the bits that the client offers and, from the ConnectResponse on, those that it was granted: the
	// code that answers the ConnectRequest clears the others.
	extensions int32
	guesses    bool        // the present SASL token may be a guess of the password of a super user
	superseded atomic.Bool // the client has a newer connection with the same session

	Session atomic.Pointer[sessions.Session] // stored when the session is established or resumed
	ids     atomic.Pointer[[]auth.Identity]  // replaced as a whole when one is added
	idBytes int                              // size of those that were added, as REQUEST has them; owned by the reader
	// generation is the time of service in which the connection was accepted, or has gone on; see hosts.Generation.
	generation atomic.Int64

	exchange  sasl.Exchange   // nil before the first SASL token
	certified []auth.Identity // what the client's certificate proves; set before the first frame is read
}

// Bounds of the identities of one connection. ZooKeeper has none, but no client needs as many: they are kept as
// long as the connection lives, and searched at every access. A leader takes no more with a request that a learner
// forwards, and ends the link: see package peers.
const (
	maxIdentities    = 1024
	maxIdentityBytes = 1 << 20 // in the form of REQUEST, with the lengths and the count
)

// verifier is what an identity needs of the server to judge what a client shows.
type verifier interface {
	// Authenticate returns the identities that are proved by the credentials of a client at remote.
	Authenticate(remote netip.Addr, scheme string, credentials []byte) ([]auth.Identity, bool)
	// superUser is the name of the super user of the scheme digest, "" if there is none.
	superUser() string
	// saslIdentities are those of a user that SASL has authenticated.
	saslIdentities(user string) []auth.Identity
	// mayGuess reports whether a password of a super user that comes from an address may be looked at.
	mayGuess(from netip.Addr) bool
	// guessedWrong notes that such a password was wrong.
	guessedWrong(from netip.Addr)
}

// who returns the identities. Nobody changes the list.
func (i *identity) who() []auth.Identity { return *i.ids.Load() }

// sessionID is the id of the client's session; 0 before it has one.
func (i *identity) sessionID() proto.SessionID {
	if s := i.Session.Load(); s != nil {
		return s.ID
	}
	return 0
}

// Generation implements flow.Client.
func (i *identity) Generation() int64 { return i.generation.Load() }

// Superseded implements flow.Client.
func (i *identity) Superseded() bool { return i.superseded.Load() }

// auditWho is the part of an audit line that describes the client.
func (i *identity) auditWho() []byte { return audit.Who(i.sessionID(), i.who(), i.Remote.Addr()) }

// add adds to the identities that the client has proved, and reports false if they become too many.
func (i *identity) add(ids []auth.Identity) bool {
	have, size := i.who(), 4
	for _, id := range ids {
		if !slices.Contains(have, id) {
			have = append(have, id) // only the reader appends; holders of the old list do not read behind its end
		}
	}
	for _, id := range have {
		size += 8 + len(id.Scheme) + len(id.ID)
	}
	if len(have) > maxIdentities || size > maxIdentityBytes {
		return false
	}
	i.ids.Store(&have)
	i.idBytes = size
	return true
}

// prove adds the identities that credentials prove, and reports false if they prove none, or may not be looked at.
func (i *identity) prove(scheme string, credentials []byte, v verifier) bool {
	if scheme == auth.SchemeX509 {
		return len(i.certified) > 0 && i.add(i.certified)
	}
	ids, ok := v.Authenticate(i.Remote.Addr(), scheme, credentials)
	return ok && i.mayBeSuper(scheme, credentials, ids, v) && i.add(ids)
}

// mayBeSuper reports whether the credentials are not one guess too many of the password of super. ZooKeeper takes
// every user with every password, because an identity that no ACL names opens nothing; so there is no other wrong
// password.
func (i *identity) mayBeSuper(scheme string, credentials []byte, ids []auth.Identity, v verifier) bool {
	user := v.superUser()
	if user == "" || scheme != auth.SchemeDigest || !bytes.HasPrefix(credentials, []byte(user+":")) {
		return true
	}
	if !v.mayGuess(i.Remote.Addr()) {
		return false
	}
	if !auth.IsSuper(ids) {
		v.guessedWrong(i.Remote.Addr())
	}
	return true
}

// step goes on with the client's SASL exchange. It returns the token for the client, and whether the exchange has
// proved who the client is. The password of a super user is not for guessing. Other users wait for nothing: many
// programs may come from one address, and one that has an old password must not keep out the others.
func (i *identity) step(token []byte, acceptor *sasl.Acceptor, v verifier) (answer []byte, done bool, err error) {
	if i.exchange == nil {
		i.exchange = acceptor.Begin(func(user string) bool {
			if !auth.IsSuper(v.saslIdentities(user)) {
				return true
			}
			i.guesses = v.mayGuess(i.Remote.Addr())
			return i.guesses
		})
	}
	i.guesses = false
	if answer, err = i.exchange.Step(token); err != nil && i.guesses {
		v.guessedWrong(i.Remote.Addr())
	}
	return answer, err == nil && i.exchange.Done(), err
}
