package serve

import (
	"strings"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// execute answers one read of c: it adds the reply, and the watch events that must precede it, to the output. Source:
// client-protocol 5.5 and 9. REQUIRES: Store.Mu, for reading or writing, and Conn.mu.
func (s *Front) execute(c *Conn, q *request) {
	out := &c.mu.out
	out.startBuffer()
	if q.op == proto.OpPing || !c.mu.sampler.Due() {
		out.buf = s.answerRead(c, q, out.buf)
	} else {
		began, start := s.Clock.Now(), len(out.buf)
		out.buf = s.answerRead(c, q, out.buf)
		c.recordRead(q, len(out.buf)-start, began)
	}
	c.mu.stats.Replied(q.op, q.xid, s.Store.State.LastZxid())
}

// answerRead is execute without the record of package topk.
func (s *Front) answerRead(c *Conn, q *request, b []byte) []byte {
	st, op, xid, body := s.Store, q.op, q.xid, q.body
	zxid := st.State.LastZxid()
	if op == proto.OpSetWatches || op == proto.OpSetWatches2 {
		return s.setWatches(c, q, b, zxid)
	}
	start := len(b)
	b = beginReply(b)
	err := proto.OK
	switch op {
	case proto.OpPing:
		xid = proto.XidPing
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2:
		b, err = s.readNode(c, op, body, b)
	case proto.OpGetACL, proto.OpGetAllChildrenNumber:
		b, err = s.readPath(c, op, body, b)
	case proto.OpMultiRead:
		b, err = st.State.ReadMulti(b, body, c.who())
	case proto.OpGetEphemerals:
		var req proto.GetEphemeralsRequest
		if req.ReadFrom(body) != nil {
			err = proto.ErrMarshallingError
			break
		}
		b, err = st.State.ReadEphemerals(b, c.Session.Load().ID, req.PrefixPath)
	case proto.OpWhoAmI:
		b = appendWhoAmI(b, c.who())
	case proto.OpAddWatch:
		b, err = s.addWatch(c, body, b)
	case proto.OpCheckWatches, proto.OpRemoveWatches:
		err = s.findWatches(c, op, body)
	default:
		err = proto.ErrUnimplemented
	}
	switch err {
	case proto.OK:
	case proto.ErrConnectionLoss:
		s.Log.Warn("closing client connection: the reply that it asks for exceeds the size limit",
			zap.Stringer("client_addr", c.Remote), zap.Stringer("request", op))
		c.mu.out.closing = true
		return b[:start]
	default:
		b = b[:start+replyPrefix]
	}
	endReply(b, start, xid, zxid, err)
	s.Stats.Count(op)
	if op != proto.OpPing { // as ZooKeeper counts
		c.mu.stats.Responded(len(b) - start)
	}
	return b
}

// readNode answers the four reads that can leave a one-shot watch.
func (s *Front) readNode(c *Conn, op proto.OpCode, body, b []byte) ([]byte, proto.ErrCode) {
	var req proto.PathWatchRequest
	if req.ReadFrom(body) != nil || req.Path == nil {
		return b, proto.ErrMarshallingError
	}
	state, ids := s.Store.State, c.who()
	var err proto.ErrCode
	kind := watch.Data
	switch op {
	case proto.OpExists:
		b, err = state.ReadExists(b, req.Path, ids)
		if req.Watch && err == proto.ErrNoNode && !s.watchers.watch(c, watch.Exist, req.Path) {
			err = proto.ErrThrottledOp
		}
	case proto.OpGetData:
		b, err = state.ReadData(b, req.Path, ids)
	case proto.OpGetChildren:
		kind = watch.Child
		b, err = state.ReadChildren(b, req.Path, ids)
	default:
		kind = watch.Child
		b, err = state.ReadChildren2(b, req.Path, ids)
	}
	if req.Watch && err == proto.OK && !s.watchers.watch(c, kind, req.Path) {
		err = proto.ErrThrottledOp
	}
	return b, err
}

func (s *Front) readPath(c *Conn, op proto.OpCode, body, b []byte) ([]byte, proto.ErrCode) {
	var req proto.PathRequest
	if req.ReadFrom(body) != nil || req.Path == nil {
		return b, proto.ErrMarshallingError
	}
	if op == proto.OpGetACL {
		return s.Store.State.ReadACL(b, req.Path, c.who())
	}
	return s.Store.State.ReadAllChildrenNumber(b, req.Path, c.who())
}

// appendWhoAmI lists the identities without the secret part of a digest id.
func appendWhoAmI(b []byte, ids []auth.Identity) []byte {
	b = proto.AppendInt32(b, int32(len(ids)))
	for _, id := range ids {
		user := id.ID
		switch id.Scheme {
		case auth.SchemeDigest:
			user, _, _ = strings.Cut(user, ":")
		case auth.SchemeSuper:
			user = ""
		}
		b = proto.AppendString(b, id.Scheme)
		b = proto.AppendString(b, user)
	}
	return b
}

func (s *Front) addWatch(c *Conn, body, b []byte) ([]byte, proto.ErrCode) {
	var req proto.AddWatchRequest
	if req.ReadFrom(body) != nil || req.Path == nil {
		return b, proto.ErrMarshallingError
	}
	kind := watch.Persistent
	switch req.Mode {
	case proto.AddWatchPersistent:
	case proto.AddWatchPersistentRecursive:
		kind = watch.Recursive
	default:
		return b, proto.ErrMarshallingError
	}
	if !s.watchers.watch(c, kind, req.Path) {
		return b, proto.ErrThrottledOp
	}
	return proto.AppendInt32(b, 0), proto.OK
}

func (s *Front) findWatches(c *Conn, op proto.OpCode, body []byte) proto.ErrCode {
	var req proto.CheckWatchesRequest
	if req.ReadFrom(body) != nil || req.Path == nil ||
		req.Type < proto.WatcherChildren || req.Type > proto.WatcherPersistentRecursive {
		return proto.ErrMarshallingError
	}
	ws := s.watchers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	found := false
	if id := ws.slot(c); id != 0 {
		if op == proto.OpCheckWatches {
			found = ws.registry.Has(id, req.Type, req.Path)
		} else {
			found = ws.registry.Remove(id, req.Type, req.Path)
		}
	}
	if !found {
		return proto.ErrNoWatcher
	}
	return proto.OK
}

// setWatches registers watches again after a reconnect, all or none. Changes since then are reported at once, before
// the reply, by events with zxid -1 in their header. Source: client-protocol 9.5.
func (s *Front) setWatches(c *Conn, q *request, b []byte, zxid proto.Zxid) []byte {
	a, in := newArrival(q, len(q.body)), input{buf: q.body, w: len(q.body)}
	all, rest := *a, in
	for ok := true; ok; {
		_, ok = all.next(&rest, len(q.body))
	}
	if all.malformed {
		return appendHeaderReply(b, q.xid, zxid, proto.ErrMarshallingError)
	}
	ws := s.watchers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	id := ws.slot(c)
	if id == 0 {
		return b
	}
	have, _ := ws.registry.Use(id)
	if limit := s.Config.MaxWatches; limit > 0 && have+all.wanted > limit {
		c.refuseWatches(limitWatches)
		return b
	}
	start := len(b)
	for path, ok := a.next(&in, len(q.body)); ok; path, ok = a.next(&in, len(q.body)) {
		var limit string
		if b, limit = ws.rewatch(s.Store.State, id, a, path, b); limit != "" {
			c.refuseWatches(limit)
			return b[:start]
		}
	}
	s.Stats.Count(q.op)
	return appendHeaderReply(b, q.xid, zxid, proto.OK)
}

// expensive reports whether a small request of this kind may take very long, however short its reply is.
func expensive(op proto.OpCode) bool {
	switch op {
	case proto.OpGetEphemerals, proto.OpGetAllChildrenNumber, proto.OpMultiRead,
		proto.OpSetWatches, proto.OpSetWatches2:
		return true
	}
	return false
}
