package snapshot

import (
	"errors"
	"fmt"
	"hash/adler32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// write returns the bytes of a snapshot of s.
func write(t testing.TB, s *state, c Compression) []byte {
	t.Helper()
	fs := newDir(t)
	m := must.Do(newStore(t, fs, c).Write(0x77, s.source()))(t)
	return contents(t, fs, m.Name)
}

// loadBytes loads a file with these bytes.
func loadBytes(t testing.TB, b []byte, c Compression, sink Sink) (Trailer, error) {
	t.Helper()
	fs := newDir(t)
	put(t, fs, FileName(0x77, c), b)
	return Load(fs, dir+"/"+FileName(0x77, c), sink)
}

// requireCorrupt requires an error that says which file is damaged and where.
func requireCorrupt(t *testing.T, err error, c Compression, what string) {
	t.Helper()
	require.ErrorIs(t, err, ErrCorrupt, what)
	var at *CorruptError
	require.ErrorAs(t, err, &at, what)
	require.Equal(t, FileName(0x77, c), at.File, what)
	require.GreaterOrEqual(t, at.Offset, int64(0), what)
	require.ErrorContains(t, err, fmt.Sprintf("%s is corrupt at byte %d: ", at.File, at.Offset), what)
}

// A compressed file has bits that do not matter: in the header of gzip, time and operating system; in both, the
// distance of a match inside a run of equal bytes. Then it must load to the very same.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	want := sample(6)
	for _, c := range compressions {
		t.Run(c.testName(), func(t *testing.T) {
			good := write(t, want, c)
			trailer := must.Do(loadBytes(t, good, c, Discard))(t)
			harmless := 0
			for i := range good {
				for bit := byte(1); bit != 0; bit <<= 1 {
					bad := append([]byte{}, good...)
					bad[i] ^= bit
					var got state
					badTrailer, err := loadBytes(t, bad, c, &got)
					what := fmt.Sprintf("byte %d of %d, bit %#x", i, len(good), bit)
					if c != Plain && err == nil {
						harmless++
						want.same(t, &got)
						require.Equal(t, trailer, badTrailer, what)
						continue
					}
					if c == Plain && i >= 4 && i < headerSize {
						require.ErrorContains(t, err, "seal 1", what)
					}
					requireCorrupt(t, err, c, what)
				}
			}
			require.Less(t, harmless, len(good)*8/10)
			t.Logf("%d of %d flips do not matter", harmless, len(good)*8)
		})
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	want := sample(6)
	for _, c := range compressions {
		t.Run(c.testName(), func(t *testing.T) {
			good := write(t, want, c)
			for n := range good {
				var got state
				trailer, err := loadBytes(t, good[:n], c, &got)
				switch {
				case c == Plain && n == len(good)-lastZxidSize: // what a server before 3.9 writes
					require.NoError(t, err)
					require.True(t, trailer.HasDigest && !trailer.HasLastZxid)
					want.same(t, &got)
				case c == Plain && n == len(good)-lastZxidSize-digestSize: // before 3.6
					require.NoError(t, err)
					require.Equal(t, Trailer{}, trailer)
					want.same(t, &got)
				default:
					requireCorrupt(t, err, c, fmt.Sprintf("cut at %d of %d", n, len(good)))
				}
			}
			for _, extra := range []string{"\x00", "/", string(good), string(good[len(good)-21:])} {
				_, err := loadBytes(t, append(append([]byte{}, good...), extra...), c, Discard)
				requireCorrupt(t, err, c, fmt.Sprintf("%d bytes added", len(extra)))
			}
		})
	}
}

// raw builds a file by hand, seals included.
func raw(body []byte, sections ...[]byte) []byte {
	header := proto.FileHeader{Magic: proto.MagicSnapshot, Version: 2, Dbid: -1}
	b := append(header.AppendTo(nil), body...)
	seal := func() {
		b = append(proto.AppendInt64(b, int64(adler32.Checksum(b))), terminator...)
	}
	seal()
	for _, s := range sections {
		b = append(b, s...)
		seal()
	}
	return b
}

func bodyOf(s *state) (b []byte) {
	for _, p := range s.body() {
		b = append(b, p...)
	}
	return b
}

// storage 5.4: which sections there are is decided by how many bytes are left.
func TestTrailers(t *testing.T) {
	body := bodyOf(sample(2))
	v2 := func(version int32) []byte {
		return proto.AppendInt64(proto.AppendInt32(proto.AppendInt64(nil, 0x79), version), 77)
	}
	v1 := func(version int32, digest string) []byte {
		return proto.AppendString(proto.AppendInt32(proto.AppendInt64(nil, 0x79), version), digest)
	}
	last := proto.AppendInt64(nil, 0x7b)
	digest := Trailer{HasDigest: true, DigestZxid: 0x79, DigestVersion: 2, Digest: 77}
	both := digest
	both.HasLastZxid, both.LastZxid = true, 0x7b
	onlyLast := Trailer{HasLastZxid: true, LastZxid: 0x7b}
	for name, c := range map[string]struct {
		sections [][]byte
		want     Trailer
	}{
		"none":             {nil, Trailer{}},
		"digest":           {[][]byte{v2(2)}, digest},
		"digest and last":  {[][]byte{v2(2), last}, both},
		"last":             {[][]byte{last}, onlyLast},
		"version 1":        {[][]byte{v1(1, "1a2b3c4d5e6f")}, Trailer{}},
		"version 1, last":  {[][]byte{v1(1, "1a2b3c4d5e6f"), last}, onlyLast},
		"version 1 of 33":  {[][]byte{v1(1, "abcd")}, Trailer{}},
		"version 1 of 54":  {[][]byte{v1(0, "0123456789012345678901234")}, Trailer{}},
		"version 1, empty": {[][]byte{v1(1, "")}, Trailer{}},
	} {
		got, err := loadBytes(t, raw(body, c.sections...), Plain, Discard)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	for name, sections := range map[string][][]byte{
		"too long":            {make([]byte, 600)},
		"last twice":          {last, last},
		"digest twice":        {v2(2), v2(2)},
		"length of digest":    {proto.AppendInt32(proto.AppendInt32(proto.AppendInt64(nil, 9), 1), 1000)},
		"negative length":     {proto.AppendInt32(proto.AppendInt32(proto.AppendInt64(nil, 9), 1), -2)},
		"short":               {{1, 2, 3}},
		"digest of version 2": {v2(2)[:17]},
	} {
		_, err := loadBytes(t, raw(body, sections...), Plain, Discard)
		requireCorrupt(t, err, Plain, name)
	}
}

// Well sealed files that are no snapshots all the same.
func TestMalformedBodies(t *testing.T) {
	i32 := func(v int32) []byte { return proto.AppendInt32(nil, v) }
	i64 := func(v int64) []byte { return proto.AppendInt64(nil, v) }
	str := func(s string) []byte { return proto.AppendString(nil, s) }
	znode := func(path string) []byte {
		return append(append(str(path), str("data")...), make([]byte, nodeFixed)...)
	}
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	none := join(i32(0), i32(0))
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"negative sessions": {join(i32(-1), i32(0), znode(""), terminator), "byte 16: count of sessions is -1"},
		"too many sessions": {join(i32(1<<30), i32(0), znode(""), terminator), "count of sessions is 1073741824"},
		"negative ACLs":     {join(i32(0), i32(-2), znode(""), terminator), "byte 20: count of ACL lists is -2"},
		"too many ACLs":     {join(i32(0), i32(1<<30), znode(""), terminator), "count of ACL lists is 1073741824"},
		"null ACL":          {join(i32(0), i32(1), i64(4), i32(-1), znode(""), terminator), "byte 32: ACL 4 is null"},
		"ACL too long": {join(i32(0), i32(1), i64(4), i32(1<<30), znode(""), terminator),
			"ACL 4 claims 1073741824 elements"},
		"ACL name too long": {join(i32(0), i32(1), i64(4), i32(1), i32(31), i32(1<<29), znode(""), terminator),
			"length of ACL identity is 536870912"},
		"no root":            {join(none, terminator), `byte 24: path "/"`},
		"nothing":            {nil, "corrupt at byte "},
		"first not the root": {join(none, znode("/a"), terminator), `first znode is "/a"`},
		"two roots":          {join(none, znode(""), znode(""), terminator), "second root"},
		"path without slash": {join(none, znode(""), znode("ab"), terminator),
			`path "ab" does not begin with a slash`},
		"path of one byte": {join(none, znode(""), znode("x"), terminator), `path "x" in place of`},
		"null path": {join(none, i32(-1), str(""), make([]byte, nodeFixed), terminator),
			"byte 24: path is null"},
		"path length":   {join(none, znode(""), i32(-2), terminator), "length of path is -2"},
		"path too long": {join(none, znode(""), i32(1<<29), terminator), "length of path is 536870912"},
		"data length":   {join(none, str(""), i32(-7), terminator), "byte 28: length of data is -7"},
		"data too long": {join(none, str(""), i32(1<<29), terminator), "length of data is 536870912"},
	} {
		_, err := loadBytes(t, raw(c.body), Plain, Discard)
		requireCorrupt(t, err, Plain, name)
		require.ErrorContains(t, err, c.want, name)
	}
}

// A negative count that is not -1 is an empty list, as the reference reads it.
func TestNegativeACLCountIsEmpty(t *testing.T) {
	body := proto.AppendInt32(proto.AppendInt64([]byte{0, 0, 0, 0, 0, 0, 0, 1}, 4), -3)
	body = append(append(append(body, make([]byte, 8)...), make([]byte, nodeFixed)...), terminator...)
	var got state
	must.Do(loadBytes(t, raw(body), Plain, &got))(t)
	require.Equal(t, []aclEntry{{4, []proto.ACL{}}}, got.acls)
}

// An error of the sink comes back unchanged, with the file, the record and the offset.
func TestSinkRefuses(t *testing.T) {
	refusal := errors.New("no parent")
	b := write(t, sample(6), Plain)
	for _, kind := range []string{"session 0x100000000000000", "ACL 1", `znode "/app"`} {
		_, err := loadBytes(t, b, Plain, &refuser{kind: kind, err: refusal})
		require.ErrorIs(t, err, refusal)
		require.NotErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "snapshot.77, "+kind+" at byte ")
	}
}

type refuser struct {
	kind string
	err  error
}

func (r *refuser) Session(id proto.SessionID, _ int32) error {
	return r.match("session " + id.String())
}
func (r *refuser) ACL(key int64, _ []proto.ACL) error { return r.match(fmt.Sprintf("ACL %d", key)) }
func (r *refuser) Node(path, _ []byte, _ int64, _ *proto.StatPersisted) error {
	return r.match(fmt.Sprintf("znode %q", path))
}

func (r *refuser) match(what string) error {
	if what == r.kind {
		return r.err
	}
	return nil
}

// A disk that cannot be read is not a file that is damaged.
func TestReadErrorIsNotCorruption(t *testing.T) {
	for _, c := range compressions {
		fs := newDir(t)
		m, err := newStore(t, fs, c).Write(0x77, sample(5000).source())
		require.NoError(t, err)
		broken := errors.New("input/output error")
		for n := range 3 {
			fs.FailNth(vfs.OpRead, n, broken)
			_, err = Load(fs, dir+"/"+m.Name, Discard)
			if err == nil {
				require.Positive(t, n)
				break
			}
			require.ErrorIs(t, err, broken)
			require.NotErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, m.Name)
		}
	}
}

// A child before its parent makes a file useless, in whatever order the rest is.
func TestVerifyWantsParentsFirst(t *testing.T) {
	fs := newDir(t)
	s := newStore(t, fs, Plain)
	tree := func(paths ...string) *state {
		st := &state{lastZxid: 1}
		for _, p := range paths {
			st.nodes = append(st.nodes, node{path: []byte(p), acl: -1})
		}
		return st
	}
	for name, paths := range map[string][]string{
		"pre-order":           {"", "/a", "/a/b", "/a/b/c", "/a/d", "/ab", "/z"},
		"breadth first":       {"", "/a", "/b", "/a/c", "/b/d", "/a/c/e"},
		"the root's alone":    {""},
		"empty name":          {"", "/a", "/a/"},
		"prefix is no parent": {"", "/ab", "/ab/c", "/a", "/a/c"},
	} {
		require.NoError(t, must.Err(s.Write(1, tree(paths...).source())), name)
	}
	for name, paths := range map[string][]string{
		"no parent":           {"", "/a/b"},
		"prefix is no parent": {"", "/ab", "/a/c"},
		"child first":         {"", "/a", "/b/c", "/b"},
		"after others":        {"", "/a", "/b", "/a/c", "/c/d"},
	} {
		_, err := s.Write(1, tree(paths...).source())
		require.ErrorIs(t, err, ErrCorrupt, name)
		require.ErrorIs(t, err, errNoParent, name)
		put(t, fs, "snapshot.3", raw(bodyOf(tree(paths...))))
		require.ErrorIs(t, s.Verify(Meta{Zxid: 3, Name: "snapshot.3"}), errNoParent, name)
	}
	require.Equal(t, []string{"snapshot.1", "snapshot.3"}, listed(t, fs))
}
