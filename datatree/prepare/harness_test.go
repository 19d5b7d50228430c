package prepare

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// encodable is what has an encoding.
type encodable interface{ AppendTo([]byte) []byte }

const (
	testSession  proto.SessionID = 0x100002c4c590000
	otherSession proto.SessionID = 0x100002c4c590001
)

// pipeline prepares requests and applies them later, in order.
type pipeline struct {
	t     testing.TB
	s     *datatree.State
	p     *Preparer
	cfg   Config
	zxid  proto.Zxid
	nowMs int64
	cxid  int32

	session proto.SessionID
	ids     []auth.Identity
	local   bool

	queue   []prepared
	results []datatree.Applied
}

type prepared struct {
	payload []byte
	err     proto.ErrCode
}

// newPipeline returns a pipeline over an empty tree with two sessions.
func newPipeline(t testing.TB, change func(*Config)) *pipeline {
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	s := datatree.NewState(datatree.Config{})
	l := &pipeline{t: t, s: s, p: New(s, cfg), cfg: cfg, nowMs: 1_700_000_000_000, session: testSession}
	l.as(otherSession).open()
	l.as(testSession).open()
	return l
}

func (l *pipeline) as(session proto.SessionID) *pipeline { l.session = session; return l }

func (l *pipeline) open() {
	l.must(proto.OK, proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 10_000})
}

func (l *pipeline) close() { l.must(proto.OK, proto.OpCloseSession, nil) }

// send prepares a request and returns its error.
func (l *pipeline) send(op proto.OpCode, body []byte) (proto.ErrCode, bool) {
	l.cxid++
	req := &Request{Session: l.session, Cxid: l.cxid, Op: op, Body: body, Identities: l.ids, LocalSession: l.local}
	payload, err, ok := l.p.Prepare(nil, req, l.zxid+1, l.nowMs)
	if !ok {
		require.Empty(l.t, payload)
		return err, false
	}
	l.zxid++
	l.queue = append(l.queue, prepared{payload, err})
	var h proto.TxnHeader
	require.NoError(l.t, h.ReadFrom(payload))
	want := proto.TxnHeader{ClientID: l.session, Cxid: l.cxid, Zxid: l.zxid, Time: l.nowMs, Type: op}
	if err != proto.OK {
		want.Type = proto.OpError
		require.Len(l.t, payload, 36)
	}
	require.Equal(l.t, want, h)
	return err, true
}

// do sends a request that can be decoded.
func (l *pipeline) do(op proto.OpCode, r encodable) proto.ErrCode {
	l.t.Helper()
	var body []byte
	if r != nil {
		body = r.AppendTo(nil)
	}
	err, ok := l.send(op, body)
	require.True(l.t, ok)
	return err
}

func (l *pipeline) must(want proto.ErrCode, op proto.OpCode, r encodable) {
	l.t.Helper()
	require.Equal(l.t, want, l.do(op, r))
}

// last returns the payload that was prepared last, without header and digest.
func (l *pipeline) last() []byte {
	payload := l.queue[len(l.queue)-1].payload
	return payload[proto.TxnHeaderSize : len(payload)-proto.TxnDigestSize]
}

// apply applies the n oldest outstanding txns. Each must do what was predicted.
func (l *pipeline) apply(n int) {
	l.t.Helper()
	for _, q := range l.queue[:n] {
		_, a := must.Do2(l.s.Apply(q.payload, nil, nil, false))(l.t)
		require.Equal(l.t, q.err, a.Err, "txn %v", a.Header.Zxid)
		require.False(l.t, a.DigestMismatch, "txn %v of type %v", a.Header.Zxid, a.Header.Type)
		l.results = append(l.results, a)
	}
	l.queue = l.queue[n:]
}

func (l *pipeline) applyAll() {
	l.t.Helper()
	l.apply(len(l.queue))
}

// edit applies everything and gives the znode at path a Stat that no txn can: by way of a snapshot, after which
// there is another State with another Preparer.
func (l *pipeline) edit(path string, change func(*proto.StatPersisted)) {
	l.t.Helper()
	l.applyAll()
	w := l.s.NewWalker()
	var body []byte
	for done := false; !done; {
		body, done = w.Next(body, 1<<20)
	}
	w.Close()
	zxid := l.s.LastZxid()
	loader := datatree.NewLoader(datatree.Config{})
	r := proto.NewReader(body)
	for range r.Int32() {
		require.NoError(l.t, loader.Session(proto.SessionID(r.Int64()), r.Int32()))
	}
	for range r.Int32() {
		key, list := r.Int64(), make([]proto.ACL, r.Count(12))
		for i := range list {
			list[i].Decode(&r)
		}
		require.NoError(l.t, loader.ACL(key, list))
	}
	for at := r.Text(); string(at) != "/"; at = r.Text() {
		data, key := r.Buffer(), r.Int64()
		var st proto.StatPersisted
		st.Decode(&r)
		if string(at) == path {
			change(&st)
		}
		require.NoError(l.t, loader.Node(at, data, key, &st))
	}
	require.NoError(l.t, r.Err())
	l.s = must.Do(loader.Done(zxid))(l.t)
	l.p = New(l.s, l.cfg)
}

func entry(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

func openACL() []proto.ACL { return []proto.ACL{entry(proto.PermAll, "world", "anyone")} }

func ip(text string) auth.Identity { return auth.NewIPIdentity(netip.MustParseAddr(text)) }

// newRand returns a source of random numbers and logs its seed.
func newRand(tb testing.TB) *rand.Rand {
	seed := *prepareSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	tb.Logf("go test -run '^%s$' ./datatree/prepare -prepare.seed=%d", tb.Name(), seed)
	return rand.New(rand.NewPCG(seed, 2))
}

// threadTime returns the processor time of this thread, to which the goroutine must be locked.
func threadTime() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// Requests.

func create(path string, mode proto.CreateMode) *proto.CreateRequest {
	return &proto.CreateRequest{Path: proto.Text(path), Data: []byte("data"), Acl: openACL(), Flags: int32(mode)}
}

func createTTL(path string, mode proto.CreateMode, ttl int64) *proto.CreateTTLRequest {
	return &proto.CreateTTLRequest{Path: proto.Text(path), Data: []byte{}, Acl: openACL(),
		Flags: int32(mode), Ttl: ttl}
}

func del(path string, version int32) *proto.DeleteRequest {
	return &proto.DeleteRequest{Path: proto.Text(path), Version: version}
}

func set(path, data string, version int32) *proto.SetDataRequest {
	return &proto.SetDataRequest{Path: proto.Text(path), Data: []byte(data), Version: version}
}

func setACL(path string, version int32, acl ...proto.ACL) *proto.SetACLRequest {
	return &proto.SetACLRequest{Path: proto.Text(path), Acl: acl, Version: version}
}

func check(path string, version int32) *proto.CheckVersionRequest {
	return &proto.CheckVersionRequest{Path: proto.Text(path), Version: version}
}

// multiOf builds the body of a multi.
type multiOf struct{ b []byte }

func (m *multiOf) add(op proto.OpCode, r encodable) *multiOf {
	m.b = proto.AppendMultiOp(m.b, op)
	if r != nil {
		m.b = r.AppendTo(m.b)
	}
	return m
}

func (m *multiOf) AppendTo(b []byte) []byte { return proto.AppendMultiEnd(append(b, m.b...)) }

// slots decodes the txn of a multi into the error of each slot: OK for one that keeps its body.
func (l *pipeline) slots() (codes []proto.ErrCode, types []proto.OpCode) {
	l.t.Helper()
	var txn proto.MultiTxn
	require.NoError(l.t, txn.ReadFrom(l.last()))
	for _, sub := range txn.Txns {
		code := proto.OK
		if sub.Type == proto.OpError {
			var e proto.ErrorTxn
			require.NoError(l.t, e.ReadFrom(sub.Data))
			require.Len(l.t, sub.Data, 4)
			code = proto.ErrCode(e.Err)
		}
		codes, types = append(codes, code), append(types, sub.Type)
	}
	return codes, types
}

// multi sends a multi and returns its slots.
func (l *pipeline) multi(m *multiOf) []proto.ErrCode {
	l.t.Helper()
	l.must(proto.OK, proto.OpMulti, m)
	codes, _ := l.slots()
	return codes
}

// image is everything an overlay holds, for comparison: the journal is only a tool.
type image struct {
	Futures map[string]slotImage
	Changes []changed
	Births  []birth
	Digest  int64
}

type slotImage struct {
	Zxid proto.Zxid
	Node future
	ACL  string
}

func (p *Preparer) image() image {
	o := &p.overlay
	im := image{Futures: map[string]slotImage{}, Digest: p.digest}
	for _, s := range o.table {
		if s != 0 {
			at := &o.slots[s-1]
			acl := ""
			if at.node.ACL == pendingACL {
				acl = string(at.acl)
			}
			im.Futures[string(at.path)] = slotImage{at.zxid, at.node, acl}
		}
	}
	for i := o.changes.head; i != o.changes.tail; i++ {
		im.Changes = append(im.Changes, *o.changes.at(i))
	}
	for i := o.births.head; i != o.births.tail; i++ {
		im.Births = append(im.Births, *o.births.at(i))
	}
	return im
}
