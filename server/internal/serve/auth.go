package serve

import (
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
	namesOne := scheme == schemeEnsemble && r.srv.Config.HasScheme(schemeEnsemble)
	switch {
	case namesOne && !r.srv.isOurEnsemble(string(req.Auth)):
		r.srv.Log.Warn("closing client connection: the client names another ensemble; see ensembleAuthName",
			zap.Stringer("client_addr", r.c.Remote))
		r.last(nil)
	case !namesOne && !r.c.prove(scheme, req.Auth, r.srv):
		r.srv.Metrics.AuthFailed.Inc()
		r.srv.Log.Warn("authentication refused", zap.Stringer("client_addr", r.c.Remote),
			zap.String("scheme", scheme[:min(len(scheme), 32)]), // the client chose the text and its length
			zap.Int("identities", len(r.c.who())))
		r.last(appendHeaderReply(nil, q.xid, 0, proto.ErrAuthFailed))
	default:
		r.answer(appendHeaderReply(nil, q.xid, 0, proto.OK), queuedReply)
	}
}

// schemeEnsemble adds no identity. With it a client names the ensemble that it wants to talk to. If that is another
// ensemble, the connection is closed.
const schemeEnsemble = "ensemble"

// sasl answers one step of a SASL exchange. If SASL is off, the answer is a null token, and the client goes on
// unauthenticated. A step that fails ends the connection, unless failed clients may go on. As in ZooKeeper, a null
// token from the client closes the connection without an answer. Source: client-protocol 14.1. REQUIRES: no lock, as a
// step of Kerberos may read the keytab.
func (r *reader) sasl(q *request) {
	xid := q.xid
	var req proto.GetSASLRequest
	if req.ReadFrom(q.body) != nil || req.Token == nil {
		r.last(nil)
		return
	}
	if r.srv.sasl == nil {
		r.answer(saslReply(xid, nil, proto.OK), queuedReply)
		return
	}
	r.passTurn()
	token, done, err := r.c.step(req.Token, r.srv.sasl, &r.srv.clientSecurity)
	r.workOn()
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
