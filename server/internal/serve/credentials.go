package serve

import (
	"crypto/subtle"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
)

// What credentials prove: clientSecurity is the verifier of connections.

// isOurEnsemble reports whether a client that names its ensemble is at the right server, and counts it. Without
// configured names every server is right. So is every server for a client without a name. Source: operations 8.1.
func (s *clientSecurity) isOurEnsemble(name string) bool {
	names := s.env.Config.EnsembleAuthNames
	switch {
	case len(names) == 0 || name == "":
		s.env.Metrics.EnsembleSkip.Inc()
	case slices.Contains(names, name):
		s.env.Metrics.EnsembleSuccess.Inc()
	default:
		s.env.Metrics.EnsembleFail.Inc()
		s.env.Metrics.AuthFailed.Inc()
		return false
	}
	return true
}

// mayGuess reports whether a password of a super user that comes from an address may be looked at.
func (s *clientSecurity) mayGuess(from netip.Addr) bool {
	if s.Guesses.Has(from, s.env.Runtime.Now()) {
		return true
	}
	s.env.Log.Warn("too many wrong super user passwords from this address: refusing further attempts for now",
		zap.Stringer("client_addr", from))
	return false
}

// superUser implements verifier.
func (s *clientSecurity) superUser() string {
	user, _, _ := strings.Cut(s.env.Config.SuperDigest, ":")
	return user
}

// guessedWrong implements verifier.
func (s *clientSecurity) guessedWrong(from netip.Addr) { s.Guesses.Fail(from, s.env.Runtime.Now()) }

// saslIdentities implements verifier.
func (s *clientSecurity) saslIdentities(user string) []auth.Identity {
	ids := []auth.Identity{auth.NewSASLIdentity(user, s.env.Config.SASL.AnyUser)}
	if slices.Contains(s.env.Config.SASL.SuperUsers, user) {
		ids = append(ids, auth.SuperIdentity(""))
	}
	return ids
}

func (s *clientSecurity) Authenticate(remote netip.Addr, scheme string, credentials []byte) ([]auth.Identity, bool) {
	switch scheme {
	case auth.SchemeDigest:
		if credentials == nil || !s.env.Config.DigestAuth {
			return nil, false
		}
		id, ok := auth.DigestID(s.env.Config.DigestAlg, credentials)
		if !ok {
			return nil, false
		}
		ids := []auth.Identity{{Scheme: auth.SchemeDigest, ID: id}}
		super := s.env.Config.SuperDigest
		if super != "" && subtle.ConstantTimeCompare([]byte(id), []byte(super)) == 1 {
			ids = append(ids, auth.SuperIdentity(""))
		}
		return ids, true
	case auth.SchemeIP:
		return []auth.Identity{auth.NewIPIdentity(remote)}, true
	}
	return nil, false
}
