package datatree

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// Directories written by ZooKeeper, and what its clients read from them. See the README there.
const fixtureRoot = "../test/testdata/fixtures"

type fixture struct {
	Outcome             string
	LastZxid            string
	TreeDigestAfterLoad int64
	NodeCount           int
	HiddenOwners        map[string]string
	Sessions            []struct {
		ID        string
		TimeoutMs int32
	}
	Nodes map[string]struct {
		Data *string
		ACL  []struct {
			Perms      int32
			Scheme, ID string
		}
		Stat struct {
			Czxid, Mzxid, Ctime, Mtime, Pzxid int64
			Version, Cversion, Aversion       int32
			DataLength, NumChildren           int32
			EphemeralOwner                    string
		}
	}
}

func TestFixtures(t *testing.T) {
	expected := must.Glob(t, fixtureRoot+"/*/*.expected.json")
	require.NotEmpty(t, expected)
	loaded := 0
	for _, file := range expected {
		text := must.ReadFile(t, file)
		var want fixture
		require.NoError(t, json.Unmarshal(text, &want), file)
		if want.Outcome != "ok" {
			continue // damaged logs are the log's business
		}
		loaded++
		dir := filepath.Join(strings.TrimSuffix(file, ".expected.json"), "version-2")
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(dir)))+"/"+filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			s := loadFixture(t, dir)
			requireFixture(t, &want, s)
			// The output of the walker loads to the same state.
			again := reload(t, s, 64)
			requireFixture(t, &want, again)
			requireSameState(t, s, again)
		})
	}
	require.Equal(t, 11, loaded)
}

// TestWithoutDigest takes the digests from the txns that ZooKeeper has logged.
func TestWithoutDigest(t *testing.T) {
	logs := must.Glob(t, fixtureRoot+"/*/*/version-2/log.*")
	with, without := map[proto.OpCode]bool{}, map[proto.OpCode]bool{}
	for _, file := range logs {
		raw := must.ReadFile(t, file)
		for _, txn := range logPayloads(raw) {
			var h proto.TxnHeader
			r := proto.NewReader(txn)
			h.Decode(&r)
			bare := WithoutDigest(txn)
			require.Equal(t, bare, WithoutDigest(bare))
			if len(bare) == len(txn) {
				without[h.Type] = true
				continue
			}
			var d proto.TxnDigest
			require.NoError(t, d.ReadFrom(txn[len(bare):]))
			require.EqualValues(t, proto.DigestVersion, d.Version, "%v in %s", h.Type, file)
			with[h.Type] = true
		}
	}
	t.Logf("with digests: %v, without: %v", with, without)
	require.True(t, with[proto.OpMulti] && with[proto.OpCreateSession] && with[proto.OpCloseSession])
	require.True(t, without[proto.OpError] && !with[proto.OpError])
	require.Equal(t, []byte("short"), WithoutDigest([]byte("short")))
}

func requireFixture(t *testing.T, want *fixture, s *State) {
	t.Helper()
	s.check()
	require.Equal(t, proto.Zxid(must.Do(strconv.ParseInt(want.LastZxid, 0, 64))(t)), s.LastZxid())
	require.Equal(t, want.TreeDigestAfterLoad, s.Digest())
	require.Equal(t, want.NodeCount, s.NumNodes())
	require.Len(t, want.Nodes, s.NumNodes())
	require.Equal(t, len(want.Sessions), s.NumSessions())
	for _, e := range want.Sessions {
		id := must.Do(strconv.ParseUint(e.ID, 0, 64))(t)
		timeout, ok := s.Session(proto.SessionID(id))
		require.True(t, ok, e.ID)
		require.Equal(t, e.TimeoutMs, timeout, e.ID)
	}
	super := []auth.Identity{auth.SuperIdentity("")}
	for path, node := range want.Nodes {
		id := s.Lookup([]byte(path))
		require.NotZero(t, id, path)
		if node.Data == nil {
			require.Nil(t, s.Data(id), path)
		} else {
			data := must.Do(base64.StdEncoding.DecodeString(*node.Data))(t)
			require.NotNil(t, s.Data(id), path)
			require.Equal(t, string(data), string(s.Data(id)), path)
		}
		w := node.Stat
		owner := must.Do(strconv.ParseUint(w.EphemeralOwner, 0, 64))(t)
		require.Equal(t, proto.Stat{
			Czxid: proto.Zxid(w.Czxid), Mzxid: proto.Zxid(w.Mzxid), Ctime: w.Ctime, Mtime: w.Mtime,
			Version: w.Version, Cversion: w.Cversion, Aversion: w.Aversion,
			EphemeralOwner: proto.SessionID(owner), DataLength: w.DataLength, NumChildren: w.NumChildren,
			Pzxid: proto.Zxid(w.Pzxid),
		}, s.Stat(id), path)
		if hidden, ok := want.HiddenOwners[path]; ok {
			owner := must.Do(strconv.ParseUint(hidden, 0, 64))(t)
			require.Equal(t, proto.SessionID(owner), s.Node(id).Owner, path)
		}
		var acl []proto.ACL
		for _, e := range node.ACL {
			acl = append(acl,
				proto.ACL{Perms: e.Perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}})
		}
		require.Equal(t, acl, s.ACLs().List(s.Node(id).ACL), path)
		b, code := s.ReadACL(nil, []byte(path), super)
		require.Equal(t, proto.OK, code)
		var reply proto.GetACLResponse
		require.NoError(t, reply.ReadFrom(b))
		require.Equal(t, acl, reply.Acl, path)
	}
}

// loadFixture does what a server does when it starts: the newest snapshot that can be read, the
// logs, the orphans.
func loadFixture(t *testing.T, dir string) *State {
	t.Helper()
	var s *State
	for _, file := range byZxid(t, dir, "snapshot.", true) {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		if s, err = loadSnapshotFile(file, raw, zxidOf(t, file)); err == nil {
			break
		}
		t.Log(file, err)
	}
	require.NotNil(t, s, "a snapshot")
	base := s.LastZxid()
	for _, file := range byZxid(t, dir, "log.", false) {
		raw := must.ReadFile(t, filepath.Join(dir, file))
		for _, payload := range logPayloads(raw) {
			var h proto.TxnHeader
			require.NoError(t, h.ReadFrom(payload))
			if h.Zxid <= base {
				continue
			}
			must.Do2(s.Apply(payload, nil, nil, false))(t)
		}
	}
	s.DropOrphanEphemerals()
	return s
}

func byZxid(t *testing.T, dir, prefix string, newestFirst bool) []string {
	entries := must.ReadDir(t, dir)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return int(zxidOf(t, a) - zxidOf(t, b)) })
	if newestFirst {
		slices.Reverse(names)
	}
	return names
}

func zxidOf(t *testing.T, name string) proto.Zxid {
	z := must.Do(strconv.ParseInt(strings.Split(name, ".")[1], 16, 64))(t)
	return proto.Zxid(z)
}

// logPayloads returns the records of a log up to the first that is cut off.
func logPayloads(raw []byte) [][]byte {
	var payloads [][]byte
	for raw = raw[16:]; len(raw) > 12; {
		n := int(binary.BigEndian.Uint32(raw[8:]))
		if n == 0 || 12+n+1 > len(raw) || raw[12+n] != 'B' {
			break
		}
		payloads = append(payloads, raw[12:12+n])
		raw = raw[12+n+1:]
	}
	return payloads
}

// loadSnapshotFile loads a snapshot after checking its first seal.
func loadSnapshotFile(name string, raw []byte, zxid proto.Zxid) (*State, error) {
	switch filepath.Ext(name) {
	case ".gz":
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if raw, err = io.ReadAll(r); err != nil {
			return nil, err
		}
	case ".snappy":
		var plain []byte
		for raw = raw[16:]; len(raw) > 0; {
			n := int(binary.BigEndian.Uint32(raw))
			block, err := snappy.Decode(nil, raw[4:4+n])
			if err != nil {
				return nil, err
			}
			plain, raw = append(plain, block...), raw[4+n:]
		}
		raw = plain
	}
	s, size, err := loadBody(raw[16:], zxid)
	if err != nil {
		return nil, err
	}
	seal := proto.NewReader(raw[16+size:])
	if seal.Int64() != int64(adler32.Checksum(raw[:16+size])) {
		return nil, fmt.Errorf("the first seal of %s is wrong", name)
	}
	return s, nil
}

// loadBody feeds the body of a snapshot to a Loader and returns the body's size.
func loadBody(body []byte, zxid proto.Zxid) (*State, int, error) {
	l := NewLoader(Config{})
	r := proto.NewReader(body)
	for range r.Int32() {
		id, timeout := proto.SessionID(r.Int64()), r.Int32()
		if err := l.Session(id, timeout); err != nil || r.Err() != nil {
			return nil, 0, fmt.Errorf("session: %w, %w", err, r.Err())
		}
	}
	for range r.Int32() {
		key := r.Int64()
		acl := make([]proto.ACL, max(r.Count(12), 0))
		for i := range acl {
			acl[i].Decode(&r)
		}
		if err := l.ACL(key, acl); err != nil || r.Err() != nil {
			return nil, 0, fmt.Errorf("acl: %w, %w", err, r.Err())
		}
	}
	for {
		path := r.Text()
		if r.Err() != nil {
			return nil, 0, r.Err()
		}
		if string(path) == "/" {
			s, err := l.Done(zxid)
			return s, r.Offset(), err
		}
		data, key := r.Buffer(), r.Int64()
		var st proto.StatPersisted
		st.Decode(&r)
		if r.Err() != nil {
			return nil, 0, r.Err()
		}
		if err := l.Node(path, data, key, &st); err != nil {
			return nil, 0, err
		}
	}
}

// walk returns the body of a snapshot, taken in slices of about budget bytes.
func walk(s *State, budget int) []byte {
	w := s.NewWalker()
	defer w.Close()
	var body []byte
	for done := false; !done; {
		body, done = w.Next(body, budget)
	}
	return body
}

// reload returns the State that a snapshot of s loads to.
func reload(t *testing.T, s *State, budget int) *State {
	t.Helper()
	body := walk(s, budget)
	again, size := must.Do2(loadBody(body, s.LastZxid()))(t)
	require.Len(t, body, size)
	return again
}

// requireSameState requires two states to be equal in everything that is replicated.
func requireSameState(t *testing.T, want, got *State) {
	t.Helper()
	require.Equal(t, want.Digest(), got.Digest(), "digest")
	require.Equal(t, want.LastZxid(), got.LastZxid(), "last zxid")
	require.Equal(t, want.NumNodes(), got.NumNodes(), "znodes")
	require.Equal(t, want.NumEphemerals(), got.NumEphemerals(), "ephemerals")
	require.Equal(t, want.DataSize(), got.DataSize(), "size")
	require.Equal(t, sessionTable(want), sessionTable(got), "sessions")
	require.Equal(t, want.ACLs().Len(), got.ACLs().Len(), "ACL lists")
	for id := Root; id != 0; id = want.following(id, Root) {
		path := want.AppendPath(nil, id)
		other := got.Lookup(path)
		require.NotZero(t, other, "%s", path)
		a, b := want.Node(id), got.Node(other)
		require.Equal(t, want.ACLs().List(a.ACL), got.ACLs().List(b.ACL), "%s", path)
		a.ACL, b.ACL = 0, 0
		require.Equal(t, a, b, "%s", path)
		require.Equal(t, want.Data(id), got.Data(other), "%s", path)
	}
}

func sessionTable(s *State) map[proto.SessionID]int32 {
	table := map[proto.SessionID]int32{}
	s.EachSession(func(id proto.SessionID, timeoutMs int32) { table[id] = timeoutMs })
	return table
}
