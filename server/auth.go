package server

import (
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// auth adds an identity to the connection. It takes effect for every request after it at once;
// the reply keeps its place behind earlier requests. A refusal ends the connection, not the
// session. Source: client-protocol section 10.6.
func (c *conn) auth(xid int32, body []byte) {
	var req proto.AuthPacket
	if req.ReadFrom(body) != nil {
		c.srv.log.Debug("undecodable auth packet", zap.Stringer("client_addr", c.remote))
		c.last(nil)
		return
	}
	ids, ok := c.srv.authenticate(c.remote.Addr(), req.Scheme.String(), req.Auth)
	have := *c.ids.Load()
	for _, id := range ids {
		if !slices.Contains(have, id) {
			have = append(slices.Clip(have), id)
		}
	}
	if !ok || tooMany(have) {
		c.srv.metrics.authFailed.Inc()
		scheme := req.Scheme[:min(len(req.Scheme), 32)] // the client chose it, and its length
		c.srv.log.Warn("authentication refused", zap.Stringer("client_addr", c.remote), zap.ByteString("scheme", scheme),
			zap.Int("identities", len(have)))
		c.last(appendHeaderReply(nil, xid, 0, proto.ErrAuthFailed))
		return
	}
	c.ids.Store(&have)
	c.answer(appendHeaderReply(nil, xid, 0, proto.OK), queuedReply)
}

// Bounds of the identities of one connection. ZooKeeper has none, but nobody has so many: they are kept as
// long as the connection lives, and looked through for every access.
const (
	maxIdentities    = 1024
	maxIdentityBytes = 1 << 20
)

func tooMany(ids []datatree.Identity) bool {
	bytes := 0
	for _, id := range ids {
		bytes += len(id.ID)
	}
	return len(ids) > maxIdentities || bytes > maxIdentityBytes
}

// authenticate returns the identities that the credentials of a client at remote prove.
func (s *Server) authenticate(remote netip.Addr, scheme string, credentials []byte) ([]datatree.Identity, bool) {
	switch scheme {
	case datatree.SchemeDigest:
		if credentials == nil || !s.cfg.DigestAuth {
			return nil, false
		}
		id := datatree.DigestIdentity(string(credentials))
		ids := []datatree.Identity{id}
		if s.cfg.SuperDigest != "" && id.ID == s.cfg.SuperDigest {
			ids = append(ids, datatree.SuperIdentity(""))
		}
		return ids, true
	case datatree.SchemeIP:
		return []datatree.Identity{datatree.NewIPIdentity(remote)}, true
	}
	return nil, false
}

// sasl answers one step of a SASL exchange: without a configuration, with a null token, after
// which the client goes on unauthenticated. Source: client-protocol section 14.1.
func (c *conn) sasl(xid int32, body []byte) {
	var req proto.GetSASLRequest
	if req.ReadFrom(body) != nil {
		c.last(nil)
		return
	}
	frame := beginReply(nil)
	frame = proto.AppendBuffer(frame, nil)
	endReply(frame, 0, xid, 0, proto.OK)
	c.answer(frame, queuedReply)
}

// authenticated reports whether the connection has an identity of a scheme that is enforced.
func (c *conn) authenticated() bool {
	for _, id := range *c.ids.Load() {
		if slices.Contains(c.srv.enforced, id.Scheme) {
			return true
		}
	}
	return false
}
