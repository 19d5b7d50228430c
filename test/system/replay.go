package system

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
)

// replay gives the txns to the model, one after the other, with the requests that they came from, and what the
// clients have received at each zxid. Everything must be what the model says: results of writes, reads, events and
// their order, digests.
type replay struct {
	txns        []*txn
	sessions    map[proto.SessionID]*session
	connections []*connection
	m           *model.Model
	requests    map[requestID][]*request // writes, in the order of their connections
	done        map[*request]bool        // became txns
	maybe       map[*request]bool        // may have become error txns
	next        []int                    // by connection: what of its items has been looked at
	writers     map[proto.SessionID]int  // the connection that the last txn came from
	ended       map[proto.SessionID]bool
	expiries    []expiry
	doomed      []proto.SessionID // a request was refused because the session ends
	// clients that are connected at the end have heard of everything up to this
	told      proto.Zxid
	refuses   func(from, to time.Duration) bool // servers may have refused writes then
	locals    bool                              // sessions may be local
	upgrades  bool                              // a local session is made global for an ephemeral
	begun     map[proto.SessionID]bool          // by txns
	moves     map[proto.SessionID]proto.Zxid    // the last move of a session to another server
	applied   map[proto.Zxid]bool               // the txns
	members   membership                        // the configuration
	ambiguous bool                              // the rest was not replayed
}

// requestID is what a txn says of its request.
type requestID struct {
	session proto.SessionID
	xid     int32
}

// expiry is the end of a session that its client has not asked for.
type expiry struct {
	session *session
	txn     *txn
}

func (r *replay) run() error {
	r.requests, r.done, r.next = map[requestID][]*request{}, map[*request]bool{}, make([]int, len(r.connections))
	r.maybe = map[*request]bool{}
	r.moves = map[proto.SessionID]proto.Zxid{}
	r.ended, r.writers = map[proto.SessionID]bool{}, map[proto.SessionID]int{}
	for _, c := range r.connections {
		r.m.Connect(c.number, []model.Identity{c.address})
		for _, q := range c.requests {
			if isWrite(q.op) {
				id := requestID{c.session.id, q.xid}
				r.requests[id] = append(r.requests[id], q)
			}
		}
	}
	if err := r.begins(); err != nil {
		return err
	}
	if err := r.at(&txn{}, nil, nil, model.Result{}); err != nil {
		return err
	}
	for i, t := range r.txns {
		if i > 0 && !follows(r.txns[i-1].zxid, t.zxid) {
			return broken(OneHistory, "no server has applied what is between %v and %v", r.txns[i-1].zxid, t.zxid)
		}
		before := txn{zxid: t.zxid - 1} // no txn, or the one before
		err := r.at(&before, nil, nil, model.Result{})
		if err == nil {
			err = r.apply(t)
		}
		switch {
		case err == errAmbiguous:
			r.ambiguous = true
			return nil
		case err != nil:
			return fmt.Errorf("at %v: %w", t.zxid, err)
		}
	}
	return r.finish()
}

// errAmbiguous ends a replay: it is not known which request has become a txn.
var errAmbiguous = errors.New("system: two requests with the same xid have no reply")

// moveXid is the xid of a txn by which a leader notes that a session has moved to another server.
const moveXid = math.MinInt32

// origin returns the requests that may have become a txn: one at most, but for clients that use an xid on each of
// their connections. Of their requests the reply tells, or the request without a reply has become a txn that no reply
// shows, if what it asks for is that txn.
func (r *replay) origin(t *txn, h *proto.TxnHeader, rd proto.Reader) (open []*request) {
	failed, code := h.Type == proto.OpError, codeOf(h.Type, rd)
	var all []*request
	var late *request // it arrives when its client has gone elsewhere, and is refused
	isAnswer := false
	for _, q := range r.requests[requestID{h.ClientID, h.Cxid}] {
		switch {
		case q.told != nil && q.told.Zxid == t.zxid:
			return []*request{q}
		case q.never && !r.done[q] && isRefusal(code):
			late = q
		case q.told == nil && !q.never:
			all = append(all, q)
			isAnswer = isAnswer || q.reply != nil && q.reply.zxid == t.zxid && q.floor < t.zxid
		}
	}
	if late != nil && !isAnswer {
		return []*request{late}
	}
	if len(all) <= 1 {
		return all
	}
	for _, q := range all {
		switch {
		case q.reply != nil && q.reply.zxid == t.zxid && isRefusal(q.reply.err) && q.reply.err != code:
			// refused without a txn, behind one that has the same xid by chance
		case q.reply != nil && q.reply.zxid == t.zxid && failed == (q.reply.err != proto.OK):
			return []*request{q}
		case q.reply == nil && !r.done[q] && (failed || q.asksFor(h.Type, rd)):
			open = append(open, q)
		}
	}
	return open
}

// asksFor reports whether a request may become a txn with this type and this rest, judged by what both begin with: a
// path, and the data of a znode.
func (q *request) asksFor(op proto.OpCode, rd proto.Reader) bool {
	asked := proto.NewReader(q.body)
	switch op {
	case proto.OpDelete, proto.OpSetACL:
		return q.op == op && bytes.Equal(rd.Text(), asked.Text())
	case proto.OpSetData:
		return q.op == op && bytes.Equal(rd.Text(), asked.Text()) && bytes.Equal(rd.Buffer(), asked.Buffer())
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		switch q.op {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			// a sequential znode has a number behind its path
			return bytes.HasPrefix(rd.Text(), asked.Text()) && bytes.Equal(rd.Buffer(), asked.Buffer())
		}
		return false
	}
	return q.op == op
}

// overtaken returns a later connection of the session, to another server, on which the client has seen a state without
// a txn that it asked for on this one: the session had moved before.
func (c *connection) overtaken(z proto.Zxid) *connection {
	for _, later := range c.session.connections {
		if later.number > c.number && later.server != c.server && !later.readOnly && later.shown() < z {
			return later
		}
	}
	return nil
}

// left reports whether the session has moved on from this connection, if z is its last move.
func (c *connection) left(z proto.Zxid) bool {
	shown := c.shown()
	return z > shown || z > 0 && shown == math.MaxInt64
}

// shown is the zxid of the first reply on a connection, as far as it has one.
func (c *connection) shown() proto.Zxid {
	for _, it := range c.items {
		if it.request != nil && it.zxid > 0 {
			return it.zxid
		}
	}
	return math.MaxInt64
}

// follows reports whether nothing can be between two txns.
func follows(a, b proto.Zxid) bool { return b == a+1 || b.Epoch() > a.Epoch() && b.Counter() <= 1 }

// apply gives one txn to the model.
func (r *replay) apply(t *txn) error {
	rd := proto.NewReader(t.payload)
	var h proto.TxnHeader
	h.Decode(&rd)
	if err := rd.Err(); err != nil {
		return err
	}
	var q *request
	switch open := r.origin(t, &h, rd); {
	case len(open) == 1:
		q = open[0]
	case len(open) > 1 && h.Type != proto.OpError:
		return errAmbiguous
	case len(open) > 1: // it changes nothing, whichever it is
		for _, q := range open {
			r.maybe[q] = true
		}
		if refusal(rd) == proto.ErrSessionExpired {
			r.doomed = append(r.doomed, h.ClientID)
		}
		return r.at(t, nil, nil, model.Result{})
	}
	mr := model.Request{Session: h.ClientID, Op: h.Type, Zxid: t.zxid, TimeMs: h.Time}
	switch {
	case h.Zxid != t.zxid:
		return broken(OneHistory, "the txn is called %v", h.Zxid)
	case h.Type == proto.OpCreateSession && h.Cxid == moveXid && r.sessions[h.ClientID] == nil:
		return broken(AskedFor, "session %v moves, and does not exist", h.ClientID)
	case h.Type == proto.OpCreateSession:
		if h.Cxid == moveXid {
			r.moves[h.ClientID] = t.zxid
		}
		mr.Body = rest(t, &rd)
		q = nil
	case h.Type == proto.OpCloseSession:
		var v proto.CloseSessionTxn
		if !v.DecodeList(&rd) {
			return broken(AskedFor, "closeSession without its list")
		}
		for _, path := range v.Paths2Delete {
			mr.CloseOrder = append(mr.CloseOrder, string(path))
		}
		if q == nil || q.op != proto.OpCloseSession {
			q = nil
			if s := r.sessions[h.ClientID]; s != nil {
				r.expiries = append(r.expiries, expiry{s, t})
			}
		}
		r.ended[h.ClientID] = true
	case q != nil && h.Type == proto.OpError && refusal(rd) != proto.OK:
		r.done[q] = true
		if refusal(rd) == proto.ErrSessionExpired {
			r.doomed = append(r.doomed, h.ClientID)
		}
		return r.at(t, q, nil, model.Result{Err: refusal(rd)})
	case q != nil:
		mr.Op, mr.Body, mr.Identities = q.op, q.body, q.ids
		_, global := r.m.Sessions()[h.ClientID]
		mr.Local = r.locals && !global && !r.ended[h.ClientID]
		if q.op == proto.OpReconfig {
			failed := codeOf(h.Type, rd)
			if done, err := r.reconfigure(t, q, failed, &mr); done || err != nil {
				r.done[q] = true
				return errors.Join(err, r.at(t, q, nil, model.Result{Err: failed}))
			}
		}
	case h.ClientID == 0 && h.Type == proto.OpDeleteContainer:
		mr.Body = rest(t, &rd)
	case h.ClientID == 0 && h.Type == proto.OpError && overtaken(rd):
		// what the server wanted to delete is not as it was
		mr.Op = 0
	default:
		return broken(AskedFor, "no client has asked for the txn %v of session %v, xid %d", h.Type, h.ClientID, h.Cxid)
	}
	var result model.Result
	if mr.Op != 0 {
		result = r.m.Do(mr)
		if !result.Txn {
			return broken(AskedFor, "the model makes no txn of %v: %v", mr.Op, result.Err.Name())
		}
	}
	if isError := h.Type == proto.OpError; isError != (result.Err != proto.OK) && h.ClientID != 0 {
		return broken(AskedFor, "%v of session %v, xid %d is the txn %v, and ends in %v in the model", mr.Op,
			h.ClientID, h.Cxid, h.Type, result.Err.Name())
	}
	if q != nil {
		if err := r.inOrder(t, q, result.Err); err != nil {
			return err
		}
		r.done[q] = true
	}
	if got := r.m.Digest(); t.known && got != t.digest {
		return broken(ModelDigest, "%v: server %d has the digest %d, the model %d", mr.Op, t.by, t.digest, got)
	}
	return r.at(t, q, result.Events, result)
}

// refusal is the error of a txn whose request was not looked at: the client is at another server, there is no room,
// or the leader has decided to end the session. It is OK for others.
func refusal(r proto.Reader) proto.ErrCode {
	if code := proto.ErrCode(r.Int32()); isRefusal(code) {
		return code
	}
	return proto.OK
}

// isRefusal reports whether an error says that a request was not looked at.
func isRefusal(code proto.ErrCode) bool {
	switch code {
	case proto.ErrSessionMoved, proto.ErrNotReadOnly, proto.ErrSessionExpired:
		return true
	}
	return false
}

// codeOf is the error of a txn; OK if it is none.
func codeOf(op proto.OpCode, r proto.Reader) proto.ErrCode {
	if op != proto.OpError {
		return proto.OK
	}
	return proto.ErrCode(r.Int32())
}

// overtaken reports whether the error of a txn is one that the server's own deletion of a znode may meet.
func overtaken(r proto.Reader) bool {
	switch proto.ErrCode(r.Int32()) {
	case proto.ErrNoNode, proto.ErrNotEmpty, proto.ErrBadVersion, proto.ErrBadArguments:
		return true
	}
	return false
}

// inOrder checks that a request becomes a txn once, and behind those that its client has sent before it on the same
// connection.
func (r *replay) inOrder(t *txn, q *request, result proto.ErrCode) error {
	if r.done[q] {
		return broken(AskedFor, "session %v, xid %d becomes a txn twice", q.conn.session.id, q.xid)
	}
	if s := q.conn.session; q.conn.number >= r.writers[s.id] {
		r.writers[s.id] = q.conn.number
	} else if q.op != proto.OpCloseSession && result != proto.ErrSessionExpired {
		// of which the leader does not look where it comes from, as ZooKeeper
		return broken(SessionOrder, "session %v, xid %d is a txn behind those of a later connection",
			q.conn.session.id, q.xid)
	}
	if later := q.conn.overtaken(t.zxid); later != nil && q.op != proto.OpCloseSession {
		return broken(SessionOrder, "session %v, xid %d is a txn after its client was answered by server %d (%v)",
			q.conn.session.id, q.xid, later.server, later.shown())
	}
	if q.op == proto.OpCloseSession && q.conn.left(r.moves[q.conn.session.id]) {
		return nil // as in ZooKeeper it is executed, though what was sent before it is refused
	}
	for _, before := range q.conn.requests {
		if before == q {
			return nil
		}
		if isWrite(before.op) && !r.done[before] && !r.maybe[before] && !r.refusedAsLocal(before) &&
			(before.reply == nil && !r.refuses(before.sent, t.at) ||
				before.reply != nil && before.reply.err == proto.OK) {
			return broken(SessionOrder, "session %v: xid %d is a txn before xid %d, which was sent earlier",
				q.conn.session.id, q.xid, before.xid)
		}
	}
	return nil
}

// at checks what the clients have received at a zxid: the events of its txn first, then the reply of the write, and
// reads of the state that it has left.
func (r *replay) at(t *txn, q *request, events []model.Event, result model.Result) error {
	if q != nil && q.told != nil {
		if err := q.toldRight(t.zxid, result); err != nil {
			return err
		}
	}
	for _, c := range r.connections {
		var mine []model.Event
		for _, e := range events {
			if e.Conn == c.number {
				mine = append(mine, e)
			}
		}
		if err := r.received(c, t.zxid, mine, q, result); err != nil {
			return fmt.Errorf("connection %d of session %v to server %d: %w", c.number, c.session.id, c.server, err)
		}
	}
	return nil
}

// received checks what one connection has received at zxid.
func (r *replay) received(
	c *connection, zxid proto.Zxid, events []model.Event, q *request, result model.Result,
) error {
	var caughtUp []model.Event // events in front of the reply to setWatches
	for ; r.next[c.number] < len(c.items); r.next[c.number]++ {
		it := c.items[r.next[c.number]]
		if it.request == nil && it.zxid != -1 {
			if it.zxid > zxid {
				break
			}
			if len(events) == 0 || events[0] != it.event {
				return broken(Events, "has received the event %v, the model says %v", it.event, events)
			}
			events = events[1:]
			continue
		}
		at, known := r.place(c)
		if known && at > zxid || !known && it.request == nil {
			break
		}
		if len(events) > 0 && (it.request == nil || it.request.op != proto.OpAuth) {
			return broken(Events, "the event %v is not there before what shows its txn", events[0])
		}
		if it.request == nil {
			caughtUp = append(caughtUp, it.event)
			continue
		}
		if err := r.reply(c, it, zxid, q, result, caughtUp); err != nil {
			return fmt.Errorf("reply to %v, xid %d %q: %w", it.request.op, it.request.xid, it.request.body, err)
		}
		caughtUp = nil
	}
	if len(events) > 0 && (c.isOpen && zxid <= r.told || r.next[c.number] < len(c.items)) {
		return broken(Events, "the events %v are lost", events)
	}
	return nil
}

// place is the zxid at which the next item of a connection was made: its own, or that of the reply behind it.
func (r *replay) place(c *connection) (zxid proto.Zxid, known bool) {
	for _, it := range c.items[r.next[c.number]:] {
		if it.request != nil && it.request.op == proto.OpAuth {
			return 0, true
		}
		if it.zxid != -1 {
			return it.zxid, true
		}
	}
	return 0, false
}

// reply checks a reply at the state of zxid.
func (r *replay) reply(
	c *connection, it *item, zxid proto.Zxid, q *request, result model.Result, caughtUp []model.Event,
) error {
	asked := it.request
	if c.readOnly && asked.op != proto.OpAuth {
		if known, err := r.readOnly(c, it, zxid); !known || err != nil {
			return err
		}
	}
	switch {
	case asked.op == proto.OpAuth:
		_, credentials, _ := decodeAuth(asked.body)
		for _, id := range identitiesOf(credentials) {
			r.m.Authenticate(c.number, id)
		}
		return nil
	case asked.op == proto.OpPing, asked.op == proto.OpSync, asked.op == proto.OpOutcomes,
		asked.op == proto.OpCloseSession && r.isLocal(c.session):
		return nil
	case asked == q:
		if asked.floor >= zxid {
			return broken(Writes, "the write is at %v, but %v was known before it was sent", zxid, asked.floor)
		}
		return same(Writes, it, result)
	case isWrite(asked.op):
		if it.err == proto.OK || r.done[asked] {
			return broken(Writes, "%v says %v, but that is not its txn", zxid, it.err.Name())
		}
		return nil // refused
	}
	if asked.path == datatree.ConfigPath && r.members.version.Counter() == 0 {
		r.found(it)
	}
	got := r.m.Do(model.Request{Conn: c.number, Session: c.session.id, Op: asked.op, Body: asked.body,
		Identities: asked.ids})
	if !slices.Equal(got.Events, caughtUp) && !r.toldAhead(c, zxid, caughtUp, got.Events) {
		return broken(Events, "events in front of it are %v, the model says %v", caughtUp, got.Events)
	}
	return same(Reads, it, got)
}

// same compares a reply with that of the model.
func same(c Check, it *item, want model.Result) error {
	if it.err != want.Err || !bytes.Equal(it.body, want.Body) {
		return broken(c, "%v %q, the model says %v %q", it.err.Name(), it.body, want.Err.Name(), want.Body)
	}
	return nil
}

// finish checks what is known when all txns are applied.
func (r *replay) finish() error {
	for _, c := range r.connections {
		if r.next[c.number] < len(c.items) && !c.readOnly {
			if _, known := r.place(c); known {
				it := c.items[r.next[c.number]]
				return broken(OneHistory, "connection %d of session %v to server %d has heard of %v, which is no txn",
					c.number, c.session.id, c.server, it.zxid)
			}
		}
		for _, q := range c.requests {
			if q.told != nil && !r.done[q] {
				return broken(Outcome, "session %v, xid %d: %v was said to be executed at %v, and is no txn",
					c.session.id, q.xid, q.op, q.told.Zxid)
			}
			if isWrite(q.op) && q.reply != nil && q.reply.err == proto.OK && !r.done[q] &&
				!(q.op == proto.OpCloseSession && r.isLocal(c.session)) {
				return broken(Writes, "session %v, xid %d: %v was acknowledged at %v, and is no txn", c.session.id,
					q.xid, q.op, q.reply.zxid)
			}
		}
	}
	for _, id := range r.doomed {
		if !r.ended[id] {
			return broken(SessionEnds,
				"a request of session %v was refused because the session ends, and it has not ended", id)
		}
	}
	for _, path := range r.m.Paths() {
		_, _, stat, _ := r.m.Znode(path)
		if owner := stat.EphemeralOwner; proto.IsSessionOwner(owner) && owner != 0 && r.ended[owner] {
			return broken(SessionEnds, "the ephemeral %s is there, and its session %v is not", path, owner)
		}
	}
	return nil
}

// lease is what decides how long servers may answer clients after they were heard of; see package server.
type lease struct {
	least, most time.Duration
	drift       float64 // clocks differ by at most this part
}

// of is the length of the lease by which an answer was given: that of the server, or that of the session.
func (l lease) of(s *session, a *answer) time.Duration {
	if !a.late {
		return l.least
	}
	return min(max(l.least, s.timeout/2), l.most)
}

// early returns an error if a session was expired that was heard of in time. Let x be when its client was last
// answered, G the longest time in which nothing of it need have come before, D the length of the lease by which it was
// answered, B that of a server. A leader that has followed its servers until x-D knows of something not older than
// x-D-G. It said so when it had a lease itself, so one that is elected later begins after x-D-B, and gives every
// session its whole timeout from then.
func (l lease) early(e expiry) error {
	s := e.session
	last := s.answers[len(s.answers)-1]
	length := l.of(s, &last)
	if last.sent >= e.txn.at+length+time.Duration(float64(s.timeout)*2*l.drift) {
		return broken(SessionEnds, "session %v was answered after it had expired at %v", s.id, e.txn.at)
	}
	var gap time.Duration
	for i, a := range s.answers[1:] {
		if a.came >= last.sent-2*s.timeout {
			gap = max(gap, a.came-s.answers[i].sent)
		}
	}
	least := s.timeout - length - max(gap, l.least)
	least -= time.Duration(float64(s.timeout) * 2 * l.drift)
	if passed := e.txn.at - last.sent; least > 0 && passed < least {
		return broken(SessionEnds, "session %v with timeout %v expires at %v, and was heard of at %v: that is less "+
			"than %v ago", s.id, s.timeout, e.txn.at,
			last.sent, least)
	}
	return nil
}

// rest is what of a payload has not been read.
func rest(t *txn, r *proto.Reader) []byte { return t.payload[len(t.payload)-r.Len():] }
