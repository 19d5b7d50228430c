package serve

import (
	"crypto/subtle"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// auth adds an identity to the connection. The identity counts at once, for every request after it. The reply keeps
// its place behind the replies to earlier requests. A refusal ends the connection, not the session. Source:
// client-protocol 10.6.
func (r *reader) auth(q *request) {
	var req proto.AuthPacket
	if req.ReadFrom(q.body) != nil {
		r.srv.Log.Debug("closing client connection: its auth packet cannot be decoded",
			zap.Stringer("client_addr", r.c.Remote))
		r.last(nil)
		return
	}
	scheme := req.Scheme.String()
	if scheme == schemeEnsemble && r.srv.Config.HasScheme(schemeEnsemble) && !r.srv.isOurEnsemble(string(req.Auth)) {
		r.srv.Log.Warn("closing client connection: the client names another ensemble; see ensembleAuthName",
			zap.Stringer("client_addr", r.c.Remote))
		r.last(nil)
		return
	}
	ok := scheme == schemeEnsemble && r.srv.Config.HasScheme(schemeEnsemble)
	if !ok && !r.c.prove(scheme, req.Auth, r.srv) {
		r.srv.Metrics.AuthFailed.Inc()
		r.srv.Log.Warn("authentication refused", zap.Stringer("client_addr", r.c.Remote),
			zap.String("scheme", scheme[:min(len(scheme), 32)]), // the client chose the text and its length
			zap.Int("identities", len(r.c.who())))
		r.last(appendHeaderReply(nil, q.xid, 0, proto.ErrAuthFailed))
		return
	}
	r.answer(appendHeaderReply(nil, q.xid, 0, proto.OK), queuedReply)
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

// mayGuess reports whether a password of a super user that comes from an address may be looked at.
func (s *Front) mayGuess(from netip.Addr) bool {
	if s.Guesses.Has(from, s.Runtime.Now()) {
		return true
	}
	s.Log.Warn("too many wrong super user passwords from this address: refusing further attempts for now",
		zap.Stringer("client_addr", from))
	return false
}

// superUser implements verifier.
func (s *Front) superUser() string {
	user, _, _ := strings.Cut(s.Config.SuperDigest, ":")
	return user
}

// guessedWrong implements verifier.
func (s *Front) guessedWrong(from netip.Addr) { s.Guesses.Fail(from, s.Runtime.Now()) }

// saslIdentities implements verifier.
func (s *Front) saslIdentities(user string) []auth.Identity {
	ids := []auth.Identity{auth.NewSASLIdentity(user, s.Config.SASL.AnyUser)}
	if slices.Contains(s.Config.SASL.SuperUsers, user) {
		ids = append(ids, auth.SuperIdentity(""))
	}
	return ids
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

// sasl answers one step of a SASL exchange. If SASL is off, the answer is a null token, and the client goes on
// unauthenticated. A step that fails ends the connection, unless failed clients may go on. As in ZooKeeper, a null
// token from the client closes the connection without an answer. Source: client-protocol 14.1.
func (r *reader) sasl(q *request) {
	xid := q.xid
	var req proto.GetSASLRequest
	if req.ReadFrom(q.body) != nil || req.Token == nil {
		r.last(nil)
		return
	}
	if r.srv.security.sasl == nil {
		r.answer(saslReply(xid, nil, proto.OK), queuedReply)
		return
	}
	token, done, err := r.c.step(req.Token, r.srv.security.sasl, r.srv)
	if err == nil && done {
		ids := r.srv.saslIdentities(r.c.exchange.User())
		r.srv.Log.Info("client authenticated", zap.Stringer("client_addr", r.c.Remote),
			zap.String("scheme", auth.SchemeSASL), zap.String("user", r.c.exchange.User()),
			zap.Bool("super", auth.IsSuper(ids)))
		done = r.c.add(ids)
	} else {
		done = err == nil
	}
	if done {
		r.answer(saslReply(xid, token, proto.OK), queuedReply)
		return
	}
	r.refuseSASL(xid, err)
}

// refuseSASL answers a failed step.
func (r *reader) refuseSASL(xid int32, reason error) {
	r.srv.Metrics.AuthFailed.Inc()
	required := r.srv.requiresSASL()
	keep := r.srv.Config.AllowSASLFailedClients && !required
	r.srv.Log.Warn("SASL authentication failed", zap.Stringer("client_addr", r.c.Remote),
		zap.Bool("connection_kept", keep), zap.Error(reason))
	switch {
	case keep:
		r.answer(saslReply(xid, nil, proto.OK), queuedReply)
	case required:
		r.last(saslReply(xid, nil, proto.ErrSessionClosedRequireAuth))
	default:
		r.last(saslReply(xid, nil, proto.ErrAuthFailed))
	}
}

// saslReply is a whole frame. It carries a token, which may be null, also with an error.
func saslReply(xid int32, token []byte, err proto.ErrCode) []byte {
	frame := beginReply(nil)
	frame = proto.AppendBuffer(frame, token)
	endReply(frame, 0, xid, 0, err)
	return frame
}
