package prepare

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// bothWays runs a test twice: with everything pipelined, and with each txn applied before the
// next request is prepared. The results for a client must not differ.
func bothWays(t *testing.T, change func(*Config), run func(t *testing.T, l *pipeline, step func())) {
	t.Run("pipelined", func(t *testing.T) {
		l := newPipeline(t, change)
		run(t, l, func() {})
		l.applyAll()
	})
	t.Run("one by one", func(t *testing.T) {
		l := newPipeline(t, change)
		l.applyAll()
		run(t, l, l.applyAll)
		l.applyAll()
	})
}

// The measured sequence of server-semantics 2.2, 16.1 scenario 17.
func TestConditionalWritesSeeEachOther(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		for _, c := range []struct {
			op   proto.OpCode
			r    encodable
			want proto.ErrCode
		}{
			{proto.OpCreate, create("/a", 0), proto.OK},
			{proto.OpSetData, set("/a", "0", 0), proto.OK},
			{proto.OpSetData, set("/a", "1", 1), proto.OK},
			{proto.OpSetData, set("/a", "1", 1), proto.ErrBadVersion},
			{proto.OpSetData, set("/a", "2", 2), proto.OK},
			{proto.OpDelete, del("/a", 2), proto.ErrBadVersion},
			{proto.OpDelete, del("/a", 3), proto.OK},
			{proto.OpCreate, create("/a", 0), proto.OK},
		} {
			l.must(c.want, c.op, c.r)
			step()
		}
	})
}

// server-semantics 16.1 scenario 18.
func TestParentsAndChildrenSeeEachOther(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		for _, c := range []struct {
			op   proto.OpCode
			path string
			want proto.ErrCode
		}{
			{proto.OpCreate, "/p", proto.OK},
			{proto.OpCreate, "/p/c", proto.OK},
			{proto.OpDelete, "/p", proto.ErrNotEmpty},
			{proto.OpDelete, "/p/c", proto.OK},
			{proto.OpDelete, "/p", proto.OK},
			{proto.OpCreate, "/p/c", proto.ErrNoNode},
			{proto.OpCreate, "/p", proto.OK},
			{proto.OpCreate, "/p/c", proto.OK},
			{proto.OpCreate, "/p/c", proto.ErrNodeExists},
		} {
			if c.op == proto.OpCreate {
				l.must(c.want, c.op, create(c.path, 0))
			} else {
				l.must(c.want, c.op, del(c.path, -1))
			}
			step()
		}
	})
}

// A znode is deleted and made again under a parent that is deleted and made again, while all of
// it is still in the applied tree: no NodeID of the old incarnation may be used for the new one.
func TestRecreationOverTheAppliedTree(t *testing.T) {
	l := newPipeline(t, nil)
	l.must(proto.OK, proto.OpCreate, create("/p", 0))
	l.must(proto.OK, proto.OpCreate, create("/p/c", 0))
	l.must(proto.OK, proto.OpCreate, create("/p/d", 0))
	l.applyAll()
	l.must(proto.OK, proto.OpDelete, del("/p/c", -1))
	l.must(proto.OK, proto.OpDelete, del("/p/d", -1))
	l.must(proto.OK, proto.OpDelete, del("/p", -1))
	l.must(proto.OK, proto.OpCreate, create("/p", 0))
	l.must(proto.OK, proto.OpCreate, create("/p/c", 0))
	l.must(proto.ErrNoNode, proto.OpDelete, del("/p/d", -1))
	l.apply(3) // the old znodes are gone, their NodeIDs are free
	l.must(proto.OK, proto.OpCreate, create("/x", 0))
	l.apply(1) // the new /p
	l.must(proto.ErrNodeExists, proto.OpCreate, create("/p/c", 0))
	l.must(proto.ErrNoNode, proto.OpSetData, set("/p/d", "", -1))
	l.must(proto.ErrNotEmpty, proto.OpDelete, del("/p", -1))
	l.must(proto.OK, proto.OpDelete, del("/p/c", 0))
	l.must(proto.OK, proto.OpDelete, del("/p", 0))
	l.applyAll()
	require.Zero(t, l.s.Lookup([]byte("/p")))
}

func TestSetACLIsSeenByLaterRequests(t *testing.T) {
	bob := auth.NewDigestIdentity("bob", "secret")
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/a", 0))
		step()
		l.must(proto.ErrInvalidACL, proto.OpSetACL, setACL("/a", 0, entry(31, "auth", "")))
		l.ids = []auth.Identity{bob}
		l.must(proto.OK, proto.OpSetACL, setACL("/a", 0, entry(31, "auth", "")))
		step()
		l.must(proto.ErrBadVersion, proto.OpSetACL, setACL("/a", 0, openACL()...))
		l.must(proto.OK, proto.OpCreate, create("/a/b", 0))
		step()
		l.ids = nil
		l.must(proto.ErrNoAuth, proto.OpCreate, create("/a/c", 0))
		l.must(proto.ErrNoAuth, proto.OpDelete, del("/a/b", -1))
		l.must(proto.ErrNoAuth, proto.OpSetData, set("/a", "x", -1))
		l.must(proto.ErrNoAuth, proto.OpSetACL, setACL("/a", 1, openACL()...))
		l.must(proto.OK, proto.OpSetData, set("/a/b", "x", 0)) // permissions are not inherited
		step()
		l.ids = []auth.Identity{auth.SuperIdentity("")}
		l.must(proto.OK, proto.OpSetACL, setACL("/a", 1, openACL()...))
		step()
		l.ids = nil
		l.must(proto.OK, proto.OpCreate, create("/a/c", 0))
	})
}

// server-semantics 16.1 scenarios 12 and 13.
func TestVersionsWrap(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/a", 0))
		l.edit("/a", func(st *proto.StatPersisted) { st.Version = math.MaxInt32 })
		l.must(proto.OK, proto.OpSetData, set("/a", "", math.MaxInt32))
		step()
		l.must(proto.ErrBadVersion, proto.OpSetData, set("/a", "", math.MaxInt32))
		step()
		l.must(proto.OK, proto.OpSetData, set("/a", "", math.MinInt32))
		step()
		l.edit("/a", func(st *proto.StatPersisted) { st.Version = -2 })
		l.must(proto.OK, proto.OpSetData, set("/a", "", -2))
		step()
		l.must(proto.OK, proto.OpSetData, set("/a", "", 0))
		step()
		l.must(proto.OK, proto.OpSetData, set("/a", "", -1))
	})
}

// sequenced sends a sequential create and returns the path it was given.
func (l *pipeline) sequenced(prefix string) string {
	l.t.Helper()
	l.must(proto.OK, proto.OpCreate, create(prefix, proto.ModePersistentSequential))
	var txn proto.CreateTxn
	require.NoError(l.t, txn.ReadFrom(l.last()))
	return string(txn.Path)
}

func TestSequentialNames(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/q", 0))
		step()
		require.Equal(t, "/q/n-0000000000", l.sequenced("/q/n-"))
		step()
		l.must(proto.OK, proto.OpCreate, create("/q/plain", 0)) // counts, too
		step()
		l.must(proto.ErrNodeExists, proto.OpCreate, create("/q/plain", 0)) // does not
		step()
		require.Equal(t, "/q/0000000002", l.sequenced("/q/"))
		step()
		l.must(proto.OK, proto.OpDelete, del("/q/plain", -1)) // nor does this
		step()
		require.Equal(t, "/q/..0000000003", l.sequenced("/q/.."))
		step()
		require.Equal(t, "/q/.0000000004", l.sequenced("/q/."))
		step()
		require.Equal(t, "/0000000001", l.sequenced("/"))
		step()
		l.must(proto.OK, proto.OpCreate, create("/q/n-0000000006", 0))
		step()
		l.must(proto.ErrNodeExists, proto.OpCreate, create("/q/n-", proto.ModePersistentSequential))
		step()
		l.must(proto.ErrBadArguments, proto.OpCreate, create("/q/\x01", proto.ModePersistentSequential))
		step()
		require.Equal(t, "/q/n0000000006", l.sequenced("/q/n"))
	})
}

// exhaustion counts what an operator is told.
type exhaustion struct{ parents []string }

func (e *exhaustion) QuotaExceeded([]byte, bool)      {}
func (e *exhaustion) SequenceExhausted(parent []byte) { e.parents = append(e.parents, string(parent)) }

// server-semantics 16.1 scenario 16, and the negative counters of server-semantics 3.5.
func TestSequenceCounterAtItsLimits(t *testing.T) {
	setCversion := func(l *pipeline, c int32) {
		l.edit("/q", func(st *proto.StatPersisted) { st.Cversion = c })
	}
	var events *exhaustion
	bothWays(t, func(c *Config) { events = new(exhaustion); c.Events = events }, func(t *testing.T,
		l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/q", 0))
		setCversion(l, math.MaxInt32-1)
		require.Equal(t, "/q/n2147483646", l.sequenced("/q/n"))
		step()
		require.Equal(t, []string{"/q"}, events.parents)
		require.Equal(t, "/q/n2147483647", l.sequenced("/q/n"))
		step()
		l.must(proto.ErrNodeExists, proto.OpCreate, create("/q/n", proto.ModePersistentSequential))
		step()
		l.must(proto.OK, proto.OpCreate, create("/q/plain", 0))
		step()
		l.must(proto.OK, proto.OpDelete, del("/q/plain", 0))
		step()
		setCversion(l, -2)
		require.Equal(t, "/q/n-000000002", l.sequenced("/q/n"))
		step()
		require.Equal(t, "/q/n-000000001", l.sequenced("/q/n"))
		step()
		require.Equal(t, "/q/n0000000000", l.sequenced("/q/n"))
		step()
	})
}

// client-protocol 8.2: operation and mode together.
func TestKindsOfZnodes(t *testing.T) {
	const ttl = 60_000
	for _, c := range []struct {
		op    proto.OpCode
		mode  proto.CreateMode
		owner proto.SessionID
		path  string
	}{
		{proto.OpCreate, 0, 0, "/n"},
		{proto.OpCreate2, 0, 0, "/n"},
		{proto.OpCreate, 1, testSession, "/n"},
		{proto.OpCreate2, 3, testSession, "/n0000000001"},
		{proto.OpCreate, 2, 0, "/n0000000001"},
		{proto.OpCreate, 4, 0, "/n"},
		{proto.OpCreate2, 4, 0, "/n"},
		{proto.OpCreateContainer, 4, proto.OwnerContainer, "/n"},
		{proto.OpCreateContainer, 0, proto.OwnerContainer, "/n"},
		{proto.OpCreateContainer, 1, proto.OwnerContainer, "/n"},
		{proto.OpCreateContainer, 2, proto.OwnerContainer, "/n0000000001"},
		{proto.OpCreateContainer, 3, proto.OwnerContainer, "/n0000000001"},
		{proto.OpCreateTTL, 5, proto.TTLOwner(ttl), "/n"},
		{proto.OpCreateTTL, 6, proto.TTLOwner(ttl), "/n0000000001"},
	} {
		name := fmt.Sprintf("%v mode %d", c.op, c.mode)
		l := newPipeline(t, func(c *Config) { c.ExtendedTypes = true })
		l.must(proto.OK, proto.OpCreate, create("/first", 0))
		var r encodable = create("/n", c.mode)
		if c.op == proto.OpCreateTTL {
			r = createTTL("/n", c.mode, ttl)
		}
		l.must(proto.OK, c.op, r)
		want := proto.OK
		if proto.IsSessionOwner(c.owner) {
			want = proto.ErrNoChildrenForEphemerals
		}
		l.must(want, proto.OpCreate, create(c.path+"/below", 0))
		l.applyAll()
		id := l.s.Lookup([]byte(c.path))
		require.NotZero(t, id, name)
		require.Equal(t, c.owner, l.s.Node(id).Owner, name)
		require.Equal(t, c.op, l.results[3].Header.Type, name)
	}
}

func TestReconfig(t *testing.T) {
	request := &proto.ReconfigRequest{NewMembers: proto.Text("server.1=x"), CurConfigID: -1}
	l := newPipeline(t, nil)
	l.must(proto.ErrReconfigDisabled, proto.OpReconfig, request)

	l = newPipeline(t, func(c *Config) { c.ReconfigEnabled = true })
	l.must(proto.ErrUnimplemented, proto.OpReconfig, request)
	unknownSession(l)
	l.must(proto.ErrSessionExpired, proto.OpReconfig, request)

	answer := proto.ErrBadVersion
	l = newPipeline(t, func(c *Config) {
		c.ReconfigEnabled = true
		c.Reconfigure = func(r *proto.ReconfigRequest, zxid proto.Zxid) ([]byte, proto.ErrCode) {
			require.Equal(t, "server.1=x", string(r.NewMembers))
			return fmt.Appendf(nil, "server.1=x\nversion=%x", int64(zxid)), answer
		}
	})
	l.must(proto.ErrBadVersion, proto.OpReconfig, request)
	answer = proto.OK
	l.must(proto.ErrNoAuth, proto.OpReconfig, request)
	l.ids = []auth.Identity{auth.SuperIdentity("")}
	l.must(proto.OK, proto.OpReconfig, request)
	l.must(proto.OK, proto.OpSetData, set(datatree.ConfigPath, "x", -1))
	l.apply(len(l.queue) - 1)
	id := l.s.Lookup([]byte(datatree.ConfigPath))
	require.Equal(t, "server.1=x\nversion=5", string(l.s.Data(id)))
	require.EqualValues(t, -1, l.s.Node(id).Version)
	l.applyAll()
	require.EqualValues(t, 0, l.s.Node(id).Version)
}

// Requests that cannot become txns use no zxid and leave no trace.
func TestRefusedRequestsLeaveNoTrace(t *testing.T) {
	l := newPipeline(t, nil)
	l.must(proto.OK, proto.OpCreate, create("/a", 0))
	before := l.p.image()
	whole := create("/b", 0).AppendTo(nil)
	for n := range len(whole) {
		err, ok := l.send(proto.OpCreate, whole[:n])
		require.False(t, ok)
		require.Equal(t, proto.ErrMarshallingError, err)
	}
	for _, op := range []proto.OpCode{proto.OpDelete, proto.OpSetData, proto.OpSetACL, proto.OpMulti,
		proto.OpCreateSession, proto.OpDeleteContainer, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL,
		proto.OpReconfig} {
		err, ok := l.send(op, nil)
		require.False(t, ok)
		require.Equal(t, proto.ErrMarshallingError, err, op)
	}
	for _, op := range []proto.OpCode{
		proto.OpCheck, proto.OpGetData, proto.OpError, proto.OpNotification, proto.OpSync, 99,
	} {
		err, ok := l.send(op, check("/a", 0).AppendTo(nil))
		require.False(t, ok)
		require.Equal(t, proto.ErrUnimplemented, err, op)
	}
	require.Equal(t, before, l.p.image())
	// Bytes behind a record do not matter.
	_, ok := l.send(proto.OpCreate, append(whole, 1, 2, 3))
	require.True(t, ok)
	l.applyAll()
}

func TestPrepareAppendsToItsBuffer(t *testing.T) {
	l := newPipeline(t, nil)
	prefix := []byte("frame")
	req := &Request{Session: testSession, Op: proto.OpSetData, Body: set("/none", "", -1).AppendTo(nil)}
	out, err, ok := l.p.Prepare(prefix, req, 10, 1)
	require.True(t, ok)
	require.Equal(t, proto.ErrNoNode, err)
	require.Len(t, out, len(prefix)+36)
	require.Equal(t, "frame", string(out[:len(prefix)]))
	req.Body = nil
	out, _, ok = l.p.Prepare(out, req, 11, 1)
	require.False(t, ok)
	require.Len(t, out, len(prefix)+36)
	req.Op = proto.OpMulti
	req.Body = (&multiOf{}).add(proto.OpDelete, del("/none", -1)).AppendTo(nil)
	out, err, ok = l.p.Prepare(out, req, 11, 1)
	require.True(t, ok)
	require.Equal(t, proto.OK, err)
	require.Equal(t, "frame", string(out[:len(prefix)]))
	l.queue = append(l.queue, prepared{out[len(prefix) : len(prefix)+36], proto.ErrNoNode},
		prepared{out[len(prefix)+36:], proto.OK})
	l.applyAll()
}

func TestZxidsMustGrow(t *testing.T) {
	l := newPipeline(t, nil)
	req := &Request{Session: testSession, Op: proto.OpCloseSession}
	require.Panics(t, func() { l.p.Prepare(nil, req, l.zxid, 1) })
	l.applyAll()
	require.Panics(t, func() { l.p.Prepare(nil, req, l.zxid, 1) })
	l.p.Reset()
	require.Panics(t, func() { l.p.Prepare(nil, req, l.zxid, 1) })
}

func TestResetForgetsEverything(t *testing.T) {
	l := newPipeline(t, nil)
	l.applyAll()
	l.must(proto.OK, proto.OpCreate, create("/a", proto.ModeEphemeral))
	l.as(0x99).open()
	l.as(testSession).close()
	l.p.Reset()
	require.Equal(t, l.s.Digest(), l.p.digest)
	require.Empty(t, l.p.image().Futures)
	require.Empty(t, l.p.image().Changes)
	l.queue = nil
	l.must(proto.ErrNoNode, proto.OpSetData, set("/a", "", -1))
	l.must(proto.OK, proto.OpCreate, create("/a", 0))
	l.as(0x99).must(proto.ErrSessionExpired, proto.OpCreate, create("/b", 0))
	l.applyAll()
}

func TestDigestCanBeSwitchedOff(t *testing.T) {
	l := newPipeline(t, func(c *Config) { c.Digest = false })
	l.must(proto.OK, proto.OpSetData, set("/", "x", -1))
	require.Len(t, l.queue[len(l.queue)-1].payload, proto.TxnHeaderSize+4+1+4+1+4)
	l.applyAll()
}
