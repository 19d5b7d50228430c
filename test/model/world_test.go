package model_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
)

// difference is what world panics with when the two sides disagree.
type difference string

func differ(format string, args ...any) { panic(difference(fmt.Sprintf(format, args...))) }

// world is datatree on one side and the model on the other. Writes are prepared up to depth ahead
// of what is applied, as a leader does; the model gets each write when it is applied.
type world struct {
	rand  *rand.Rand
	trace []string
	seen  map[string]int // outcomes: operation and error, events

	state    *datatree.State
	preparer *prepare.Preparer
	prepared []write // not applied yet
	depth    int
	watches  *watch.Registry
	events   []model.Event // of datatree, of the write that is being applied
	payloads []payload     // applied
	snaps    []*snap

	model *model.Model
	cfg   prepare.Config
	conns []*conn
	free  []int // numbers of connections that are gone
	zxid  proto.Zxid
	now   int64
	cxid  int32
	opens int // sessions opened so far
}

// conn is a connection with its session.
type conn struct {
	number  int
	session proto.SessionID
	ids     []auth.Identity
	seen    proto.Zxid // last zxid that a reply told
	closing bool       // closeSession is under way
	watched proto.Text // a path it may watch
}

// write is a request whose txn has been prepared.
type write struct {
	request model.Request
	cxid    int32
	err     proto.ErrCode
	payload []byte
	create2 []int32 // operations of a multi that were create2
	by      *conn   // nil: the server's own
}

type payload struct {
	zxid  proto.Zxid
	bytes []byte
}

func newWorld(r *rand.Rand) *world {
	w := &world{rand: r, seen: map[string]int{}, watches: watch.New(0), now: 1_700_000_000_000}
	skipACL := r.IntN(10) == 0
	w.cfg = prepare.DefaultConfig()
	w.cfg.EnforceQuota = r.IntN(3) == 0
	w.cfg.ExtendedTypes = r.IntN(4) > 0
	w.cfg.ReconfigEnabled = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		w.cfg.MaxContainerNeverUsedMs = 0
	}
	w.depth = 1 + r.IntN(12)
	if w.cfg.EnforceQuota {
		w.depth = 0 // quotas are checked against what is applied, which the model knows as what is prepared
	}
	w.model = model.New(model.Config{
		SkipACL: skipACL, EnforceQuota: w.cfg.EnforceQuota, ExtendedTypes: w.cfg.ExtendedTypes,
		ReconfigEnabled: w.cfg.ReconfigEnabled, MaxContainerNeverUsedMs: w.cfg.MaxContainerNeverUsedMs,
	})
	w.state = datatree.NewState(datatree.Config{SkipACL: skipACL})
	if r.IntN(3) == 0 {
		w.state = w.loadExtremes(datatree.Config{SkipACL: skipACL})
	}
	w.preparer = prepare.New(w.state, w.cfg)
	w.log("config %+v, skipACL %v, depth %d", w.cfg, skipACL, w.depth)
	w.openSession()
	return w
}

func (w *world) log(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) newConn(session proto.SessionID, ids []auth.Identity) *conn {
	c := &conn{session: session, ids: ids, number: len(w.conns) + len(w.free)}
	if n := len(w.free); n > 0 {
		c.number, w.free = w.free[n-1], w.free[:n-1]
	}
	w.conns = append(w.conns, c)
	w.model.Connect(c.number, modelIDs(ids))
	return c
}

// dropConn ends a connection, and with it its watches.
func (w *world) dropConn(c *conn) {
	w.conns = slices.DeleteFunc(w.conns, func(other *conn) bool { return other == c })
	w.free = append(w.free, c.number)
	w.watches.RemoveSome(watch.WatcherID(c.number), 0, math.MaxInt)
	w.model.Disconnect(c.number)
}

func modelIDs(ids []auth.Identity) []model.Identity {
	var m []model.Identity
	for _, id := range ids {
		m = append(m, model.Identity{Scheme: id.Scheme, ID: id.ID})
	}
	return m
}

// write prepares a write of c, or of the server itself if c is nil.
func (w *world) write(c *conn, session proto.SessionID, op proto.OpCode, body []byte) {
	w.cxid++
	w.now += int64(w.rand.IntN(3))
	request := prepare.Request{Session: session, Cxid: w.cxid, Op: op, Body: body}
	wr := write{cxid: w.cxid, by: c}
	if c != nil {
		request.Identities = c.ids
	}
	zxid := w.zxid + 1
	prefix := []byte("kept")
	out, err, ok := w.preparer.Prepare(prefix, &request, zxid, w.now)
	if !bytes.HasPrefix(out, prefix) {
		differ("prepare lost what was in the buffer")
	}
	wr.err, wr.payload = err, bytes.Clone(out[len(prefix):])
	wr.create2 = slices.Clone(w.preparer.Create2())
	wr.request = model.Request{
		Session: session, Op: op, Body: bytes.Clone(body), Identities: modelIDs(request.Identities),
		Zxid: zxid, TimeMs: w.now,
	}
	w.log("%v prepare %v of %v: %v %v", zxid, op, session, show(op, body), err.Name())
	if !ok {
		got := w.model.Do(wr.request)
		w.seen[op.String()+" refused"]++
		if got.Txn || got.Err != err || len(wr.payload) > 0 {
			differ("prepare refuses with %v, the model has %v, txn %v", err.Name(), got.Err.Name(), got.Txn)
		}
		return
	}
	w.zxid = zxid
	w.prepared = append(w.prepared, wr)
	if op == proto.OpCloseSession && c != nil {
		c.closing = true
	}
	for len(w.prepared) > w.depth {
		w.apply()
	}
}

// apply applies the oldest prepared write on both sides and compares.
func (w *world) apply() {
	wr := w.prepared[0]
	w.prepared = w.prepared[1:]
	w.checkPayload(&wr)

	w.events = nil
	reply, applied, err := w.state.ApplyCreate2(wr.payload, w, nil, wr.create2)
	if err != nil {
		differ("apply: %v", err)
	}
	w.payloads = append(w.payloads, payload{wr.request.Zxid, wr.payload})
	want := w.model.Do(wr.request)
	w.log("%v apply %v: %v", wr.request.Zxid, wr.request.Op, applied.Err.Name())
	switch {
	case !want.Txn:
		differ("the model makes no txn: %v", want.Err.Name())
	case applied.Err != want.Err || wr.err != want.Err:
		differ("error: prepared %v, applied %v, model %v", wr.err.Name(), applied.Err.Name(), want.Err.Name())
	case applied.DigestMismatch:
		differ("the predicted digest is wrong")
	case !bytes.Equal(reply, want.Body):
		differ("reply of %v\n got %x\nwant %x", wr.request.Op, reply, want.Body)
	case w.state.Digest() != w.model.Digest():
		differ("digest %d, model %d", w.state.Digest(), w.model.Digest())
	case w.state.LastZxid() != wr.request.Zxid || w.model.Last() != wr.request.Zxid:
		differ("last zxid %v", w.state.LastZxid())
	}
	w.count(wr.request.Op, want)
	if c := wr.by; c != nil && slices.Contains(w.conns, c) {
		c.seen = wr.request.Zxid
		if c.closing && wr.request.Op == proto.OpCloseSession {
			w.dropConn(c)
		}
	}
}

// checkPayload checks what every payload must be, and learns the order of a closeSession.
func (w *world) checkPayload(wr *write) {
	if len(wr.payload) > prepare.DefaultMaxTxnBytes {
		differ("a payload of %d bytes", len(wr.payload))
	}
	r := proto.NewReader(wr.payload)
	var h proto.TxnHeader
	h.Decode(&r)
	wantType := wr.request.Op
	if wr.err != proto.OK {
		wantType = proto.OpError
		if len(wr.payload) != 36 {
			differ("an error txn of %d bytes", len(wr.payload))
		}
	}
	want := proto.TxnHeader{ClientID: wr.request.Session, Cxid: wr.cxid, Zxid: wr.request.Zxid,
		Time: wr.request.TimeMs, Type: wantType}
	if h != want {
		differ("header %+v, want %+v", h, want)
	}
	if h.Type == proto.OpCloseSession {
		var list proto.CloseSessionTxn
		list.Decode(&r)
		for _, path := range list.Paths2Delete {
			wr.request.CloseOrder = append(wr.request.CloseOrder, string(path))
		}
	}
}

// Changed is the server's part: it fires watches and sends what the ACL allows.
func (w *world) Changed(c datatree.Change) {
	w.watches.Fire(c, func(id watch.WatcherID, t proto.EventType, path []byte, acl datatree.ACLID) {
		for _, conn := range w.conns {
			if conn.number == int(id) {
				if w.state.ACLs().Allows(acl, proto.PermRead, conn.ids) {
					w.events = append(w.events,
						model.Event{Conn: conn.number, Type: t, Path: string(path), Zxid: c.Zxid})
				}
				return
			}
		}
		differ("an event for connection %d, which is gone", id)
	})
}

// count compares the events and notes what was seen.
func (w *world) count(op proto.OpCode, want model.Result) {
	sameEvents(w.events, want.Events)
	outcome := op.String() + " " + want.Err.Name()
	if op == proto.OpMulti && want.Err == proto.OK {
		outcome = multiOutcome(want.Body)
	}
	w.seen[outcome]++
	for _, e := range want.Events {
		w.seen[e.Type.String()]++
	}
}

// multiOutcome tells an empty multi, one that was done and one that was rolled back apart.
func multiOutcome(reply []byte) string {
	r := proto.NewMultiReader(reply)
	switch first, ok := r.Next(); {
	case !ok:
		return "multi empty"
	case first.Type == proto.OpError:
		return "multi rolled back"
	}
	return "multi done"
}

// sameEvents compares what each connection hears, in order.
func sameEvents(got, want []model.Event) {
	byConn := func(events []model.Event) []model.Event {
		events = slices.Clone(events)
		slices.SortStableFunc(events, func(a, b model.Event) int { return a.Conn - b.Conn })
		return events
	}
	if g, m := byConn(got), byConn(want); !slices.Equal(g, m) {
		differ("events\n got %v\nwant %v", g, m)
	}
}

// read executes a read of c on both sides and compares.
func (w *world) read(c *conn, op proto.OpCode, body []byte) {
	w.events = nil
	got, err := w.serve(c, op, body)
	want := w.model.Do(model.Request{
		Conn: c.number, Session: c.session, Op: op, Body: bytes.Clone(body), Identities: modelIDs(c.ids),
	})
	w.log("     %v of %v: %v %v", op, c.session, show(op, body), err.Name())
	if err != want.Err {
		differ("error of %v: %v, model %v", op, err.Name(), want.Err.Name())
	}
	if !bytes.Equal(canonical(op, got), want.Body) {
		differ("reply of %v\n got %x\nwant %x", op, got, want.Body)
	}
	if want.Txn {
		differ("a read made a txn")
	}
	w.count(op, want)
	data, child := w.model.Watches()
	if _, _, total := w.watches.Count(); total != data+child {
		differ("%d watches, model %d", total, data+child)
	}
	if _, _, total := w.watches.CountData(); total != data {
		differ("%d watches in the data table, model %d", total, data)
	}
	c.seen = w.state.LastZxid()
}
