package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

const inconsistent = proto.ErrRuntimeInconsistency

func TestMultiSeesItsOwnEffects(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		// server-semantics 16.2 scenario 31.
		require.Equal(t, []proto.ErrCode{0, 0, 0}, l.multi(new(multiOf).
			add(proto.OpCreate, create("/n", 0)).add(proto.OpCreate, create("/n/a", 0)).
			add(proto.OpCreate, create("/n/a/b", 0))))
		step()
		require.Equal(t, []proto.ErrCode{0, 0, 0}, l.multi(new(multiOf).
			add(proto.OpCreate, create("/x", 0)).add(proto.OpSetData, set("/x", "y", 0)).
			add(proto.OpDelete, del("/x", 1))))
		step()
		require.Equal(t, []proto.ErrCode{0, 0}, l.multi(new(multiOf).
			add(proto.OpCreate, create("/n/s", 2)).add(proto.OpCreate, create("/n/s", 2))))
		step()
		l.must(proto.OK, proto.OpDelete, del("/n/s0000000001", -1))
		step()
		l.must(proto.OK, proto.OpDelete, del("/n/s0000000002", -1))
	})
}

// server-semantics 16.2 scenario 30: one zxid, and a body without elements.
func TestEmptyMulti(t *testing.T) {
	l := newPipeline(t, nil)
	l.must(proto.OK, proto.OpMulti, new(multiOf))
	require.Equal(t, []byte{0, 0, 0, 0}, l.last())
	l.applyAll()
	require.Equal(t, l.zxid, l.s.LastZxid())
}

// client-protocol 6.4, server-semantics 16.2 scenario 22.
func TestFailedMultiSaysWhere(t *testing.T) {
	for _, c := range []struct {
		name string
		op   proto.OpCode
		r    encodable
		want proto.ErrCode
	}{
		{"bad path", proto.OpCreate, create("bad", 0), proto.ErrBadArguments},
		{"blank path", proto.OpCreate, create("", 0), proto.ErrBadArguments},
		{"null path", proto.OpSetData, &proto.SetDataRequest{}, proto.ErrBadArguments},
		{"unknown flags", proto.OpCreate, create("/b", 9), proto.ErrBadArguments},
		{"unknown flags of a ttl", proto.OpCreateTTL, createTTL("/b", 9, 1), proto.ErrBadArguments},
		{"ttl flags without a ttl", proto.OpCreate2, create("/b", 5), proto.ErrBadArguments},
		{"null ACL", proto.OpCreate, &proto.CreateRequest{Path: proto.Text("/b")}, proto.ErrInvalidACL},
		{"exists", proto.OpCreate, create("/a", 0), proto.ErrNodeExists},
		{"missing", proto.OpDelete, del("/none", -1), proto.ErrNoNode},
		{"version", proto.OpCheck, check("/a", 4), proto.ErrBadVersion},
	} {
		l := newPipeline(t, func(c *Config) { c.ExtendedTypes = true })
		before := l.p.image()
		digest := l.p.digest
		codes := l.multi(new(multiOf).add(proto.OpCreate, create("/a", 0)).add(c.op, c.r).
			add(proto.OpDelete, del("/a", -1)).add(proto.OpCheck, check("/", -1)))
		require.Equal(t, []proto.ErrCode{0, c.want, inconsistent, inconsistent}, codes, c.name)
		require.Equal(t, before, l.p.image(), c.name)
		var d proto.TxnDigest
		payload := l.queue[len(l.queue)-1].payload
		require.NoError(t, d.ReadFrom(payload[len(payload)-proto.TxnDigestSize:]))
		require.Equal(t, proto.TxnDigest{Version: 2, TreeDigest: digest}, d,
			"a failed multi carries the digest of the tree as it was")
		l.applyAll()
		require.Zero(t, l.s.Lookup([]byte("/a")), c.name)
	}
}

// The operations before the failing one keep their bodies. Source: storage 3.2.
func TestFailedMultiKeepsTheBodiesBefore(t *testing.T) {
	l := newPipeline(t, nil)
	l.multi(new(multiOf).add(proto.OpCreate, create("/a", 0)).add(proto.OpDelete, del("/b", -1)))
	_, types := l.slots()
	require.Equal(t, []proto.OpCode{proto.OpCreate, proto.OpError}, types)
	var txn proto.MultiTxn
	require.NoError(t, txn.ReadFrom(l.last()))
	want := proto.CreateTxn{Path: proto.Text("/a"), Data: []byte("data"), Acl: openACL(), ParentCVersion: 1}
	require.Equal(t, want.AppendTo(nil), txn.Txns[0].Data)
}

// server-semantics 16.2 scenario 19, ZOOKEEPER-1624: a failed multi keeps the outstanding change of the parent.
func TestFailedMultiRestoresOutstandingChanges(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/q", 0))
		step()
		require.Equal(t, "/q/n0000000000", l.sequenced("/q/n"))
		step()
		l.must(proto.OK, proto.OpSetACL, setACL("/q", 0, entry(31, "world", "anyone"), entry(1, "world", "anyone")))
		step()
		codes := l.multi(new(multiOf).add(proto.OpCreate, create("/q/n", 2)).add(proto.OpCreate, create("/q/m", 3)).
			add(proto.OpSetData, set("/q", "other", 0)).add(proto.OpDelete, del("/q/n0000000000", 0)).
			add(proto.OpCreate, create("/q/n0000000000", 1)).add(proto.OpCreate, create("/q", 0)))
		require.Equal(t, []proto.ErrCode{0, 0, 0, 0, 0, proto.ErrNodeExists}, codes)
		step()
		require.Equal(t, "/q/n0000000001", l.sequenced("/q/n"))
		step()
		l.must(proto.OK, proto.OpSetData, set("/q", "", 0))
		step()
		require.Equal(t, "/q/n0000000002", l.sequenced("/q/n"))
	})
}

// server-semantics 16.2 scenario 20, ZOOKEEPER-2052: nothing outstanding before, nothing outstanding afterwards.
func TestFailedMultiLeavesNothingBehind(t *testing.T) {
	l := newPipeline(t, nil)
	l.must(proto.OK, proto.OpCreate, create("/foo", 0))
	l.must(proto.OK, proto.OpCreate, create("/foo/x", 0))
	l.applyAll()
	l.p.catchUp()
	codes := l.multi(new(multiOf).add(proto.OpSetData, set("/foo", "y", 0)).add(proto.OpDelete, del("/foo", -1)))
	require.Equal(t, []proto.ErrCode{0, proto.ErrNotEmpty}, codes)
	require.Empty(t, l.p.image().Futures)
	l.must(proto.OK, proto.OpSetData, set("/foo", "z", 0))
	l.applyAll()
}

// server-semantics 16.2 scenario 21.
func TestMultiSeesWhatIsOutstanding(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreate, create("/foo", 0))
		step()
		l.must(proto.OK, proto.OpSetData, set("/foo", "", 0))
		step()
		require.Equal(t, []proto.ErrCode{0, 0}, l.multi(new(multiOf).
			add(proto.OpSetData, set("/foo", "", 1)).add(proto.OpCheck, check("/foo", 2))))
		step()
		require.Equal(t, []proto.ErrCode{proto.ErrBadVersion},
			l.multi(new(multiOf).add(proto.OpCheck, check("/foo", 1))))
	})
}

// An ephemeral that a failed multi made is none of the session's.
func TestFailedMultiMakesNoEphemerals(t *testing.T) {
	l := newPipeline(t, nil)
	l.must(proto.OK, proto.OpCreate, create("/e1", 1))
	before := l.p.image()
	l.multi(new(multiOf).add(proto.OpCreate, create("/e2", 1)).add(proto.OpDelete, del("/none", -1)))
	require.Equal(t, before, l.p.image())
	require.Equal(t, []string{"/e1"}, l.closes())
	l.applyAll()
}

// The mode decides what a create inside a multi is. Source: client-protocol 6.1.
func TestKindsInsideMulti(t *testing.T) {
	for _, c := range []struct {
		op, want proto.OpCode
		mode     proto.CreateMode
		owner    proto.SessionID
	}{
		{proto.OpCreate, proto.OpCreate, 0, 0},
		{proto.OpCreate2, proto.OpCreate, 1, testSession}, // see Preparer.Create2
		{proto.OpCreate, proto.OpCreateContainer, 4, proto.OwnerContainer},
		{proto.OpCreate2, proto.OpCreateContainer, 4, proto.OwnerContainer},
		{proto.OpCreateContainer, proto.OpCreateContainer, 4, proto.OwnerContainer},
		{proto.OpCreateContainer, proto.OpCreateContainer, 0, proto.OwnerContainer},
		{proto.OpCreateContainer, proto.OpCreateContainer, 1, proto.OwnerContainer},
		{proto.OpCreateTTL, proto.OpCreateTTL, 5, proto.TTLOwner(7)},
		{proto.OpCreateTTL, proto.OpCreate, 0, 0},
		{proto.OpCreateTTL, proto.OpCreate, 1, testSession},
		{proto.OpCreateTTL, proto.OpCreateContainer, 4, proto.OwnerContainer},
	} {
		l := newPipeline(t, func(c *Config) { c.ExtendedTypes = true })
		var r encodable = create("/n", c.mode)
		if c.op == proto.OpCreateTTL {
			ttl := int64(7)
			if !c.mode.IsTTL() {
				ttl = -1 // it is not looked at
			}
			r = createTTL("/n", c.mode, ttl)
		}
		l.must(proto.OK, proto.OpMulti, new(multiOf).add(c.op, r))
		codes, types := l.slots()
		require.Equal(t, []proto.ErrCode{0}, codes, "%v mode %d", c.op, c.mode)
		require.Equal(t, []proto.OpCode{c.want}, types, "%v mode %d", c.op, c.mode)
		require.Equal(t, c.op == proto.OpCreate2 && c.mode == 1, len(l.p.Create2()) == 1, "%v mode %d", c.op, c.mode)
		l.applyAll()
		require.Equal(t, c.owner, l.s.Node(l.s.Lookup([]byte("/n"))).Owner, "%v mode %d", c.op, c.mode)
	}
	l := newPipeline(t, nil)
	require.Equal(t, []proto.ErrCode{proto.ErrUnimplemented},
		l.multi(new(multiOf).add(proto.OpCreateTTL, createTTL("/n", 5, 1))))
	require.Equal(t, []proto.ErrCode{0}, l.multi(new(multiOf).add(proto.OpCreateTTL, createTTL("/n", 0, 1))))
	l.applyAll()
}

// server-semantics 16.2 scenario 27 and client-protocol 6.2: the whole request is refused, no zxid is used, and
// nothing of it happens.
func TestMalformedMulti(t *testing.T) {
	good := func() *multiOf { return new(multiOf).add(proto.OpCreate, create("/a", 0)) }
	watch := &proto.PathWatchRequest{Path: proto.Text("/")}
	for name, m := range map[string]*multiOf{
		"getData":         good().add(proto.OpGetData, watch),
		"getChildren":     good().add(proto.OpGetChildren, watch),
		"exists":          good().add(proto.OpExists, watch),
		"setACL":          good().add(proto.OpSetACL, setACL("/", -1, openACL()...)),
		"sync":            good().add(proto.OpSync, &proto.PathRequest{}),
		"deleteContainer": good().add(proto.OpDeleteContainer, &proto.PathRequest{}),
		"multi":           good().add(proto.OpMulti, new(multiOf)),
		"error":           good().add(proto.OpError, &proto.ErrorTxn{}),
		"reconfig":        good().add(proto.OpReconfig, &proto.ReconfigRequest{}),
		"truncated":       good().add(proto.OpDelete, nil),
	} {
		l := newPipeline(t, nil)
		before := l.p.image()
		err, ok := l.send(proto.OpMulti, m.AppendTo(nil))
		require.False(t, ok, name)
		require.Equal(t, proto.ErrMarshallingError, err, name)
		require.Equal(t, before, l.p.image(), name)
		require.EqualValues(t, 2, l.zxid)
	}
	l := newPipeline(t, nil)
	body := good().AppendTo(nil)
	for n := range len(body) {
		_, ok := l.send(proto.OpMulti, body[:n])
		require.False(t, ok, "cut at %d", n)
	}
	_, ok := l.send(proto.OpMulti, append(body, "what follows the end does not matter"...))
	require.True(t, ok)
	l.applyAll()
}

func TestMultiOfSessions(t *testing.T) {
	l := newPipeline(t, nil)
	m := new(multiOf).add(proto.OpCreate, create("/a", 0)).add(proto.OpCreate, create("/b", 1))
	l.local = true
	require.Equal(t, []proto.ErrCode{0, proto.ErrEphemeralOnLocalSession}, l.multi(m))
	l.local = false
	unknownSession(l)
	l.must(proto.ErrSessionExpired, proto.OpMulti, m)
	l.as(testSession).close()
	l.must(proto.ErrSessionExpired, proto.OpMulti, m)
	l.applyAll()
}

// A multi that changes one path again and again, with lists that are not interned yet, is undone
// to the byte, and the next one still finds the buffers right.
func TestJournalOfRepeatedChanges(t *testing.T) {
	l := newPipeline(t, nil)
	list := []proto.ACL{entry(31, "world", "anyone"), entry(3, "digest", "a:b")}
	r := create("/a", 0)
	r.Acl = list
	l.must(proto.OK, proto.OpCreate, r)
	for round := range 3 {
		other := create("/a", 0)
		other.Acl = []proto.ACL{entry(31, "digest", "x:y"), entry(31, "world", "anyone")}
		before := l.p.image()
		m := new(multiOf)
		for range 5 {
			m.add(proto.OpSetData, set("/a", "x", -1)).add(proto.OpDelete, del("/a", -1)).add(proto.OpCreate, other)
		}
		m.add(proto.OpCheck, check("/none", 0))
		codes := l.multi(m)
		require.Equal(t, proto.ErrNoNode, codes[15], round)
		require.Equal(t, before, l.p.image(), round)
	}
	l.must(proto.OK, proto.OpSetData, set("/a", "x", 0))
	l.applyAll()
	require.Equal(t, list, l.s.ACLs().List(l.s.Node(l.s.Lookup([]byte("/a"))).ACL))
}

// TestMultiThatRests prepares the same random requests twice: by a Preparer that never rests, and by one that
// applies what was prepared before whenever a multi rests. The txns are the same, byte for byte, even when a
// multi fails at its end.
func TestMultiThatRests(t *testing.T) {
	r := newRand(t)
	var rests func()
	still := newPipeline(t, nil)
	moving := newPipeline(t, func(c *Config) { c.Rest = func() { rests() } })
	applied := 0
	rests = func() {
		if len(moving.queue) > 0 {
			moving.apply(1)
			applied++
		}
	}
	path := func() string { return "/" + string(rune('a'+r.IntN(20))) }
	random := func() (proto.OpCode, encodable) {
		switch r.IntN(4) {
		case 0:
			return proto.OpCreate, create(path(), proto.CreateMode(2*r.IntN(2)))
		case 1:
			return proto.OpDelete, del(path(), -1)
		}
		return proto.OpSetData, set(path(), "y", -1)
	}
	for round := range 30 {
		for range 10 + r.IntN(20) {
			op, req := random()
			require.Equal(t, still.do(op, req), moving.do(op, req))
		}
		m := new(multiOf)
		for range 3 * multiRest {
			m.add(proto.OpCreate, create("/a", proto.ModePersistentSequential)).add(proto.OpSetData,
				set("/zookeeper/quota", "x", -1))
		}
		if round%3 == 0 {
			m.add(proto.OpCheck, check("/none", 7))
		}
		before := applied
		require.Equal(t, still.do(proto.OpMulti, m), moving.do(proto.OpMulti, m))
		require.Equal(t, still.last(), moving.last())
		require.Greater(t, applied, before)
		still.apply(r.IntN(len(still.queue)))
	}
	still.applyAll()
	moving.applyAll()
	require.Equal(t, still.s.Digest(), moving.s.Digest())
}
