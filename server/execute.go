package server

import (
	"strings"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

// execute answers one read: it appends the reply, and the watch events that must precede it, to
// b. The caller holds store.mu, for reading or writing, and c.mu. Source:
// client-protocol 5.5 and 9.
func (s *front) execute(c *conn, xid int32, op proto.OpCode, body, b []byte) []byte {
	st := s.store
	zxid := st.state.LastZxid()
	if op == proto.OpSetWatches || op == proto.OpSetWatches2 {
		return s.setWatches(c, xid, op, body, b, zxid)
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
		b, err = st.state.ReadMulti(b, body, *c.ids.Load())
	case proto.OpGetEphemerals:
		var req proto.GetEphemeralsRequest
		if req.ReadFrom(body) != nil {
			err = proto.ErrMarshallingError
			break
		}
		b = st.state.ReadEphemerals(b, c.session.Load().ID, req.PrefixPath)
	case proto.OpWhoAmI:
		b = appendWhoAmI(b, *c.ids.Load())
	case proto.OpAddWatch:
		b, err = s.addWatch(c, body, b)
	case proto.OpCheckWatches, proto.OpRemoveWatches:
		err = s.findWatches(c, op, body)
	default:
		err = proto.ErrUnimplemented
	}
	if err != proto.OK {
		b = b[:start+replyPrefix]
	}
	endReply(b, start, xid, zxid, err)
	s.stats.CountRead(op)
	if op != proto.OpPing { // as ZooKeeper counts
		c.mu.stats.Responded(len(b) - start)
	}
	return b
}

// readNode answers the four reads that can leave a one-shot watch.
func (s *front) readNode(c *conn, op proto.OpCode, body, b []byte) ([]byte, proto.ErrCode) {
	var req proto.PathWatchRequest
	if req.ReadFrom(body) != nil || req.Path == nil {
		return b, proto.ErrMarshallingError
	}
	state, ids := s.store.state, *c.ids.Load()
	var err proto.ErrCode
	kind := watch.Data
	switch op {
	case proto.OpExists:
		b, err = state.ReadExists(b, req.Path, ids)
		if req.Watch && err == proto.ErrNoNode && !s.store.watch(c, watch.Exist, req.Path, s.cfg.MaxWatches) {
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
	if req.Watch && err == proto.OK && !s.store.watch(c, kind, req.Path, s.cfg.MaxWatches) {
		err = proto.ErrThrottledOp
	}
	return b, err
}

func (s *front) readPath(c *conn, op proto.OpCode, body, b []byte) ([]byte, proto.ErrCode) {
	var req proto.PathRequest
	if req.ReadFrom(body) != nil {
		return b, proto.ErrMarshallingError
	}
	switch {
	case req.Path == nil:
		return b, proto.ErrMarshallingError
	case op == proto.OpGetACL:
		return s.store.state.ReadACL(b, req.Path, *c.ids.Load())
	}
	return s.store.state.ReadAllChildrenNumber(b, req.Path, *c.ids.Load())
}

// appendWhoAmI lists the identities; the secret part of a digest id is left out.
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

func (s *front) addWatch(c *conn, body, b []byte) ([]byte, proto.ErrCode) {
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
	if !s.store.watch(c, kind, req.Path, s.cfg.MaxWatches) {
		return b, proto.ErrThrottledOp
	}
	return proto.AppendInt32(b, 0), proto.OK
}

func (s *front) findWatches(c *conn, op proto.OpCode, body []byte) proto.ErrCode {
	var req proto.CheckWatchesRequest
	if req.ReadFrom(body) != nil || req.Path == nil ||
		req.Type < proto.WatcherChildren || req.Type > proto.WatcherPersistentRecursive {
		return proto.ErrMarshallingError
	}
	st := s.store
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	found := false
	if id := st.slot(c); id != 0 {
		if op == proto.OpCheckWatches {
			found = st.watches.Has(id, req.Type, req.Path)
		} else {
			found = st.watches.Remove(id, req.Type, req.Path)
		}
	}
	if !found {
		return proto.ErrNoWatcher
	}
	return proto.OK
}

// setWatches registers watches again after a reconnect. What has happened meanwhile is told at
// once, before the reply, by events whose header has zxid -1. Source: client-protocol 9.5.
func (s *front) setWatches(c *conn, xid int32, op proto.OpCode, body, b []byte, zxid proto.Zxid) []byte {
	var req proto.SetWatches2
	var err error
	if op == proto.OpSetWatches2 {
		err = req.ReadFrom(body)
	} else {
		var old proto.SetWatches
		err = old.ReadFrom(body)
		req = proto.SetWatches2{
			RelativeZxid: old.RelativeZxid, DataWatches: old.DataWatches,
			ExistWatches: old.ExistWatches, ChildWatches: old.ChildWatches,
			PersistentWatches: []proto.Text{}, PersistentRecursiveWatches: []proto.Text{},
		}
	}
	lists := []struct {
		kind  watch.Kind
		paths []proto.Text
	}{
		{watch.Data, req.DataWatches}, {watch.Exist, req.ExistWatches},
		{watch.Child, req.ChildWatches}, {watch.Persistent, req.PersistentWatches},
		{watch.Recursive, req.PersistentRecursiveWatches},
	}
	for _, l := range lists {
		if err != nil || l.paths == nil {
			return appendHeaderReply(b, xid, zxid, proto.ErrMarshallingError)
		}
	}
	st := s.store
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	id := st.slot(c)
	if id == 0 {
		return b
	}
	wanted := st.watches.PathsOf(id)
	for _, l := range lists {
		wanted += len(l.paths)
	}
	if limit := s.cfg.MaxWatches; limit > 0 && wanted > limit {
		c.refuseWatches(wanted)
		return b
	}
	for _, l := range lists {
		for _, path := range l.paths {
			if event, fire := st.watches.Rewatch(st.state, id, l.kind, path, req.RelativeZxid); fire {
				b = appendEvent(b, event, path, -1)
			}
		}
	}
	s.stats.CountRead(op)
	return appendHeaderReply(b, xid, zxid, proto.OK)
}

// appendEvent appends a notification.
func appendEvent(b []byte, t proto.EventType, path []byte, zxid proto.Zxid) []byte {
	start := len(b)
	b = beginReply(b)
	ev := proto.WatcherEvent{Type: t, State: proto.StateSyncConnected, Path: path}
	b = ev.AppendTo(b)
	endReply(b, start, proto.XidNotification, zxid, proto.OK)
	return b
}
