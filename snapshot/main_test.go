package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const fixtures = "../test/testdata/fixtures/"

// state is a Sink that keeps everything in order, and with it what a snapshot is made of.
type state struct {
	sessions []session
	acls     []aclEntry
	nodes    []node
	lastZxid proto.Zxid
	digest   int64
}

type session struct {
	id        proto.SessionID
	timeoutMs int32
}

type aclEntry struct {
	key  int64
	list []proto.ACL
}

type node struct {
	path, data []byte
	acl        int64
	stat       proto.StatPersisted
}

func (s *state) Session(id proto.SessionID, timeoutMs int32) error {
	s.sessions = append(s.sessions, session{id, timeoutMs})
	return nil
}

func (s *state) ACL(key int64, list []proto.ACL) error {
	e := aclEntry{key: key, list: []proto.ACL{}}
	for _, a := range list {
		a.Id.Scheme, a.Id.Id = bytes.Clone(a.Id.Scheme), bytes.Clone(a.Id.Id)
		e.list = append(e.list, a)
	}
	s.acls = append(s.acls, e)
	return nil
}

func (s *state) Node(path, data []byte, acl int64, st *proto.StatPersisted) error {
	s.nodes = append(s.nodes, node{bytes.Clone(path), bytes.Clone(data), acl, *st})
	return nil
}

// body returns the encoded body in pieces of whole records.
func (s *state) body() (pieces [][]byte) {
	piece := func(b []byte) { pieces = append(pieces, b) }
	piece(proto.AppendInt32(nil, int32(len(s.sessions))))
	for _, e := range s.sessions {
		piece(proto.AppendInt32(proto.AppendInt64(nil, int64(e.id)), e.timeoutMs))
	}
	piece(proto.AppendInt32(nil, int32(len(s.acls))))
	for _, e := range s.acls {
		b := proto.AppendInt32(proto.AppendInt64(nil, e.key), int32(len(e.list)))
		for _, a := range e.list {
			b = a.AppendTo(b)
		}
		piece(b)
	}
	for _, n := range s.nodes {
		b := proto.AppendInt64(proto.AppendBuffer(proto.AppendBuffer(nil, n.path), n.data), n.acl)
		piece(n.stat.AppendTo(b))
	}
	piece(terminator)
	return pieces
}

// source returns a Source of s that hands out one record a call.
func (s *state) source() *pieces {
	return &pieces{left: s.body(), lastZxid: s.lastZxid, digest: s.digest}
}

type pieces struct {
	left     [][]byte
	lastZxid proto.Zxid
	digest   int64
}

func (p *pieces) Next(b []byte) ([]byte, bool) {
	b = append(b, p.left[0]...)
	p.left = p.left[1:]
	return b, len(p.left) == 0
}

func (p *pieces) End() (proto.Zxid, int64) { return p.lastZxid, p.digest }

// sample returns a state with n znodes beside the root, in pre-order, with all kinds of fields.
func sample(n int) *state {
	s := &state{lastZxid: 0x500000007, digest: -0x123456789}
	for i := range 3 {
		s.sessions = append(s.sessions, session{proto.SessionID(0x100000000000000 + i), int32(4000 + i)})
	}
	anyone := proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}
	s.acls = []aclEntry{
		{1, []proto.ACL{{Perms: proto.PermRead, Id: anyone}}},
		{7, []proto.ACL{{Perms: 5, Id: anyone},
			{Perms: 31, Id: proto.ID{Scheme: proto.Text("digest"), Id: proto.Text("a:b")}}}},
		{9, []proto.ACL{}},
	}
	s.nodes = append(s.nodes, node{path: []byte{}, data: []byte{}, acl: -1})
	top := []string{"/a", "/app", "/app/sub", "/z"}
	for i := range n {
		path := fmt.Sprintf("/z/node-%08d", i)
		if i < len(top) {
			path = top[i]
		}
		nd := node{path: []byte(path), acl: []int64{-1, 1, 7, 9}[i%4], stat: proto.StatPersisted{
			Czxid: proto.Zxid(i), Mzxid: proto.Zxid(2 * i), Ctime: 1795240434424, Mtime: int64(i), Version: int32(-i),
			Cversion: int32(i), Aversion: 3, EphemeralOwner: proto.SessionID(i % 2), Pzxid: proto.Zxid(3 * i)}}
		switch i % 3 {
		case 0:
			nd.data = []byte{}
		case 1:
			nd.data = []byte(strings.Repeat("data", i%40))
		}
		s.nodes = append(s.nodes, nd)
	}
	return s
}

// same compares what was written with what was read.
func (s *state) same(t *testing.T, got *state) {
	t.Helper()
	require.Equal(t, s.sessions, got.sessions)
	require.Equal(t, s.acls, got.acls)
	require.Equal(t, s.nodes, got.nodes)
}

const dir = "/data/version-2"

// newDir returns a filesystem with an empty directory.
func newDir(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	require.NoError(t, m.MkdirAll(dir))
	t.Cleanup(func() { require.Empty(t, m.OpenFiles()) })
	return m
}

func newStore(t testing.TB, fs vfs.FS, c Compression) *Store {
	t.Helper()
	s := must.Do(NewStore(Options{FS: fs, Dir: dir, Compression: c}))(t)
	return s
}

// put creates a durable file.
func put(t testing.TB, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f := must.Do(fs.Create(dir + "/" + name))(t)
	must.Do(f.Write(b))(t)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, fs.SyncDir(dir))
}

// contents returns a whole file.
func contents(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	b := must.Do(vfs.ReadFile(fs, dir+"/"+name, 1<<30))(t)
	return b
}

var compressions = []Compression{Plain, Gzip, Snappy}

func (c Compression) testName() string {
	if c == Plain {
		return "plain"
	}
	return string(c)
}
