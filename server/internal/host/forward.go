package host

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
)

// What a learner decides itself about a request, and how a leader reads those that are forwarded.

// noRoom reports whether this server refuses writes without asking the leader.
func (f *following) noRoom() bool {
	return f.refuses || f.Guard.Full() && (!f.link.warren || f.Guard.Stuck())
}

// upgrade makes a local session global, before the request that needs a global session.
func (f *following) upgrade(s *sessions.Session) {
	r := flow.Request{Session: s, Op: proto.OpCreateSession}
	w := forwarded{item: flow.Item{Session: s, Op: proto.OpCreateSession}}
	f.forward(&w, &r, proto.AppendInt32(nil, s.TimeoutMs()))
	flow.QueueOf(f.pending, s.ID).Push(w)
	f.Tracker.MakeGlobal(s.ID)
}

// forbidden reports whether this server knows that the client has no permission for a write, so that the leader
// need not be asked: enableEagerACLCheck. The leader decides everything else, and checks permissions again. The
// state here is only as new as this server's last applied txn, so it does not decide for a session with writes in
// flight. Source: server-semantics 9.6.
func (f *following) forbidden(op proto.OpCode, body []byte, ids []auth.Identity) bool {
	r := proto.NewReader(body)
	path := []byte(r.Text())
	if r.Err() != nil || len(path) == 0 {
		return false
	}
	var perm int32
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		perm = proto.PermCreate
	case proto.OpDelete:
		perm = proto.PermDelete
	case proto.OpSetData:
		perm = proto.PermWrite
	case proto.OpSetACL:
		perm = proto.PermAdmin
	default:
		return false
	}
	if perm == proto.PermCreate || perm == proto.PermDelete {
		path = path[:max(bytes.LastIndexByte(path, '/'), 0)]
	}
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	id := f.Store.State.Lookup(path)
	return id != 0 && !f.Allows(f.Store.State.Node(id).ACL, perm, ids)
}

// became reports whether the txn with this header is the txn of the request.
func (w *forwarded) became(h *proto.TxnHeader) bool {
	return w.item.Became(h) && h.Zxid > w.after && !w.here && w.item.Op != proto.OpSync
}

// appendIdentities appends the identities of a connection, in the form of REQUEST.
func appendIdentities(b []byte, ids []auth.Identity) []byte {
	b = proto.AppendInt32(b, int32(len(ids)))
	for i := range ids {
		b = proto.AppendString(b, ids[i].Scheme)
		b = proto.AppendString(b, ids[i].ID)
	}
	return b
}

// decodeForwarded reads the data of REQUEST. Package peers has checked that the fixed part is there. anyUser is that
// of auth.NewSASLIdentity: as in ZooKeeper the setting of the leader counts.
func decodeForwarded(p *peers.Packet, w *write, anyUser string) error {
	w.session = proto.SessionID(binary.BigEndian.Uint64(p.Data))
	w.xid = int32(binary.BigEndian.Uint32(p.Data[8:]))
	w.op = proto.OpCode(binary.BigEndian.Uint32(p.Data[12:]))
	w.body = p.Data[16:]
	ids, err := p.Identities()
	if err != nil {
		return err
	}
	w.ids = make([]auth.Identity, len(ids))
	for i, id := range ids {
		w.ids[i] = forwardedIdentity(id.Scheme.String(), id.Id.String(), anyUser)
	}
	return nil
}

// forwardedIdentity is an identity that a learner has sent. The servers of an ensemble trust each other.
func forwardedIdentity(scheme, id, anyUser string) auth.Identity {
	switch scheme {
	case auth.SchemeIP:
		if addr, err := netip.ParseAddr(id); err == nil {
			return auth.NewIPIdentity(addr)
		}
	case auth.SchemeSASL:
		return auth.NewSASLIdentity(id, anyUser)
	}
	return auth.Identity{Scheme: scheme, ID: id}
}
