package system

import (
	"bytes"
	"maps"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
	"github.com/seed94657493/warren/test/wire"
)

// Local sessions are known to one server only: no txn begins or ends them. A session of a read-only server is local,
// and with the feature Local every session is, until it is made global for an ephemeral.

// acceptsReadOnly reports whether a client goes on at servers that have no quorum.
func (c *client) acceptsReadOnly() bool { return c.w.has(ReadOnly) && c.id%3 > 0 }

// isLocal reports whether no txn has begun a session, now or later.
func (r *replay) isLocal(s *session) bool {
	return !r.begun[s.id] && (r.locals || s.connections[0].readOnly)
}

// refusedAsLocal reports whether a server may have refused a request without a txn, because the session is local.
func (r *replay) refusedAsLocal(q *request) bool {
	return r.isLocal(q.conn.session) && prepare.CreatesEphemeral(q.op, q.body)
}

// begins notes which sessions are begun by txns.
func (r *replay) begins() error {
	r.begun, r.applied = map[proto.SessionID]bool{}, map[proto.Zxid]bool{}
	for _, t := range r.txns {
		rd := proto.NewReader(t.payload)
		var h proto.TxnHeader
		h.Decode(&rd)
		r.applied[t.zxid] = true
		if h.Type == proto.OpCreateSession {
			r.begun[h.ClientID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
		s := r.sessions[id]
		if !r.isLocal(s) {
			continue
		}
		first := s.connections[0]
		for i, c := range s.connections {
			if (c.server != first.server || c.life != first.life) && !r.mayBeUpgraded(s.connections[:i]) {
				return broken(LocalSessions,
					"server %d goes on with the local session %v of server %d, or of its life before",
					c.server, id, first.server)
			}
		}
	}
	return nil
}

// mayBeUpgraded reports whether the upgrade of a local session may have been proposed on one of its connections: its
// client has asked for an ephemeral there. A leader takes such a session for valid from the proposal on, as
// ZooKeeper's does, and confirms it to another server. If the proposal is lost with the leadership, no txn begins the
// session. Every txn of the session is behind the proposal, so no reply to a write can have come before.
func (r *replay) mayBeUpgraded(connections []*connection) bool {
	return r.upgrades && slices.ContainsFunc(connections, func(c *connection) bool {
		return !c.readOnly && slices.ContainsFunc(c.requests, func(q *request) bool {
			return prepare.CreatesEphemeral(q.op, q.body)
		})
	})
}

// readOnly checks a reply of a read-only server: it takes no write, and what it shows is a state that the ensemble
// has been in. It may also have txns that are not committed, as the state of a server that starts: then the history
// tells nothing of its reads, and known is false. Nor does it tell of the configuration if meta.db was removed, as it
// has to be from a directory that was copied from another server: it is that of the server's own files then, until
// the server follows.
func (r *replay) readOnly(c *connection, it *item, zxid proto.Zxid) (known bool, err error) {
	switch asked := it.request; {
	case asked.op == proto.OpCloseSession:
	case isWrite(asked.op) && it.err != proto.ErrNotReadOnly:
		return false, broken(ReadOnlyWrites, "a read-only server answers %v", it.err.Name())
	}
	if asked := it.request; asked.path == datatree.ConfigPath && asked.op == proto.OpGetData && it.err == proto.OK {
		var shown proto.GetDataResponse
		rd := proto.NewReader(it.body)
		if shown.Decode(&rd); c.files != "" && shown.Stat.Mzxid == 0 && string(shown.Data) == c.files {
			return false, nil
		}
		if ahead, err := r.shownAhead(&shown, zxid); ahead || err != nil {
			return false, err
		}
	}
	return it.zxid == zxid && r.applied[zxid], nil
}

// toldAhead reports whether the events in front of a reply to setWatches are those of the model and, because a
// read-only server shows a later configuration than that of its state, which is at zxid, one of this configuration.
// Its watch is gone then.
func (r *replay) toldAhead(c *connection, zxid proto.Zxid, got, want []model.Event) bool {
	i := slices.IndexFunc(got, func(e model.Event) bool {
		return e.Type == proto.EventNodeDataChanged && e.Path == datatree.ConfigPath
	})
	if !c.readOnly || i < 0 || !slices.Equal(slices.Delete(slices.Clone(got), i, i+1), want) {
		return false
	}
	if r.members.version <= zxid && !slices.ContainsFunc(r.txns, func(t *txn) bool {
		return t.zxid > zxid && reconfigured(t.payload) != nil
	}) {
		return false // there is no later configuration
	}
	gone := wire.RemoveWatches(datatree.ConfigPath, proto.WatcherData)
	r.m.Do(model.Request{Conn: c.number, Session: c.session.id, Op: gone.Op, Body: gone.Body})
	return true
}

// shownAhead reports whether a read-only server shows a later configuration than that of its state. It does so if its
// state has none, because none is in the history up to there. What it shows must be what a txn has made.
func (r *replay) shownAhead(shown *proto.GetDataResponse, zxid proto.Zxid) (bool, error) {
	if shown.Stat.Mzxid <= zxid || shown.Stat.Mzxid.Counter() == 0 { // 0: the first one
		return false, nil
	}
	for _, t := range r.txns {
		if t.zxid == shown.Stat.Mzxid && bytes.Equal(reconfigured(t.payload), shown.Data) {
			return true, nil
		}
	}
	return true, broken(Configurations, "a read-only server shows %q of %v, which is no configuration", shown.Data,
		shown.Stat.Mzxid)
}
