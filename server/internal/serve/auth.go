package serve

import (
	"bytes"
	"crypto/subtle"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
)

// auth adds an identity to the connection. The identity counts at once, for every request after it. The reply keeps
// its place behind the replies to earlier requests. A refusal ends the connection, not the session. Source:
// client-protocol 10.6.
func (c *Conn) auth(xid int32, body []byte) {
	var req proto.AuthPacket
	if req.ReadFrom(body) != nil {
		c.srv.Log.Debug("undecodable auth packet", zap.Stringer("client_addr", c.Remote))
		c.last(nil)
		return
	}
	scheme := req.Scheme.String()
	if scheme == schemeEnsemble && c.srv.Config.HasScheme(schemeEnsemble) && !c.srv.isOurEnsemble(string(req.Auth)) {
		c.srv.Log.Warn("client is for another ensemble: see ensembleAuthName", zap.Stringer("client_addr", c.Remote))
		c.last(nil)
		return
	}
	ids, ok := c.prove(scheme, req.Auth)
	if !ok || !c.mayBeSuper(scheme, req.Auth, ids) || !c.addIdentities(ids) {
		c.srv.Metrics.AuthFailed.Inc()
		c.srv.Log.Warn("authentication refused", zap.Stringer("client_addr", c.Remote),
			zap.String("scheme", scheme[:min(len(scheme), 32)]), // the client chose the text and its length
			zap.Int("identities", len(*c.ids.Load())))
		c.last(AppendHeaderReply(nil, xid, 0, proto.ErrAuthFailed))
		return
	}
	c.answer(AppendHeaderReply(nil, xid, 0, proto.OK), flow.QueuedReply)
}

// schemeEnsemble adds no identity. With it a client names the ensemble that it wants to talk to. If that is another
// ensemble, the connection is closed.
const schemeEnsemble = "ensemble"

// isOurEnsemble reports whether a client that names its ensemble is at the right server, and counts it. Without
// configured names every server is right. So is every server for a client without a name. Source: operations 8.1.
func (s *Front) isOurEnsemble(name string) bool {
	names := s.Config.EnsembleAuthNames
	switch {
	case len(names) == 0 || name == "":
		s.Metrics.EnsembleSkip.Inc()
	case slices.Contains(names, name):
		s.Metrics.EnsembleSuccess.Inc()
	default:
		s.Metrics.EnsembleFail.Inc()
		s.Metrics.AuthFailed.Inc()
		return false
	}
	return true
}

// addIdentities adds to the identities that the connection has proved, and reports false if they become too many.
// Only the reader calls it.
func (c *Conn) addIdentities(ids []auth.Identity) bool {
	have := *c.ids.Load()
	for _, id := range ids {
		if !slices.Contains(have, id) {
			have = append(have, id) // only the reader appends; holders of the old list do not read behind its end
		}
	}
	if tooMany(have) {
		return false
	}
	c.ids.Store(&have)
	return true
}

// prove returns the identities that an auth packet proves. The identity of a certificate was proved by the TLS
// handshake.
func (c *Conn) prove(scheme string, credentials []byte) ([]auth.Identity, bool) {
	switch {
	case scheme == auth.SchemeX509:
		return c.certified, len(c.certified) > 0
	case scheme == schemeEnsemble:
		return nil, c.srv.Config.HasScheme(schemeEnsemble)
	}
	return c.srv.Authenticate(c.Remote.Addr(), scheme, credentials)
}

// mayBeSuper reports whether the credentials are not one guess too many of the password of super. ZooKeeper takes
// every user with every password, because an identity that no ACL names opens nothing; so there is no other wrong
// password.
func (c *Conn) mayBeSuper(scheme string, credentials []byte, ids []auth.Identity) bool {
	s := c.srv
	user, _, _ := strings.Cut(s.Config.SuperDigest, ":")
	if user == "" || scheme != auth.SchemeDigest || !bytes.HasPrefix(credentials, []byte(user+":")) {
		return true
	}
	if !s.mayGuess(c.Remote.Addr()) {
		return false
	}
	if !auth.IsSuper(ids) {
		s.Guesses.Fail(c.Remote.Addr(), s.Runtime.Now())
	}
	return true
}

// mayGuess reports whether a password of a super user that comes from an address may be looked at.
func (s *Front) mayGuess(from netip.Addr) bool {
	if s.Guesses.Has(from, s.Runtime.Now()) {
		return true
	}
	s.Log.Warn("too many wrong passwords from one address: logins from there wait", zap.Stringer("client_addr", from))
	return false
}

// Bounds of the identities of one connection. ZooKeeper has none, but no client needs as many: they are kept as
// long as the connection lives, and searched at every access.
const (
	MaxIdentities    = 1024
	MaxIdentityBytes = 1 << 20
)

func tooMany(ids []auth.Identity) bool {
	bytes := 0
	for _, id := range ids {
		bytes += len(id.ID)
	}
	return len(ids) > MaxIdentities || bytes > MaxIdentityBytes
}

// Authenticate returns the identities that are proved by the credentials of a client at remote.
func (s *Front) Authenticate(remote netip.Addr, scheme string, credentials []byte) ([]auth.Identity, bool) {
	switch scheme {
	case auth.SchemeDigest:
		if credentials == nil || !s.Config.DigestAuth {
			return nil, false
		}
		id, ok := auth.DigestID(s.Config.DigestAlg, credentials)
		if !ok {
			return nil, false
		}
		ids := []auth.Identity{{Scheme: auth.SchemeDigest, ID: id}}
		if s.Config.SuperDigest != "" && subtle.ConstantTimeCompare([]byte(id), []byte(s.Config.SuperDigest)) == 1 {
			ids = append(ids, auth.SuperIdentity(""))
		}
		return ids, true
	case auth.SchemeIP:
		return []auth.Identity{auth.NewIPIdentity(remote)}, true
	}
	return nil, false
}

// authenticated reports whether the connection has an identity of a scheme that is enforced.
func (c *Conn) authenticated() bool { return hasScheme(*c.ids.Load(), c.srv.enforced) }

// hasScheme reports whether one of ids is of one of the schemes.
func hasScheme(ids []auth.Identity, schemes []string) bool {
	return slices.ContainsFunc(ids, func(id auth.Identity) bool { return slices.Contains(schemes, id.Scheme) })
}

// sasl answers one step of a SASL exchange. If SASL is off, the answer is a null token, and the client goes on
// unauthenticated. A step that fails ends the connection, unless failed clients may go on. As in ZooKeeper, a null
// token from the client closes the connection without an answer. Source: client-protocol 14.1.
func (c *Conn) sasl(xid int32, body []byte) {
	var req proto.GetSASLRequest
	if req.ReadFrom(body) != nil || req.Token == nil {
		c.last(nil)
		return
	}
	if c.srv.Security.sasl == nil {
		c.answer(saslReply(xid, nil, proto.OK), flow.QueuedReply)
		return
	}
	if c.exchange == nil {
		c.exchange = c.srv.Security.sasl.Begin(c.mayAuthenticate)
	}
	c.guesses = false
	token, err := c.exchange.Step(req.Token)
	if err != nil && c.guesses {
		c.srv.Guesses.Fail(c.Remote.Addr(), c.srv.Runtime.Now())
	}
	switch {
	case err == nil && c.exchange.Done():
		if c.authenticateSASL(c.exchange.User()) {
			c.answer(saslReply(xid, token, proto.OK), flow.QueuedReply)
			return
		}
	case err == nil:
		c.answer(saslReply(xid, token, proto.OK), flow.QueuedReply)
		return
	}
	c.refuseSASL(xid, err)
}

// mayAuthenticate reports whether the password of a user may be compared with what the client has sent. That of a
// super user is not for guessing. Other users wait for nothing: many programs may come from one address, and one that
// has an old password must not keep out the others.
func (c *Conn) mayAuthenticate(user string) bool {
	if !slices.Contains(c.srv.Config.SASL.SuperUsers, user) {
		return true
	}
	c.guesses = c.srv.mayGuess(c.Remote.Addr())
	return c.guesses
}

// authenticateSASL adds the identities that a completed exchange proves.
func (c *Conn) authenticateSASL(user string) bool {
	ids := []auth.Identity{auth.NewSASLIdentity(user, c.srv.Config.SASL.AnyUser)}
	isSuper := slices.Contains(c.srv.Config.SASL.SuperUsers, user)
	if isSuper {
		ids = append(ids, auth.SuperIdentity(""))
	}
	c.srv.Log.Info("client authenticated", zap.Stringer("client_addr", c.Remote),
		zap.String("scheme", auth.SchemeSASL), zap.String("user", user), zap.Bool("super", isSuper))
	return c.addIdentities(ids)
}

// refuseSASL answers a failed step.
func (c *Conn) refuseSASL(xid int32, reason error) {
	c.srv.Metrics.AuthFailed.Inc()
	required := c.srv.requiresSASL()
	keep := c.srv.Config.AllowSASLFailedClients && !required
	c.srv.Log.Warn("SASL authentication failed", zap.Stringer("client_addr", c.Remote), zap.Bool("goes_on", keep),
		zap.Error(reason))
	switch {
	case keep:
		c.answer(saslReply(xid, nil, proto.OK), flow.QueuedReply)
	case required:
		c.last(saslReply(xid, nil, proto.ErrSessionClosedRequireAuth))
	default:
		c.last(saslReply(xid, nil, proto.ErrAuthFailed))
	}
}

// saslReply is a whole frame. It carries a token, which may be null, also with an error.
func saslReply(xid int32, token []byte, err proto.ErrCode) []byte {
	frame := beginReply(nil)
	frame = proto.AppendBuffer(frame, token)
	endReply(frame, 0, xid, 0, err)
	return frame
}
