package snapshot

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

func loadFixture(t *testing.T, path string) (*state, Trailer) {
	t.Helper()
	s := &state{}
	trailer := must.Do(Load(vfs.OS(), fixtures+path, s))(t)
	return s, trailer
}

// storage 13.3: written by ZooKeeper 3.8, with the digest section only.
func TestGoldenSnapshot38(t *testing.T) {
	s, trailer := loadFixture(t, "zookeeper-3.8/11-tiny/version-2/snapshot.5")
	require.Equal(t, Trailer{HasDigest: true, DigestZxid: 5, DigestVersion: 2, Digest: 6278454753}, trailer)
	require.Equal(t, []session{{0x100002c4c590000, 1000000000}}, s.sessions)
	require.Len(t, s.acls, 2)
	require.Equal(t, "/zookeeper/config", string(s.nodes[3].path))
	require.EqualValues(t, -1, s.nodes[3].stat.Aversion)

	// Encoded again it is the same up to the section that 3.8 does not write.
	want := must.ReadFile(t, fixtures+"zookeeper-3.8/11-tiny/version-2/snapshot.5")
	s.lastZxid, s.digest = trailer.DigestZxid, trailer.Digest
	got := rewrite(t, s)
	require.Equal(t, want, got[:len(want)])
	require.Len(t, got, len(want)+lastZxidSize)
}

// storage 13.5: all sections.
func TestGoldenSnapshot310(t *testing.T) {
	const path = "zookeeper-3.10-snapshot/01-tiny/version-2/snapshot.9"
	s, trailer := loadFixture(t, path)
	require.Equal(t, Trailer{HasDigest: true, DigestZxid: 9, DigestVersion: 2, Digest: 20800145792,
		HasLastZxid: true, LastZxid: 9}, trailer)
	want := must.ReadFile(t, fixtures+path)
	s.lastZxid, s.digest = trailer.LastZxid, trailer.Digest
	require.Equal(t, want, rewrite(t, s))
}

// storage 13.6: a compressed file of ours unpacks to what Java's unpacks to, and begins with the same header.
func TestGoldenCompressed(t *testing.T) {
	for path, header := range map[string]int{
		"zookeeper-3.8/09-gzip/version-2/snapshot.3e.gz":       4,
		"zookeeper-3.8/10-snappy/version-2/snapshot.3e.snappy": 16,
	} {
		s, trailer := loadFixture(t, path)
		require.NotEmpty(t, s.nodes)
		theirs := must.ReadFile(t, fixtures+path)
		_, c, _ := ParseName(filepath.Base(path))
		fs := newDir(t)
		s.lastZxid, s.digest = trailer.DigestZxid, trailer.Digest
		m := must.Do(newStore(t, fs, c).Write(0x3e, s.source()))(t)
		ours := contents(t, fs, m.Name)
		require.Equal(t, theirs[:header], ours[:header])
		plainTheirs, plainOurs := unpackBytes(t, theirs, c), unpackBytes(t, ours, c)
		require.Equal(t, plainTheirs, plainOurs[:len(plainTheirs)])
	}
}

func unpackBytes(t *testing.T, b []byte, c Compression) []byte {
	t.Helper()
	return must.ReadAll(t, unpacked(&rawReader{f: strings.NewReader(string(b))}, c))
}

func rewrite(t *testing.T, s *state) []byte {
	t.Helper()
	fs := newDir(t)
	m := must.Do(newStore(t, fs, Plain).Write(1, s.source()))(t)
	return contents(t, fs, m.Name)
}

// Every snapshot that an independent script has decoded decodes to the same.
func TestFixturesAsDecoded(t *testing.T) {
	files := must.Glob(t, fixtures+"*/*.decoded.json")
	require.NotEmpty(t, files)
	for _, file := range files {
		raw := must.ReadFile(t, file)
		var decoded map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &decoded))
		for name, text := range decoded {
			if !strings.HasPrefix(name, "snapshot.") {
				continue
			}
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				var want struct {
					Sessions [][2]any
					ACLs     map[string][][3]any
					Nodes    []struct {
						Path                        string
						Data                        *struct{ B64 []byte }
						ACL, Czxid, Mzxid, Pzxid    int64
						Ctime, Mtime                int64
						Version, Cversion, Aversion int32
						EphemeralOwner              string
					}
				}
				require.NoError(t, json.Unmarshal(text, &want))
				path := strings.TrimSuffix(file, ".decoded.json") + "/version-2/" + name
				got, _ := loadFixture(t, strings.TrimPrefix(path, fixtures))
				require.Len(t, got.sessions, len(want.Sessions))
				for i, s := range want.Sessions {
					require.Equal(t, s[0], got.sessions[i].id.String())
					require.EqualValues(t, s[1], got.sessions[i].timeoutMs)
				}
				require.Len(t, got.acls, len(want.ACLs))
				for _, e := range got.acls {
					list := want.ACLs[strconv.FormatInt(e.key, 10)]
					require.Len(t, e.list, len(list))
					for i, a := range e.list {
						require.EqualValues(t, list[i][0], a.Perms)
						require.Equal(t, list[i][1], a.Id.Scheme.String())
						require.Equal(t, list[i][2], a.Id.Id.String())
					}
				}
				require.Len(t, got.nodes, len(want.Nodes))
				for i, n := range want.Nodes {
					g := got.nodes[i]
					require.Equal(t, n.Path, string(g.path))
					require.Equal(t, n.Data == nil, g.data == nil)
					if n.Data != nil {
						require.Equal(t, string(n.Data.B64), string(g.data))
					}
					require.Equal(t, n.ACL, g.acl)
					owner := must.Do(strconv.ParseUint(strings.TrimPrefix(n.EphemeralOwner, "0x"), 16, 64))(t)
					require.Equal(t, proto.StatPersisted{Czxid: proto.Zxid(n.Czxid), Mzxid: proto.Zxid(n.Mzxid),
						Ctime: n.Ctime, Mtime: n.Mtime, Version: n.Version, Cversion: n.Cversion, Aversion: n.Aversion,
						EphemeralOwner: proto.SessionID(owner), Pzxid: proto.Zxid(n.Pzxid)}, g.stat)
				}
			})
		}
	}
}

// A client sees a znode that no later txn has touched as the snapshot has it.
func TestFixturesAsServed(t *testing.T) {
	files := must.Glob(t, fixtures+"*/*.expected.json")
	require.NotEmpty(t, files)
	compared := map[string]int{}
	for _, file := range files {
		var want struct {
			Outcome      string
			HiddenOwners map[string]string
			Nodes        map[string]struct {
				Data *string
				ACL  []struct {
					Perms      int32
					Scheme, ID string
				}
				Stat struct {
					Czxid, Mzxid, Pzxid         proto.Zxid
					Ctime, Mtime                int64
					Version, Cversion, Aversion int32
					EphemeralOwner              string
					NumChildren                 int32
				}
			}
		}
		raw := must.ReadFile(t, file)
		require.NoError(t, json.Unmarshal(raw, &want))
		if want.Outcome != "ok" {
			continue
		}
		base := strings.TrimSuffix(file, ".expected.json")
		store := base + "/version-2"
		var s *state
		metas, err := List(vfs.OS(), store)
		require.NoError(t, err)
		var zxid proto.Zxid
		for _, m := range metas {
			s = &state{}
			if _, err = Load(vfs.OS(), store+"/"+m.Name, s); err == nil {
				zxid = m.Zxid
				break
			}
			require.ErrorIs(t, err, ErrCorrupt)
		}
		require.NoError(t, err)
		acls := map[int64][]proto.ACL{
			-1: {{Perms: 31, Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}},
		}
		for _, e := range s.acls {
			acls[e.key] = e.list
		}
		children := map[string]int32{}
		for _, n := range s.nodes[1:] {
			children[string(n.path[:strings.LastIndexByte(string(n.path), '/')])]++
		}
		for _, n := range s.nodes {
			path := string(n.path)
			if path == "" {
				path = "/"
			}
			w, ok := want.Nodes[path]
			if !ok || max(w.Stat.Czxid, w.Stat.Mzxid, w.Stat.Pzxid) > zxid || n.stat.Aversion != w.Stat.Aversion {
				continue
			}
			compared[filepath.Base(base)]++
			require.Equal(t, w.Data == nil, n.data == nil, path)
			if w.Data != nil {
				require.Equal(t, *w.Data, base64.StdEncoding.EncodeToString(n.data), path)
			}
			require.Len(t, acls[n.acl], len(w.ACL), path)
			for i, a := range acls[n.acl] {
				require.Equal(t, w.ACL[i].Perms, a.Perms)
				require.Equal(t, w.ACL[i].Scheme+":"+w.ACL[i].ID, a.Id.Scheme.String()+":"+a.Id.Id.String())
			}
			require.Equal(t, w.Stat.Czxid, n.stat.Czxid)
			require.Equal(t, w.Stat.Mzxid, n.stat.Mzxid)
			require.Equal(t, w.Stat.Pzxid, n.stat.Pzxid)
			require.Equal(t, w.Stat.Ctime, n.stat.Ctime)
			require.Equal(t, w.Stat.Mtime, n.stat.Mtime)
			require.Equal(t, w.Stat.Version, n.stat.Version)
			require.Equal(t, w.Stat.Cversion, 2*n.stat.Cversion-children[string(n.path)], path)
		}
	}
	t.Log("znodes compared:", compared)
	require.Greater(t, compared["02-snapshot-and-log"], 20)
	require.Greater(t, compared["09-gzip"], 20)
	require.Greater(t, compared["10-snappy"], 20)
}
