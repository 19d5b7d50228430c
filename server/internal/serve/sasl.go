package serve

import (
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/sasl"
)

// sasl answers one step of a SASL exchange. Without SASL, the answer is a null token, after which the client goes on
// unauthenticated. A step that fails ends the connection, unless failed clients may go on. As in ZooKeeper, a null token of the
// client closes the connection without an answer. Source: client-protocol 14.1.
func (c *Conn) sasl(xid int32, body []byte) {
	var req proto.GetSASLRequest
	if req.ReadFrom(body) != nil || req.Token == nil {
		c.last(nil)
		return
	}
	users := c.srv.Security.users
	if users == nil {
		c.answer(saslReply(xid, nil, proto.OK), flow.QueuedReply)
		return
	}
	if c.exchange == nil {
		c.exchange = sasl.NewDigestServer(sasl.ClientRealm, users)
	}
	token, err := c.exchange.Step(req.Token)
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

// authenticateSASL adds what a completed exchange proves.
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
	c.srv.Log.Warn("SASL authentication failed", zap.Stringer("client_addr", c.Remote), zap.Bool("goes_on", keep), zap.Error(reason))
	switch {
	case keep:
		c.answer(saslReply(xid, nil, proto.OK), flow.QueuedReply)
	case required:
		c.last(saslReply(xid, nil, proto.ErrSessionClosedRequireAuth))
	default:
		c.last(saslReply(xid, nil, proto.ErrAuthFailed))
	}
}

// saslReply is a whole frame. It carries a token, which may be null, whatever the error is.
func saslReply(xid int32, token []byte, err proto.ErrCode) []byte {
	frame := beginReply(nil)
	frame = proto.AppendBuffer(frame, token)
	endReply(frame, 0, xid, 0, err)
	return frame
}
