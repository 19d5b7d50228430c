package datatree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

func acl(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
}

// The answer of each read, by path and identity. Source: server-semantics 3.7 and 9.2.
func TestReadErrors(t *testing.T) {
	bob := auth.NewDigestIdentity("bob", "secret")
	x := newTxns(t, NewState(Config{}))
	for path, list := range map[string][]proto.ACL{
		"/open": openList, "/read": {acl(proto.PermRead, auth.SchemeDigest, bob.ID)},
		"/admin": {acl(proto.PermAdmin, auth.SchemeDigest, bob.ID)}, "/none": denyList,
		"/write": {acl(proto.PermWrite, auth.SchemeDigest, bob.ID)},
	} {
		require.Equal(t, proto.OK, x.apply(proto.OpCreate, x.createTxn(path, nil, list, false)))
	}
	reads := map[string]func(b, path []byte, ids []auth.Identity) ([]byte, proto.ErrCode){
		"exists": x.s.ReadExists, "getData": x.s.ReadData, "getACL": x.s.ReadACL, "getChildren": x.s.ReadChildren,
		"getChildren2": x.s.ReadChildren2, "getAllChildrenNumber": x.s.ReadAllChildrenNumber,
	}
	for name, read := range reads {
		admin := proto.ErrNoAuth
		if name == "getACL" {
			admin = proto.OK
		}
		nul := proto.ErrNoNode
		if name == "exists" {
			nul = proto.ErrBadArguments
		}
		for _, c := range []struct {
			path []byte
			ids  []auth.Identity
			want proto.ErrCode
		}{
			{nil, nil, proto.ErrMarshallingError},
			{[]byte{}, nil, proto.OK},
			{[]byte("/"), nil, proto.OK},
			{[]byte("open"), nil, proto.ErrNoNode},
			{[]byte("/open/"), nil, proto.ErrNoNode},
			{[]byte("/absent"), nil, proto.ErrNoNode},
			{[]byte("/op\x00en"), nil, nul},
			{[]byte("/open"), nil, proto.OK},
			{[]byte("/read"), nil, proto.ErrNoAuth},
			{[]byte("/read"), []auth.Identity{bob}, proto.OK},
			{[]byte("/admin"), []auth.Identity{bob}, admin},
			{[]byte("/write"), []auth.Identity{bob}, proto.ErrNoAuth},
			{[]byte("/none"), []auth.Identity{bob}, proto.ErrNoAuth},
			{[]byte("/none"), []auth.Identity{auth.SuperIdentity("")}, proto.OK},
		} {
			b, err := read([]byte("keep"), c.path, c.ids)
			require.Equal(t, c.want, err, "%s %q %v", name, c.path, c.ids)
			require.Equal(t, "keep", string(b[:4]))
			if err != proto.OK {
				require.Len(t, b, 4)
			}
		}
	}
	_, err := NewState(Config{SkipACL: true}).ReadData(nil, []byte("/zookeeper/config"), nil)
	require.Equal(t, proto.OK, err)
}

func TestReadACLMasks(t *testing.T) {
	bob := auth.NewDigestIdentity("bob", "secret")
	list := []proto.ACL{
		acl(proto.PermRead, auth.SchemeWorld, "anyone"), acl(proto.PermAll, auth.SchemeDigest, bob.ID),
		acl(proto.PermRead, auth.SchemeDigest, "nocolon"), acl(proto.PermRead, auth.SchemeIP, "10.0.0.0/8"),
	}
	masked := slices.Clone(list)
	masked[1].Id.Id = proto.Text("bob:x")
	x := newTxns(t, NewState(Config{}))
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, x.createTxn("/a", nil, list, false)))
	for _, c := range []struct {
		ids  []auth.Identity
		want []proto.ACL
	}{{nil, masked}, {[]auth.Identity{bob}, list}, {[]auth.Identity{auth.SuperIdentity("")}, list}} {
		b, err := x.s.ReadACL(nil, []byte("/a"), c.ids)
		require.Equal(t, proto.OK, err)
		var reply proto.GetACLResponse
		require.NoError(t, reply.ReadFrom(b))
		require.Equal(t, c.want, reply.Acl)
		require.Equal(t, proto.Zxid(1), reply.Stat.Czxid)
	}
}

func TestReadDataNull(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/null", nil)
	x.create("/empty", []byte{})
	x.create("/big", make([]byte, 1<<20))
	for path, length := range map[string]int{"/null": -1, "/empty": 0, "/big": 1 << 20} {
		b, err := x.s.ReadData(nil, []byte(path), nil)
		require.Equal(t, proto.OK, err)
		r := proto.NewReader(b)
		require.Equal(t, int32(length), r.Int32(), path)
		require.Len(t, b, 4+max(length, 0)+proto.StatSize)
	}
}

func TestReadChildrenSorts(t *testing.T) {
	r := newRand(t)
	for _, n := range []int{0, 1, 2, 17, 3000} {
		x := newTxns(t, NewState(Config{}))
		x.create("/p", nil)
		var want []string
		for i := range n {
			name := fmt.Sprintf("%s%x", []string{"lock-", "lock-\u00e9", "l", ""}[r.Intn(4)], r.Int63()>>r.Intn(60))
			if i%7 == 0 {
				name = fmt.Sprintf("lock-00000000%d", i)
			}
			if x.s.Lookup([]byte("/p/"+name)) != 0 {
				continue
			}
			x.create("/p/"+name, nil)
			want = append(want, name)
		}
		slices.Sort(want)
		b, err := x.s.ReadChildren2(nil, []byte("/p"), nil)
		require.Equal(t, proto.OK, err)
		var reply proto.GetChildren2Response
		require.NoError(t, reply.ReadFrom(b))
		got := []string{}
		for _, name := range reply.Children {
			got = append(got, string(name))
		}
		require.True(t, slices.Equal(want, got))
		require.Equal(t, int32(len(want)), reply.Stat.NumChildren)
		require.Equal(t, x.s.Stat(x.s.Lookup([]byte("/p"))), reply.Stat)
		only, _ := x.s.ReadChildren(nil, []byte("/p"), nil)
		require.Equal(t, b[:len(b)-proto.StatSize], only)
	}
}

// server-semantics 16.1 scenario 14: no confusion between /a and /ab.
func TestReadAllChildrenNumber(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	for _, path := range []string{"/a", "/a/b", "/a/b/c", "/a/d", "/ab", "/ab/x"} {
		x.create(path, nil)
	}
	for path, want := range map[string]int32{"/": 9, "": 9, "/a": 3, "/a/b": 1, "/a/d": 0, "/ab": 1, "/zookeeper": 2} {
		b, err := x.s.ReadAllChildrenNumber(nil, []byte(path), nil)
		require.Equal(t, proto.OK, err)
		r := proto.NewReader(b)
		require.Equal(t, want, r.Int32(), path)
	}
}

func TestReadEphemerals(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/a", nil)
	for _, path := range []string{"/a/b", "/a/bc", "/a/c", "/z"} {
		x.ephemeral(path)
	}
	for prefix, want := range map[string][]string{
		"null": {"/a/b", "/a/bc", "/a/c", "/z"}, "": {"/a/b", "/a/bc", "/a/c", "/z"},
		"  ": {"/a/b", "/a/bc", "/a/c", "/z"}, "/": {"/a/b", "/a/bc", "/a/c", "/z"}, "/a/b": {"/a/b", "/a/bc"},
		"/q": {}, "/a": {"/a/b", "/a/bc", "/a/c"}, "/a/": {"/a/b", "/a/bc", "/a/c"}, "/a/b/": {}, "/z": {"/z"},
		"/z/": {}, "/a/bcd": {},
	} {
		text := proto.Text(prefix)
		if prefix == "null" {
			text = nil
		}
		b, err := x.s.ReadEphemerals([]byte("x"), 7, text)
		require.Equal(t, proto.OK, err)
		var reply proto.GetEphemeralsResponse
		require.NoError(t, reply.ReadFrom(b[1:]))
		got := []string{}
		for _, path := range reply.Ephemerals {
			got = append(got, string(path))
		}
		require.Equal(t, want, got, prefix)
	}
	b, err := x.s.ReadEphemerals(nil, 8, nil)
	require.Equal(t, proto.OK, err)
	require.Equal(t, []byte{0, 0, 0, 0}, b)
}

func TestReadMulti(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	x.create("/a", []byte("data"))
	require.Equal(t, proto.OK, x.apply(proto.OpCreate, x.createTxn("/secret", nil, denyList, false)))
	body := func(ops ...proto.OpCode) []byte {
		var b []byte
		for i, op := range ops {
			b = proto.AppendMultiOp(b, op)
			request := proto.PathWatchRequest{Path: proto.Text([]string{"/a", "/none", "/secret", "/"}[i%4])}
			b = request.AppendTo(b)
		}
		return proto.AppendMultiEnd(b)
	}
	got, err := x.s.ReadMulti([]byte("keep"),
		body(proto.OpGetData, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren), nil)
	require.Equal(t, proto.OK, err)
	want := proto.AppendMultiResult([]byte("keep"), proto.OpGetData)
	want, _ = x.s.ReadData(want, []byte("/a"), nil)
	want = proto.AppendMultiError(want, proto.ErrNoNode)
	want = proto.AppendMultiError(want, proto.ErrNoAuth)
	want = proto.AppendMultiResult(want, proto.OpGetChildren)
	want, _ = x.s.ReadChildren(want, []byte("/"), nil)
	require.Equal(t, proto.AppendMultiEnd(want), got)

	whole := body(proto.OpGetData)
	bad := [][]byte{body(proto.OpGetData, proto.OpCreate), body(proto.OpExists), body(proto.OpMulti)}
	for n := range whole {
		bad = append(bad, whole[:n])
	}
	for _, b := range bad {
		out, err := x.s.ReadMulti([]byte("keep"), b, nil)
		require.Equal(t, proto.ErrMarshallingError, err, "%x", b)
		require.Equal(t, "keep", string(out))
	}

	// A small request cannot ask for an unbounded reply.
	x.create("/big", make([]byte, 1<<20))
	var many []byte
	for range 200 {
		request := proto.PathWatchRequest{Path: proto.Text("/big")}
		many = request.AppendTo(proto.AppendMultiOp(many, proto.OpGetData))
	}
	out, err := x.s.ReadMulti(nil, proto.AppendMultiEnd(many), nil)
	require.Equal(t, proto.ErrConnectionLoss, err)
	require.Less(t, cap(out), 4<<20, "that it gets too long is found out before it is that long")

	// A reply that fits the bound is complete to the last byte, in a buffer that was allocated once.
	for n := range []int{1, 2, 15} {
		var some []byte
		for range n {
			request := proto.PathWatchRequest{Path: proto.Text("/big")}
			some = request.AppendTo(proto.AppendMultiOp(some, proto.OpGetData))
		}
		out, err := x.s.ReadMulti(nil, proto.AppendMultiEnd(some), nil)
		require.Equal(t, proto.OK, err)
		require.Len(t, out, n*(multiSlotSize+1<<20)+9)
	}

	// The names of children are few.
	wide := wideState(t, multiReadNames/4+1)
	var lists []byte
	for range 4 {
		request := proto.PathWatchRequest{Path: proto.Text("/wide")}
		lists = request.AppendTo(proto.AppendMultiOp(lists, proto.OpGetChildren))
		_, err = wide.s.ReadMulti(nil, proto.AppendMultiEnd(slices.Clone(lists)), nil)
	}
	require.Equal(t, proto.ErrConnectionLoss, err)
}

func FuzzReadMulti(f *testing.F) {
	s := NewState(Config{})
	request := proto.PathWatchRequest{Path: proto.Text("/zookeeper")}
	f.Add(proto.AppendMultiEnd(request.AppendTo(proto.AppendMultiOp(nil, proto.OpGetChildren))))
	f.Fuzz(func(t *testing.T, body []byte) {
		if b, err := s.ReadMulti(nil, body, nil); err != proto.OK {
			require.Empty(t, b)
		} else {
			require.GreaterOrEqual(t, len(b), 9)
		}
	})
}

func TestReadsDoNotAllocate(t *testing.T) {
	x := newTxns(t, newBenchState(t, 1000))
	x.ephemeral("/e")
	path, parent := benchPath(nil, 3), []byte("/bench/p003")
	ids := []auth.Identity{auth.NewDigestIdentity("bob", "secret")}
	b := make([]byte, 0, 1<<16)
	allocs := testing.AllocsPerRun(100, func() {
		b, _ = x.s.ReadExists(b[:0], path, ids)
		b, _ = x.s.ReadData(b[:0], path, ids)
		b, _ = x.s.ReadACL(b[:0], path, ids)
		b, _ = x.s.ReadChildren(b[:0], parent, ids)
		b, _ = x.s.ReadChildren2(b[:0], []byte("/bench"), ids) // in order: sorting takes scratch from a pool
		b, _ = x.s.ReadAllChildrenNumber(b[:0], parent, ids)
		b, _ = x.s.ReadEphemerals(b[:0], 7, nil)
	})
	require.Zero(t, allocs)
}

func TestEachDue(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	container := func(path string) {
		require.Equal(t, proto.OK,
			x.apply(proto.OpCreateContainer, &proto.CreateContainerTxn{Path: proto.Text(path), ParentCVersion: -1}))
	}
	ttl := func(path string, ms int64) {
		require.Equal(t, proto.OK,
			x.apply(proto.OpCreateTTL, &proto.CreateTTLTxn{Path: proto.Text(path), ParentCVersion: -1, Ttl: ms}))
	}
	container("/fresh") // time 1001
	container("/used")
	x.create("/used/c", nil)
	container("/once")
	x.create("/once/c", nil)
	require.Equal(t, proto.OK, x.apply(proto.OpDelete, &proto.DeleteTxn{Path: proto.Text("/once/c")}))
	ttl("/short", 10) // time 1007
	ttl("/long", 1000)
	ttl("/parent", 10)
	x.create("/parent/c", nil)
	due := func(now, never int64) (paths []string) {
		x.s.EachDue(now, never, func(path []byte) bool { paths = append(paths, string(path)); return true })
		return paths
	}
	require.Equal(t, []string{"/once"}, due(1017, 0))
	require.Equal(t, []string{"/once", "/short"}, due(1018, 0))
	require.Equal(t, []string{"/once", "/short"}, due(1101, 100))
	require.Equal(t, []string{"/fresh", "/once", "/short"}, due(1102, 100))
	require.Equal(t, proto.OK, x.apply(proto.OpSetData, &proto.SetDataTxn{Path: proto.Text("/short")})) // time 1011
	require.Equal(t, []string{"/once"}, due(1018, 0))
	var first []string
	x.s.EachDue(5000, 1, func(path []byte) bool { first = append(first, string(path)); return false })
	require.Equal(t, []string{"/fresh"}, first)
	require.Equal(t, proto.OK, x.apply(proto.OpDeleteContainer, &proto.DeleteTxn{Path: proto.Text("/once")}))
	require.Equal(t, []string{"/short", "/long"}, due(5000, 0))
}

// The tree stores names, and a reply has whole paths: one that would be too large is refused before its memory is
// taken.
func TestReadEphemeralsIsBounded(t *testing.T) {
	x := newTxns(t, NewState(Config{}))
	long := "/" + strings.Repeat("p", 1_000_000)
	x.create(long, nil)
	for i := range ephemeralsMax / len(long) {
		x.ephemeral(fmt.Sprintf("%s/%02d", long, i))
	}
	b, err := x.s.ReadEphemerals(nil, 7, nil)
	require.Equal(t, proto.OK, err)
	require.Greater(t, len(b), ephemeralsMax-len(long))
	x.ephemeral(long + "/last")
	b, err = x.s.ReadEphemerals([]byte("x"), 7, nil)
	require.Equal(t, proto.ErrConnectionLoss, err)
	require.Equal(t, "x", string(b))
	_, err = x.s.ReadEphemerals(nil, 7, proto.Text(long+"/l"))
	require.Equal(t, proto.OK, err)
}
