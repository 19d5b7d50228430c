package host

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/zab"
)

// What a txn of a leader depends on: the request, its session, the settings and the lock of the state.

// write is a request on its way to the Preparer, from a client of this server (link 0) or from a learner.
type write struct {
	link    zab.LinkID
	java    bool // the learner is a server in Java
	client  flow.Client
	local   *sessions.Session // of a client of this server, or of the session clock
	session proto.SessionID
	xid     int32
	op      proto.OpCode
	body    []byte
	ids     []auth.Identity
	at      int64         // when it was received, ns on the server's clock
	taken   int64         // when this role began with it; 0 if that is not measured
	code    proto.ErrCode // of a sync: the verdict when it arrived
	drop    bool          // of a sync: the same
	global  bool          // the learner says that every server knows the session
	moved   bool          // the client has a newer connection, to another server or to this one
}

// syncs reports whether w is a sync that the agreement answers.
func (w *write) syncs() bool { return w.op == proto.OpSync && w.code == proto.OK && !w.drop }

// itemOf returns the item by which a request is answered.
func itemOf(w *write) flow.Item {
	var it flow.Item
	w.fill(&it)
	return it
}

// fill makes a zero item the one by which the request is answered.
func (w *write) fill(it *flow.Item) {
	it.Session, it.Received, it.Taken, it.Xid, it.Op = w.local, w.at, w.taken, w.xid, w.op
	if w.link == 0 {
		it.Client = w.client
	}
}

// lockState takes the read lock of the state, until unlockState: all requests of a turn are prepared under one
// hold. REQUIRES: the goroutine takes that lock nowhere else until unlockState.
func (l *leading) lockState() {
	if !l.locked {
		l.Store.Mu.RLock()
		l.locked, l.wallMs, l.taken = true, l.Clock.WallMs(), measured(l.Env)
	}
}

// unlockState releases the lock that lockState has taken. It is called before the turn handles anything but
// requests.
func (l *leading) unlockState() {
	if l.locked {
		l.Store.Mu.RUnlock()
		l.locked = false
	}
}

// verdict decides whether a request may go on, as far as that does not depend on the state of its session.
func (l *leading) verdict(w *write) (code proto.ErrCode, drop bool) {
	h := l.h
	if w.op == proto.OpDeleteContainer && w.session != 0 {
		return proto.ErrUnimplemented, false // of a client, passed on by a server in Java; only the reaper may send it
	}
	noRoom := w.session != 0 && (l.refuses || h.Guard.Full())
	return verdict(h.Env, &verdictInput{client: w.client != nil, session: w.local, op: w.op, at: w.at, noRoom: noRoom})
}

// checkSession decides whether a request may be taken, as far as that depends on its session: the session lives, or
// is a local one of a learner, and its client is where the request comes from.
func (l *leading) checkSession(w *write) proto.ErrCode {
	h := l.h
	switch {
	case w.op == proto.OpCreateSession, w.op == proto.OpCloseSession, w.session == 0:
		return proto.OK
	case w.moved:
		return proto.ErrSessionMoved
	}
	return h.Tracker.Check(w.session, w.link, h.Config.LocalSessionsEnabled && !w.global, w.at)
}

// upgrade makes a local session of a client of this server global, before the request that needs a global session.
func (l *leading) upgrade(w *write) {
	timeout := proto.AppendInt32(nil, w.local.TimeoutMs())
	l.propose(&write{session: w.session, op: proto.OpCreateSession, body: timeout}, proto.OK)
	l.Tracker.MakeGlobal(w.session)
}

// trackForwarded begins to track a session that a learner creates.
func (l *leading) trackForwarded(w *write) {
	r := proto.NewReader(w.body)
	if timeoutMs := r.Int32(); r.Err() == nil {
		l.Tracker.Track(w.session, timeoutMs, w.link, l.Clock.Now())
	}
}

// takesLong reports whether it takes long to prepare a request, so that short readers should not have to wait behind
// the applier meanwhile. A multi releases the lock itself now and then. REQUIRES: lockState.
func (l *leading) takesLong(w *write) bool {
	if w.op == proto.OpCloseSession {
		return l.Store.State.FirstEphemerals(w.session, 0, func(datatree.NodeID) {}) >= manyEphemerals
	}
	return len(w.body) >= limits.SmallWrite && w.op != proto.OpMulti
}

// manyEphemerals is how many ephemerals a session has whose end takes long to prepare: more than a third of a
// millisecond.
const manyEphemerals = 4096

// prepareConfig returns the settings that influence txns.
func prepareConfig(e *env.Env) prepare.Config {
	return prepare.Config{
		Digest:                  e.Config.DigestEnabled,
		EmptyClose:              !e.Config.CloseSessionTxn,
		EnforceQuota:            e.Config.EnforceQuota,
		MaxTxnBytes:             e.Config.JuteMaxBuffer + e.Config.JuteMaxBufferExtra,
		ExtendedTypes:           e.Config.ExtendedTypes,
		MaxContainerNeverUsedMs: e.Config.Container.MaxNeverUsed.Milliseconds(),
		Providers:               security.Providers(e.Config),
		ReconfigEnabled:         e.Config.ReconfigEnabled,
		Events:                  prepareEvents{e},
		Rest:                    e.Store.Rest,
	}
}

// prepareEvents logs what happens while txns are prepared.
type prepareEvents struct{ *env.Env }

// QuotaExceeded implements prepare.Events.
func (e prepareEvents) QuotaExceeded(path []byte, hard bool) {
	if hard {
		e.Metrics.QuotaExceeded.Of(quota.Namespace(path)).Inc()
	}
	e.Log.Warn("quota exceeded", zap.ByteString("path", path), zap.Bool("refused", hard))
}

// SequenceExhausted implements prepare.Events.
func (e prepareEvents) SequenceExhausted(parent []byte) {
	e.Log.Error("sequence counter is at its limit: sequential creates fail under this znode from now on",
		zap.ByteString("path", parent))
}
