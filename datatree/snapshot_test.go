package datatree

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/test/must"
)

// randomTxns applies random txns of all kinds, as a leader would have prepared them, and keeps
// their payloads.
type randomTxns struct {
	*txns
	r    *rand.Rand
	log  [][]byte
	cuts bool // lists of closeSession are cut short, as those of very many ephemerals are
}

func (x *randomTxns) randomPath(depth int) string {
	path := ""
	for range 1 + x.r.Intn(depth) {
		path += fmt.Sprintf("/%c", 'a'+x.r.Intn(5))
	}
	return path
}

func (x *randomTxns) randomData() []byte {
	switch x.r.Intn(8) {
	case 0:
		return nil
	case 1:
		return make([]byte, x.r.Intn(40000))
	}
	return fmt.Appendf(nil, "%x", x.r.Int63()>>x.r.Intn(60))
}

func (x *randomTxns) randomACL() []proto.ACL {
	if x.r.Intn(3) > 0 {
		return openList
	}
	return []proto.ACL{acl(int32(x.r.Intn(32)), auth.SchemeDigest, fmt.Sprint(x.r.Intn(6)))}
}

// body returns a random body that fits the present state, nil if the choice does not.
func (x *randomTxns) body() (proto.OpCode, txnRecord) {
	path := x.randomPath(4)
	id := x.s.Lookup([]byte(path))
	if id == 0 && x.r.Intn(4) > 0 {
		parentPath, _ := paths.Split([]byte(path))
		parent := x.s.Lookup(parentPath)
		if parent == 0 || proto.IsSessionOwner(x.s.Node(parent).Owner) {
			return 0, nil
		}
		create := x.createTxn(path, x.randomData(), x.randomACL(), x.r.Intn(4) == 0)
		switch x.r.Intn(5) {
		case 0:
			return proto.OpCreateContainer, &proto.CreateContainerTxn{Path: create.Path, Data: create.Data,
				Acl: create.Acl, ParentCVersion: create.ParentCVersion}
		case 1:
			return proto.OpCreateTTL, &proto.CreateTTLTxn{Path: create.Path, Data: create.Data, Acl: create.Acl,
				ParentCVersion: create.ParentCVersion, Ttl: 1 + x.r.Int63n(1000)}
		case 2:
			return proto.OpCreate2, create
		}
		return proto.OpCreate, create
	}
	if id == 0 {
		return proto.OpError, &proto.ErrorTxn{Err: proto.ErrNoNode}
	}
	n := x.s.Node(id)
	switch x.r.Intn(4) {
	case 0, 1:
		if n.NumChildren > 0 {
			return 0, nil
		}
		return proto.OpDelete, &proto.DeleteTxn{Path: proto.Text(path)}
	case 2:
		return proto.OpSetData, &proto.SetDataTxn{Path: proto.Text(path), Data: x.randomData(), Version: n.Version + 1}
	}
	return proto.OpSetACL, &proto.SetACLTxn{Path: proto.Text(path), Acl: x.randomACL(), Version: n.Aversion + 1}
}

// step applies one random txn and remembers it with its digest.
func (x *randomTxns) step() {
	x.session = proto.SessionID(100 + x.r.Intn(4))
	var op proto.OpCode
	var body txnRecord
	switch x.r.Intn(30) {
	case 0:
		op, body = proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: int32(x.r.Intn(1000))}
	case 1:
		closing := &proto.CloseSessionTxn{Paths2Delete: []proto.Text{}}
		x.s.EachEphemeral(x.session, func(id NodeID) {
			closing.Paths2Delete = append(closing.Paths2Delete, x.s.AppendPath(nil, id))
		})
		list := closing.Paths2Delete
		if x.r.Intn(4) == 0 { // ZooKeeper lists them in the order of a set
			x.r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		}
		if x.cuts {
			closing.Paths2Delete = list[:x.r.Intn(len(list)+1)]
		}
		op, body = proto.OpCloseSession, closing
	case 2:
		op, body = x.multi()
	default:
		op, body = x.body()
	}
	if body != nil {
		x.do(op, body)
	}
}

// do applies a txn, and remembers it with its digest.
func (x *randomTxns) do(op proto.OpCode, body txnRecord) {
	x.apply(op, body)
	payload := append([]byte(nil), x.payload...)
	if op != proto.OpError {
		digest := proto.TxnDigest{Version: proto.DigestVersion, TreeDigest: x.s.Digest()}
		payload = digest.AppendTo(payload)
	}
	x.log = append(x.log, payload)
}

// multi returns a multi that creates a znode, changes it and deletes it again or not.
func (x *randomTxns) multi() (proto.OpCode, txnRecord) {
	for range 20 {
		op, body := x.body()
		create, ok := body.(*proto.CreateTxn)
		if !ok {
			continue
		}
		subs := []proto.SubTxn{sub(op, create),
			sub(proto.OpSetData, &proto.SetDataTxn{Path: create.Path, Data: x.randomData(), Version: 1})}
		if x.r.Intn(2) == 0 {
			subs = append(subs, sub(proto.OpDelete, &proto.DeleteTxn{Path: create.Path}))
		}
		if x.r.Intn(4) == 0 {
			subs = append(subs, sub(proto.OpError, &proto.ErrorTxn{Err: proto.ErrBadVersion}))
		}
		return proto.OpMulti, multiTxn(subs...)
	}
	return 0, nil
}

// A snapshot that is written while txns are applied, and the replay of those after its zxid, make
// the tree that has applied them all; from there on, every digest is right.
func TestFuzzySnapshotConverges(t *testing.T) {
	r := newRand(t)
	for range 60 {
		x := &randomTxns{txns: newTxns(t, NewState(Config{})), r: r}
		for range 50 + r.Intn(300) {
			x.step()
		}
		w := x.s.NewWalker()
		start := len(x.log)
		require.Equal(t, x.s.LastZxid(), w.Zxid())
		var body []byte
		for done := false; !done; {
			before := len(body)
			body, done = w.Next(body, 1+r.Intn(300))
			require.Greater(t, len(body), before-1)
			for range r.Intn(8) {
				x.step()
			}
		}
		lastZxid, digest := w.End()
		require.Equal(t, x.s.LastZxid(), lastZxid)
		require.Equal(t, x.s.Digest(), digest)
		again, done := w.Next(body, 100)
		require.True(t, done)
		require.Equal(t, len(body), len(again))
		w.Close()
		w.Close()
		require.Empty(t, x.s.walkers.live)
		require.Zero(t, x.s.acls.held)
		for range 50 {
			x.step()
		}
		x.s.check()

		s, size := must.Do2(loadBody(body, w.Zxid()))(t)
		require.Len(t, body, size)
		s.check()
		for _, payload := range x.log[start:] {
			_, applied := must.Do2(s.Apply(payload, nil, nil, false))(t)
			if applied.Header.Zxid >= lastZxid {
				require.False(t, applied.DigestMismatch, "zxid %v", applied.Header.Zxid)
			}
		}
		s.check()
		requireSameState(t, x.s, s)
	}
}

// Two walkers and one that is given up do not disturb each other; a quiet one is exact.
func TestWalkersTogether(t *testing.T) {
	x := &randomTxns{txns: newTxns(t, NewState(Config{})), r: newRand(t)}
	for range 400 {
		x.step()
	}
	whole := walk(x.s, 1<<20)
	a, b, c := x.s.NewWalker(), x.s.NewWalker(), x.s.NewWalker()
	var fromA, fromB []byte
	fromA, _ = a.Next(fromA, 50)
	c.Next(nil, 500)
	c.Close()
	for done := false; !done; {
		fromB, done = b.Next(fromB, 30)
	}
	for done := false; !done; {
		fromA, done = a.Next(fromA, 70)
	}
	a.Close()
	b.Close()
	require.Equal(t, whole, fromA)
	require.Equal(t, whole, fromB)
	requireSameState(t, x.s, reload(t, x.s, 1))
}

// An ACL that is new since the walk began is written as one that allows nothing, until replay.
func TestWalkerACLs(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	one, two := []proto.ACL{acl(1, auth.SchemeDigest, "one:x")}, []proto.ACL{acl(1, auth.SchemeDigest, "two:x")}
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, x.createTxn("/a", nil, one, false)))
	w := x.s.NewWalker()
	require.Equal(t, proto.OK, x.apply(proto.OpSetACL, &proto.SetACLTxn{Path: proto.Text("/a"), Acl: two, Version: 1}))
	var body []byte
	for done := false; !done; {
		body, done = w.Next(body, 10)
	}
	w.Close()
	s, _ := must.Do2(loadBody(body, w.Zxid()))(t)
	require.Equal(t, denyList, s.acls.List(s.Node(s.Lookup([]byte("/a"))).ACL))
	_, code := s.ReadData(nil, []byte("/a"), nil)
	require.Equal(t, proto.ErrNoAuth, code)
	must.Do2(s.Apply(x.payload, nil, nil, false))(t)
	require.Equal(t, two, s.acls.List(s.Node(s.Lookup([]byte("/a"))).ACL))
	s.check()
}

func TestLoader(t *testing.T) {
	st := &proto.StatPersisted{Czxid: 1, Pzxid: 1}
	load := func(paths ...string) (*State, error) {
		l := NewLoader(Config{})
		for _, path := range paths {
			if err := l.Node([]byte(path), []byte("d"), -1, st); err != nil {
				return nil, err
			}
		}
		return l.Done(5)
	}
	for _, paths := range [][]string{
		{}, {"/a"}, {"", "/a/b"}, {"", "/a", "/a"}, {"", "/a", "/a/b", "/c", "/a/b"}, {"", "a"}, {"", "/a/"},
		{"", "//a"}, {"", ""}, {"", "/a", ""}, {"", "/a", "/b", "/c", "/a/x", "/b/x", "/a/x", "/c/x"},
		{"", "/ab", "/a/b"},
	} {
		require.ErrorIs(t, must.Err(load(paths...)), ErrSnapshot, "%q", paths)
	}
	// Any order will do in which parents come first, and system znodes may be missing.
	s := must.Do(load("", "/a", "/b", "/a/x", "/b/x", "/a/x/1", "/b/x/1", "/a/y", "/c"))(t)
	require.Equal(t, 9, s.NumNodes())
	require.Equal(t, proto.Zxid(5), s.LastZxid())
	s.check()
	x := newTxns(t, s)
	x.create("/zookeeper", nil)
	x.create("/zookeeper/quota", nil)
	s.check()
	s.SetConfig([]byte("version=0"), 9, 77)
	require.Equal(t, "version=0", x.data("/zookeeper/config"))
	require.Equal(t, int32(-1), x.node("/zookeeper/config").Version)
	s.check()
	l := NewLoader(Config{})
	require.NoError(t, l.Node(nil, nil, -1, &proto.StatPersisted{EphemeralOwner: 7}))
	odd := must.Do(l.Done(1))(t)
	require.Zero(t, odd.DropOrphanEphemerals(), "the root is nobody's")
	odd.check()
	root := must.Do(load(""))(t)
	require.Equal(t, 1, root.NumNodes())
	root.check()

	l = NewLoader(Config{})
	require.ErrorIs(t, l.ACL(3, nil), ErrSnapshot)
	require.NoError(t, l.ACL(-1, denyList))
	require.NoError(t, l.ACL(4, readList))
	require.NoError(t, l.ACL(4, denyList))
	require.NoError(t, l.ACL(5, readList))
	require.NoError(t, l.Node(nil, nil, -1, st))
	require.NoError(t, l.Node([]byte("/a"), nil, 99, st))
	require.NoError(t, l.Node([]byte("/ttl"), nil, 4, &proto.StatPersisted{EphemeralOwner: proto.TTLOwner(5)}))
	s = must.Do(l.Done(1))(t)
	s.check()
	require.Equal(t, denyList, s.acls.List(s.Node(s.Lookup([]byte("/a"))).ACL))
	require.Equal(t, 1, s.acls.Len(), "entries nobody uses are dropped")
	require.Zero(t, s.NumEphemerals())
	_, code := s.ReadExists(nil, []byte("/a"), nil)
	require.Equal(t, proto.ErrNoAuth, code)
	_, code = s.ReadExists(nil, []byte("/"), nil)
	require.Equal(t, proto.OK, code)
	require.ErrorIs(t, must.Err(l.Done(1)), ErrSnapshot)

	// A replayed create repairs the ACL (server-semantics 16.1 scenario 5).
	must.Do2(s.Apply(appendTxn(nil, proto.OpCreate2, 2, &proto.CreateTxn{Path: proto.Text("/a"), Acl: readList}),
		nil, nil, false))(t)
	_, code = s.ReadExists(nil, []byte("/a"), nil)
	require.Equal(t, proto.OK, code)
	s.check()
}

func FuzzLoader(f *testing.F) {
	x := newTxns(f, NewState(Config{}))
	x.create("/a", []byte("d"))
	x.ephemeral("/a/b")
	f.Add(walk(x.s, 1<<20))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, _, err := loadBody(body, math.MaxInt64)
		if err != nil {
			return
		}
		s.check()
		requireSameState(t, s, reload(t, s, 100))
	})
}
