package datatree

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// The chain of tree digests along the log of fixture 11-tiny. Source: storage 13.4.
func TestDigestChain(t *testing.T) {
	s := NewState(Config{})
	const session = 0x0100002c4c590000
	steps := []struct {
		op     proto.OpCode
		time   int64
		body   txnRecord
		digest int64
	}{
		{proto.OpCreateSession, 0x1a1fcab1aed, &proto.CreateSessionTxn{TimeOut: 1000000000}, 1371985504},
		{proto.OpCreate, 0x1a1fcab1af8,
			&proto.CreateTxn{Path: proto.Text("/a"), Data: []byte("x"), Acl: openList, ParentCVersion: 1}, 4872376239},
		{proto.OpSetData, 0x1a1fcab1b03, &proto.SetDataTxn{Path: proto.Text("/a"), Data: []byte("yz"), Version: 1},
			3123476289},
		{proto.OpError, 0x1a1fcab1b05, &proto.ErrorTxn{Err: proto.ErrNodeExists}, 3123476289},
		{proto.OpCreate2, 0x1a1fcab1b08,
			&proto.CreateTxn{Path: proto.Text("/e"), Data: []byte("eph"), Acl: openList, Ephemeral: true,
				ParentCVersion: 2}, 6278454753},
		{proto.OpDelete, 0, &proto.DeleteTxn{Path: proto.Text("/a")}, 5678412170},
		{proto.OpCloseSession, 0, &proto.CloseSessionTxn{Paths2Delete: []proto.Text{proto.Text("/e")}}, 2653987572},
	}
	for i, step := range steps {
		h := proto.TxnHeader{ClientID: session, Zxid: proto.Zxid(i + 1), Time: step.time, Type: step.op}
		payload := step.body.AppendTo(h.AppendTo(nil))
		if step.op != proto.OpError {
			digest := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: step.digest}
			payload = digest.AppendTo(payload)
		}
		_, applied := must.Do2(s.Apply(payload, nil, nil, false))(t)
		require.False(t, applied.DigestMismatch, "zxid %d", i+1)
		require.Equal(t, step.digest, s.Digest(), "zxid %d", i+1)
		s.check()
	}
	require.Equal(t, proto.Zxid(7), s.LastZxid())
	require.Zero(t, s.NumSessions())

	wrong := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: 1}
	for _, c := range []struct {
		version  int32
		mismatch bool
	}{{proto.DigestVersion, true}, {1, false}, {3, false}} {
		wrong.Version = c.version
		payload := wrong.AppendTo(appendTxn(nil, proto.OpCreateSession, 8, &proto.CreateSessionTxn{}))
		_, applied := must.Do2(s.Apply(payload, nil, nil, false))(t)
		require.Equal(t, c.mismatch, applied.DigestMismatch, "version %d", c.version)
	}
}

// Every field of every Stat that a txn moves, and nothing else. Source: server-semantics 5.2.
func TestApplyMovesStats(t *testing.T) {
	before := func() *txns {
		x := newTxns(t, NewState(Config{}))
		x.create("/p", []byte("dad"))     // 1
		x.create("/p/a", []byte("alpha")) // 2
		x.create("/p/b", nil)             // 3
		x.record = true
		return x
	}
	p := Node{Czxid: 1, Mzxid: 1, Pzxid: 3, Ctime: 1001, Mtime: 1001, Cversion: 2, NumChildren: 2, ACL: OpenACL}
	a := Node{Czxid: 2, Mzxid: 2, Pzxid: 2, Ctime: 1002, Mtime: 1002, ACL: OpenACL}
	born := Node{Czxid: 4, Mzxid: 4, Pzxid: 4, Ctime: 1004, Mtime: 1004, ACL: OpenACL}
	created := func(path string) []recordedChange {
		return []recordedChange{{proto.EventNodeCreated, path, 4, proto.PermAll, proto.PermAll}}
	}
	with := func(n Node, change func(*Node)) *Node { change(&n); return &n }
	grown := with(p, func(n *Node) { n.Cversion, n.Pzxid, n.NumChildren = 3, 4, 3 })
	shrunk := with(p, func(n *Node) { n.Pzxid, n.NumChildren = 4, 1 })

	for _, c := range []struct {
		name    string
		op      proto.OpCode
		body    txnRecord
		parent  *Node
		path    string
		node    *Node // nil: absent
		data    []byte
		changes []recordedChange
		reply   string // which records: path, stat, data
		err     proto.ErrCode
	}{
		{name: "create", op: proto.OpCreate,
			body:   &proto.CreateTxn{Path: proto.Text("/p/n"), Data: []byte{}, Acl: openList, ParentCVersion: 3},
			parent: grown, path: "/p/n", node: &born, data: []byte{}, changes: created("/p/n"), reply: "path"},
		{name: "create2 ephemeral", op: proto.OpCreate2,
			body:   &proto.CreateTxn{Path: proto.Text("/p/n"), Acl: openList, Ephemeral: true, ParentCVersion: 3},
			parent: grown, path: "/p/n", node: with(born, func(n *Node) { n.Owner = 7 }), changes: created("/p/n"),
			reply: "path stat"},
		{name: "createContainer", op: proto.OpCreateContainer,
			body:   &proto.CreateContainerTxn{Path: proto.Text("/p/n"), Acl: openList, ParentCVersion: 3},
			parent: grown, path: "/p/n", node: with(born, func(n *Node) { n.Owner = proto.OwnerContainer }),
			changes: created("/p/n"), reply: "path stat"},
		{name: "createTTL", op: proto.OpCreateTTL,
			body:   &proto.CreateTTLTxn{Path: proto.Text("/p/n"), Acl: openList, ParentCVersion: 3, Ttl: 60000},
			parent: grown, path: "/p/n", node: with(born, func(n *Node) { n.Owner = proto.TTLOwner(60000) }),
			changes: created("/p/n"), reply: "path stat"},
		{name: "createTTL with an illegal ttl", op: proto.OpCreateTTL,
			body:   &proto.CreateTTLTxn{Path: proto.Text("/p/n"), Acl: openList, ParentCVersion: 3, Ttl: -1},
			parent: &p, path: "/p/n", err: proto.ErrBadArguments},
		{name: "create before 3.4", op: proto.OpCreate,
			body:   &proto.CreateTxnV0{Path: proto.Text("/p/n"), Acl: openList},
			parent: grown, path: "/p/n", node: &born, changes: created("/p/n"), reply: "path"},
		{name: "create with a lower parentCVersion", op: proto.OpCreate,
			body:   &proto.CreateTxn{Path: proto.Text("/p/n"), Acl: openList, ParentCVersion: 2},
			parent: with(p, func(n *Node) { n.NumChildren = 3 }), path: "/p/n", node: &born,
			changes: created("/p/n"), reply: "path"},
		{name: "create of what exists", op: proto.OpCreate,
			body:   &proto.CreateTxn{Path: proto.Text("/p/a"), Data: []byte("new"), Acl: openList, ParentCVersion: 9},
			parent: with(p, func(n *Node) { n.Cversion, n.Pzxid = 9, 4 }), path: "/p/a", node: &a,
			data: []byte("alpha"), err: proto.ErrNodeExists},
		{name: "create of what exists, lower", op: proto.OpCreate,
			body:   &proto.CreateTxn{Path: proto.Text("/p/a"), Acl: openList, ParentCVersion: 1},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha"), err: proto.ErrNodeExists},
		{name: "create2 of what exists", op: proto.OpCreate2,
			body:   &proto.CreateTxn{Path: proto.Text("/p/a"), Acl: openList, ParentCVersion: 9},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha"), err: proto.ErrNodeExists},
		{name: "createContainer of what exists", op: proto.OpCreateContainer,
			body:   &proto.CreateContainerTxn{Path: proto.Text("/p/a"), Acl: openList, ParentCVersion: 9},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha"), err: proto.ErrNodeExists},
		{name: "createTTL of what exists", op: proto.OpCreateTTL,
			body:   &proto.CreateTTLTxn{Path: proto.Text("/p/a"), Acl: openList, ParentCVersion: 9, Ttl: 1},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha"), err: proto.ErrNodeExists},
		{name: "create without a parent", op: proto.OpCreate,
			body:   &proto.CreateTxn{Path: proto.Text("/q/n"), Acl: openList, ParentCVersion: 9},
			parent: &p, path: "/q/n", err: proto.ErrNoNode},
		{name: "delete", op: proto.OpDelete, body: &proto.DeleteTxn{Path: proto.Text("/p/a")},
			parent: shrunk, path: "/p/a",
			changes: []recordedChange{{proto.EventNodeDeleted, "/p/a", 4, proto.PermAll, proto.PermAll}}},
		{name: "deleteContainer", op: proto.OpDeleteContainer, body: &proto.DeleteTxn{Path: proto.Text("/p/a")},
			parent: shrunk, path: "/p/a",
			changes: []recordedChange{{proto.EventNodeDeleted, "/p/a", 4, proto.PermAll, proto.PermAll}}},
		{name: "delete of what does not exist", op: proto.OpDelete, body: &proto.DeleteTxn{Path: proto.Text("/p/n")},
			parent: with(p, func(n *Node) { n.Pzxid = 4 }), path: "/p/n", err: proto.ErrNoNode},
		{name: "delete without a parent", op: proto.OpDelete, body: &proto.DeleteTxn{Path: proto.Text("/q/n")},
			parent: &p, path: "/q/n", err: proto.ErrNoNode},
		{name: "setData", op: proto.OpSetData,
			body: &proto.SetDataTxn{Path: proto.Text("/p/a"), Data: []byte("beta"), Version: 17}, parent: &p,
			path: "/p/a", data: []byte("beta"),
			node:    with(a, func(n *Node) { n.Mzxid, n.Mtime, n.Version = 4, 1004, 17 }),
			changes: []recordedChange{{proto.EventNodeDataChanged, "/p/a", 4, proto.PermAll, 0}}, reply: "stat"},
		{name: "setData of null", op: proto.OpSetData,
			body: &proto.SetDataTxn{Path: proto.Text("/p/a"), Version: math.MinInt32}, parent: &p, path: "/p/a",
			node:    with(a, func(n *Node) { n.Mzxid, n.Mtime, n.Version = 4, 1004, math.MinInt32 }),
			changes: []recordedChange{{proto.EventNodeDataChanged, "/p/a", 4, proto.PermAll, 0}}, reply: "stat"},
		{name: "setData of what does not exist", op: proto.OpSetData,
			body: &proto.SetDataTxn{Path: proto.Text("/p/n")}, parent: &p, path: "/p/n", err: proto.ErrNoNode},
		{name: "setData of null path", op: proto.OpSetData, body: &proto.SetDataTxn{},
			parent: &p, path: "/p/n", err: proto.ErrNoNode},
		{name: "reconfig", op: proto.OpReconfig,
			body: &proto.SetDataTxn{Path: proto.Text("/p/a"), Data: []byte("server.1="), Version: -1}, parent: &p,
			path: "/p/a", data: []byte("server.1="),
			node:    with(a, func(n *Node) { n.Mzxid, n.Mtime, n.Version = 4, 1004, -1 }),
			changes: []recordedChange{{proto.EventNodeDataChanged, "/p/a", 4, proto.PermAll, 0}}, reply: "data stat"},
		{name: "setACL", op: proto.OpSetACL,
			body: &proto.SetACLTxn{Path: proto.Text("/p/a"), Acl: readList, Version: 5}, parent: &p, path: "/p/a",
			data: []byte("alpha"), node: with(a, func(n *Node) { n.Aversion, n.ACL = 5, 1 }), reply: "stat"},
		{name: "setACL of what does not exist", op: proto.OpSetACL,
			body: &proto.SetACLTxn{Path: proto.Text("/p/n"), Acl: readList}, parent: &p, path: "/p/n",
			err: proto.ErrNoNode},
		{name: "check", op: proto.OpCheck, body: &proto.CheckVersionTxn{Path: proto.Text("/p/a"), Version: 99},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha")},
		{name: "error", op: proto.OpError, body: &proto.ErrorTxn{Err: proto.ErrNotEmpty},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha"), err: proto.ErrNotEmpty},
		{name: "createSession", op: proto.OpCreateSession, body: &proto.CreateSessionTxn{TimeOut: 5},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha")},
		{name: "closeSession", op: proto.OpCloseSession, body: &proto.CloseSessionTxn{Paths2Delete: []proto.Text{}},
			parent: &p, path: "/p/a", node: &a, data: []byte("alpha")},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := before()
			x.tb = t
			require.Equal(t, c.err, x.apply(c.op, c.body))
			x.s.check()
			require.Equal(t, proto.Zxid(4), x.s.LastZxid())
			require.Equal(t, c.changes, x.changes)
			got := x.node("/p")
			got.Digest = 0
			require.Equal(t, *c.parent, got, "parent")

			id := x.s.Lookup([]byte(c.path))
			require.Equal(t, c.node != nil, id != 0)
			if c.node != nil {
				got := x.s.Node(id)
				got.Digest = 0
				require.Equal(t, *c.node, got)
				require.Equal(t, c.data, x.s.Data(id))
			}
			var want []byte
			if bytes.Contains([]byte(c.reply), []byte("path")) {
				want = proto.AppendString(want, c.path)
			}
			if bytes.Contains([]byte(c.reply), []byte("data")) {
				want = proto.AppendBuffer(want, c.data)
			}
			if bytes.Contains([]byte(c.reply), []byte("stat")) {
				stat := x.s.Stat(id)
				want = stat.AppendTo(want)
			}
			require.Equal(t, string(want), string(x.reply))
		})
	}
}

// The Stat as clients see it. Source: server-semantics 5.1.
func TestStatOfClients(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/p", []byte("12345"))
	x.ephemeral("/p/e")
	x.create("/p/f", nil)
	require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/p/f")}))
	require.Equal(t, proto.OK, x.apply(proto.OpCreateTTL,
		&proto.CreateTTLTxn{Path: proto.Text("/p/t"), Ttl: proto.MaxTTL, ParentCVersion: 3}))
	require.Equal(t, proto.OK,
		x.apply(proto.OpCreateContainer, &proto.CreateContainerTxn{Path: proto.Text("/p/c"), ParentCVersion: 4}))
	stat := func(path string) proto.Stat { return x.s.Stat(x.s.Lookup([]byte(path))) }
	require.Equal(t, proto.Stat{
		Czxid: 1, Mzxid: 1, Ctime: 1001, Mtime: 1001, Cversion: 2*4 - 3, NumChildren: 3, DataLength: 5, Pzxid: 6,
	}, stat("/p"))
	require.Equal(t, proto.SessionID(7), stat("/p/e").EphemeralOwner)
	require.Zero(t, stat("/p/t").EphemeralOwner)
	require.Zero(t, stat("/p/c").EphemeralOwner)
}

// A delete of a znode that has children again takes them with it; a later create of them works.
// Source: storage 5.7.
func TestDeleteTakesSubtree(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	for _, path := range []string{"/a", "/a/b", "/a/b/c", "/a/b/d", "/a/e", "/ab"} {
		x.create(path, []byte(path))
	}
	x.ephemeral("/a/b/d/x")
	x.record = true
	require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/a")}))
	x.s.check()
	require.Zero(t, x.s.NumEphemerals())
	require.Equal(t, 5, x.s.NumNodes())
	var gone []string
	for _, c := range x.changes {
		require.Equal(t, proto.EventNodeDeleted, c.Type)
		gone = append(gone, c.Path)
	}
	require.Equal(t, []string{"/a/b/c", "/a/b/d/x", "/a/b/d", "/a/b", "/a/e", "/a"}, gone)
	x.create("/a", nil)
	x.create("/a/b", nil)
	require.Equal(t, int32(1), x.node("/a").NumChildren)
	x.s.check()
}

func TestMulti(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/m", nil)
	x.record = true
	stat := func(path string) []byte { return x.s.appendStat(nil, x.s.Lookup([]byte(path))) }
	text := func(s string) proto.Text { return proto.Text(s) }

	require.Equal(t, proto.OK, x.apply(proto.OpMulti, multiTxn(
		sub(proto.OpCheck, &proto.CheckVersionTxn{Path: text("/m"), Version: 1}),
		sub(proto.OpCreate, &proto.CreateTxn{Path: text("/m/a"), Acl: openList, ParentCVersion: 1}),
		sub(proto.OpSetData, &proto.SetDataTxn{Path: text("/m/a"), Data: []byte("x"), Version: 1}),
		sub(proto.OpCreateContainer, &proto.CreateContainerTxn{Path: text("/m/c"), Acl: openList, ParentCVersion: 2}),
		sub(proto.OpCreateTTL, &proto.CreateTTLTxn{Path: text("/m/t"), Acl: openList, ParentCVersion: 3, Ttl: 5}),
		sub(proto.OpCreate2, &proto.CreateTxn{Path: text("/m/b"), Acl: openList, ParentCVersion: 4}),
		sub(proto.OpDelete, &proto.DeleteTxn{Path: text("/m/b")}),
	)))
	x.s.check()
	var want []byte
	want = proto.AppendMultiResult(want, proto.OpCheck)
	want = proto.AppendString(proto.AppendMultiResult(want, proto.OpCreate), "/m/a")
	want = append(proto.AppendMultiResult(want, proto.OpSetData), stat("/m/a")...)
	want = append(proto.AppendString(proto.AppendMultiResult(want, proto.OpCreate2), "/m/c"), stat("/m/c")...)
	want = append(proto.AppendString(proto.AppendMultiResult(want, proto.OpCreate2), "/m/t"), stat("/m/t")...)
	b := proto.Stat{Czxid: 2, Mzxid: 2, Pzxid: 2, Ctime: 1002, Mtime: 1002}
	want = b.AppendTo(proto.AppendString(proto.AppendMultiResult(want, proto.OpCreate2), "/m/b"))
	want = proto.AppendMultiResult(want, proto.OpDelete)
	want = proto.AppendMultiEnd(want)
	require.Equal(t, want, x.reply)
	var fired []string
	for _, c := range x.changes {
		fired = append(fired, c.Type.String()+" "+c.Path)
	}
	require.Equal(t, []string{
		"NodeCreated /m/a", "NodeDataChanged /m/a", "NodeCreated /m/c", "NodeCreated /m/t",
		"NodeCreated /m/b", "NodeDeleted /m/b",
	}, fired)

	// A failed one changes nothing and answers the errors.
	digest := x.s.Digest()
	require.Equal(t, proto.OK, x.apply(proto.OpMulti, multiTxn(
		sub(proto.OpDelete, &proto.DeleteTxn{Path: text("/m/a")}),
		sub(proto.OpError, &proto.ErrorTxn{Err: proto.ErrNoNode}),
		sub(proto.OpError, &proto.ErrorTxn{Err: proto.ErrRuntimeInconsistency}),
	)))
	require.Empty(t, x.changes)
	require.Equal(t, digest, x.s.Digest())
	require.Equal(t, proto.Zxid(3), x.s.LastZxid())
	want = proto.AppendMultiError(nil, proto.OK)
	want = proto.AppendMultiError(want, proto.ErrNoNode)
	want = proto.AppendMultiEnd(proto.AppendMultiError(want, proto.ErrRuntimeInconsistency))
	require.Equal(t, want, x.reply)

	// Replayed, each element is on its own.
	require.Equal(t, proto.OK, x.apply(proto.OpMulti, multiTxn(
		sub(proto.OpDelete, &proto.DeleteTxn{Path: text("/none/x")}),
		sub(proto.OpDelete, &proto.DeleteTxn{Path: text("/m/a")}),
	)))
	require.Zero(t, x.s.Lookup([]byte("/m/a")))
	require.Equal(t, proto.OK, x.apply(proto.OpMulti, multiTxn()))
	require.Equal(t, proto.AppendMultiEnd(nil), x.reply)
	x.s.check()
}

func TestSessions(t *testing.T) {
	start := func() *txns {
		x := newTxns(t, NewState(Config{}))
		require.Equal(t, proto.OK, x.apply(proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 4000}))
		x.create("/d", nil)
		for _, path := range []string{"/d/3", "/d/1", "/d/2", "/x"} {
			x.ephemeral(path)
		}
		x.session = 8
		x.ephemeral("/other")
		x.session = 7
		require.Equal(t, []proto.SessionID{7}, x.s.SessionIDs(), "8 has a znode, and is in no table")
		x.record = true
		return x
	}
	deleted := func(x *txns) (paths []string) {
		for _, c := range x.changes {
			require.Equal(t, proto.EventNodeDeleted, c.Type)
			require.Equal(t, x.zxid, c.Zxid)
			paths = append(paths, c.Path)
		}
		return paths
	}
	list := func(paths ...string) *proto.CloseSessionTxn {
		c := &proto.CloseSessionTxn{Paths2Delete: []proto.Text{}}
		for _, p := range paths {
			c.Paths2Delete = append(c.Paths2Delete, proto.Text(p))
		}
		return c
	}
	digest := &proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: 12345}
	for _, c := range []struct {
		name string
		body txnRecord
		gone []string
	}{
		{"list", list("/x", "/d/1", "/d/2", "/d/3"), []string{"/x", "/d/1", "/d/2", "/d/3"}},
		{"list with a missing path", list("/x", "/none", "/d/1", "/d/2", "/d/3"),
			[]string{"/x", "/d/1", "/d/2", "/d/3"}},
		{"unexpected extra", list("/d/2"), []string{"/d/2", "/d/3", "/d/1", "/x"}},
		{"empty list", list(), []string{"/d/3", "/d/1", "/d/2", "/x"}},
		{"no list", nil, []string{"/d/3", "/d/1", "/d/2", "/x"}},
		{"no list, digest", digest, []string{"/d/3", "/d/1", "/d/2", "/x"}},
		{"the first bytes of a list of one", &proto.TxnDigest{Version: 1, TreeDigest: 8<<32 | 0x2f642f31},
			[]string{"/d/3", "/d/1", "/d/2", "/x"}},
		{"the first bytes of a list of two",
			&proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: 8<<32 | 0x2f642f31},
			[]string{"/d/3", "/d/1", "/d/2", "/x"}},
		{"null list", &proto.CloseSessionTxn{}, []string{"/d/3", "/d/1", "/d/2", "/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := start()
			timeout, ok := x.s.Session(7)
			require.True(t, ok)
			require.Equal(t, int32(4000), timeout)
			require.Equal(t, proto.OK, x.apply(proto.OpCloseSession, c.body))
			require.Equal(t, c.gone, deleted(x))
			require.Equal(t, x.zxid, x.node("/d").Pzxid)
			require.Equal(t, int32(3), x.node("/d").Cversion)
			_, ok = x.s.Session(7)
			require.False(t, ok)
			require.Equal(t, c.body == digest, x.applied.DigestMismatch)
			x.s.check()

			// The other one has no entry in the table: an orphan.
			require.Equal(t, 1, x.s.DropOrphanEphemerals())
			require.Zero(t, x.s.Lookup([]byte("/other")))
			require.Zero(t, x.s.DropOrphanEphemerals())
			x.s.check()
		})
	}
	x := start()
	var paths []string
	x.s.EachEphemeral(7, func(id NodeID) { paths = append(paths, string(x.s.AppendPath(nil, id))) })
	require.Equal(t, []string{"/d/3", "/d/1", "/d/2", "/x"}, paths)
	require.Equal(t, 1, x.s.DropOrphanEphemerals())
	require.Equal(t, 4, x.s.NumEphemerals())
}

func TestEndSessions(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/kept", nil)
	nodes := x.s.NumNodes()
	for _, id := range []proto.SessionID{7, 8} {
		x.session = id
		require.Equal(t, proto.OK, x.apply(proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 4000}))
		x.ephemeral("/kept/" + strconv.Itoa(int(id)))
	}
	x.session = 9
	x.ephemeral("/orphan")

	first := proto.MakeZxid(3, 1)
	require.Equal(t, 2, x.s.EndSessions(first))
	require.Equal(t, first, x.s.LastZxid())
	require.Zero(t, x.s.NumSessions())
	require.Zero(t, x.s.NumEphemerals())
	require.Equal(t, nodes, x.s.NumNodes())
	require.Equal(t, first, x.node("/kept").Pzxid)
	x.s.check()
	require.Zero(t, x.s.EndSessions(first+1))
}

func TestLastZxidNeverFalls(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	require.Equal(t, proto.OK, x.applyAt(9, proto.OpCreate, x.createTxn("/a", nil, openList, false)))
	require.Equal(t, proto.OK, x.applyAt(5, proto.OpCreate, x.createTxn("/b", nil, openList, false)))
	require.Equal(t, proto.Zxid(9), x.s.LastZxid())
	require.Equal(t, proto.Zxid(5), x.node("/b").Czxid)
	require.Equal(t, proto.ErrNoNode, x.applyAt(3, proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/c")}))
	require.Equal(t, proto.Zxid(5), x.node("/").Pzxid)
}

// The sequence counter at its end: the cversion does not wrap. Source: server-semantics 3.5.
func TestCversionDoesNotWrap(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/p", nil)
	create := &proto.CreateTxn{Path: proto.Text("/p/a"), ParentCVersion: math.MaxInt32}
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, create))
	create.Path, create.ParentCVersion = proto.Text("/p/b"), math.MinInt32
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, create))
	n := x.node("/p")
	require.Equal(t, int32(math.MaxInt32), n.Cversion)
	require.Equal(t, proto.Zxid(2), n.Pzxid)
	v0 := &proto.CreateTxnV0{Path: proto.Text("/p/c"), Acl: openList}
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, v0))
	require.Equal(t, int32(math.MaxInt32), x.node("/p").Cversion)
	x.s.check()
}

func TestApplyRefusesWhatIsNoTxn(t *testing.T) {
	s := NewState(Config{})
	create := func() txnRecord {
		return &proto.CreateTxn{Path: proto.Text("/a"), Data: []byte("d"), Acl: openList, ParentCVersion: 1}
	}
	whole := appendTxn(nil, proto.OpCreate2, 1, create())
	bad := [][]byte{
		nil,
		appendTxn(nil, proto.OpGetData, 1, nil),
		appendTxn(nil, proto.OpCode(77), 1, nil),
		appendTxn(nil, proto.OpMulti, 1,
			multiTxn(sub(proto.OpCreate, create()), sub(proto.OpSetACL, &proto.SetACLTxn{}))),
		appendTxn(nil, proto.OpMulti, 1, multiTxn(sub(proto.OpCreate, create()), sub(proto.OpMulti, multiTxn()))),
		appendTxn(nil, proto.OpMulti, 1,
			multiTxn(sub(proto.OpCreate, create()), proto.SubTxn{Type: proto.OpDelete, Data: []byte{0}})),
	}
	for n := range whole {
		bad = append(bad, whole[:n])
	}
	for _, payload := range bad {
		reply, _, err := s.Apply(payload, nil, []byte("keep"), true)
		require.Error(t, err, "%x", payload)
		require.Equal(t, "keep", string(reply))
		require.Equal(t, proto.Zxid(0), s.LastZxid())
		require.Equal(t, 4, s.NumNodes())
	}
	for _, path := range []string{"", "/", "a", "a/b", "/a/", "//a", "/a//b", "//"} {
		x := newTxns(t, NewState(Config{}))
		x.create("/a", nil)
		require.Equal(t, proto.ErrNoNode,
			x.apply(proto.OpCreate, &proto.CreateTxn{Path: proto.Text(path), ParentCVersion: 5}), path)
		require.Equal(t, proto.ErrNoNode, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)}), path)
		require.Equal(t, 5, x.s.NumNodes())
		x.s.check()
	}
}

func TestApplyDoesNotAllocate(t *testing.T) {
	s := newBenchState(t, 1000)
	path := benchPath(nil, 5)
	setData := appendTxn(nil, proto.OpSetData, 1<<40,
		&proto.SetDataTxn{Path: path, Data: make([]byte, 150), Version: 3})
	shorter := appendTxn(nil, proto.OpSetData, 1<<40,
		&proto.SetDataTxn{Path: path, Data: make([]byte, 50), Version: 3})
	create := appendTxn(nil, proto.OpCreate2, 1<<40,
		&proto.CreateTxn{Path: proto.Text("/bench/new"), Data: make([]byte, 100), Acl: readList, Ephemeral: true})
	drop := appendTxn(nil, proto.OpDelete, 1<<40, &proto.DeleteTxn{Path: proto.Text("/bench/new")})
	setACL := appendTxn(nil, proto.OpSetACL, 1<<40, &proto.SetACLTxn{Path: path, Acl: readList})
	multi := appendTxn(nil, proto.OpMulti, 1<<40, multiTxn(
		sub(proto.OpSetData, &proto.SetDataTxn{Path: path, Data: make([]byte, 10)}),
		sub(proto.OpCheck, &proto.CheckVersionTxn{})))
	s.putSession(7, 1)
	var reply []byte
	sink := countingSink{}
	allocs := testing.AllocsPerRun(200, func() {
		for _, payload := range [][]byte{setData, shorter, create, drop, setACL, multi} {
			var err error
			reply, _, err = s.Apply(payload, &sink, reply[:0], true)
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	require.Zero(t, allocs)
	require.NotZero(t, sink.n)
}

type countingSink struct{ n int }

func (s *countingSink) Changed(Change) { s.n++ }

func FuzzApply(f *testing.F) {
	f.Add(appendTxn(nil, proto.OpCreate, 1,
		&proto.CreateTxn{Path: proto.Text("/a"), Acl: openList, ParentCVersion: 1}))
	f.Add(appendTxn(nil, proto.OpDelete, 1, &proto.DeleteTxn{Path: proto.Text("/zookeeper")}))
	f.Add(appendTxn(nil, proto.OpSetData, 1,
		&proto.SetDataTxn{Path: proto.Text("/zookeeper/quota/q/zookeeper_stats"), Data: []byte("x")}))
	f.Add(appendTxn(nil, proto.OpCloseSession, 1,
		&proto.CloseSessionTxn{Paths2Delete: []proto.Text{proto.Text("/e")}}))
	f.Add(appendTxn(nil, proto.OpMulti, 1, multiTxn(sub(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/q")}),
		sub(proto.OpError, &proto.ErrorTxn{}))))
	f.Fuzz(func(t *testing.T, payload []byte) {
		x := newTxns(t, NewState(Config{}))
		for _, path := range []string{
			"/q", "/q/a", "/zookeeper/quota/q", "/zookeeper/quota/q/zookeeper_limits",
			"/zookeeper/quota/q/zookeeper_stats",
		} {
			x.create(path, []byte("count=1,bytes=1"))
		}
		x.ephemeral("/e")
		digest, last := x.s.Digest(), x.s.LastZxid()
		_, applied, err := x.s.Apply(payload, nil, nil, true)
		if err != nil {
			require.Equal(t, digest, x.s.Digest())
			require.Equal(t, last, x.s.LastZxid())
		} else {
			require.Equal(t, max(last, applied.Header.Zxid), x.s.LastZxid())
		}
		x.s.check()
	})
}
