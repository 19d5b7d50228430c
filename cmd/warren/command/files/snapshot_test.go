package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

func TestSnapshotDump(t *testing.T) {
	file := cmdline.Fixtures + "zookeeper-3.8/11-tiny/version-2/snapshot.5"
	out := runs(t, "snapshot", "dump", file)
	require.Contains(t, out, "session 0x100002c4c590000 timeoutMs=1000000000\n")
	require.Contains(t, out, "acl 1 world:anyone:r\nacl 2 world:anyone:cdrwa\n")
	require.Contains(t, out,
		"znode /a czxid=0x2 mzxid=0x3 pzxid=0x2 ctime=2026-11-21T05:53:54.424Z mtime=2026-11-21T05:53:54.435Z"+
			" version=1 cversion=0 aversion=0 owner=0x0 acl=2 data=2\n")
	require.Contains(t, out, "digest=6278454753 at 0x5 version=2\n")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 1+2+6+1)

	out = runs(t, "snapshot", "dump", "--data", file)
	require.Contains(t, out, `acl=2 data=2:"yz"`)

	out = runs(t, "snapshot", "dump", "--data", "--output", "json", file)
	var paths []string
	for line := range strings.Lines(out) {
		var record struct {
			Path string
			Data []byte
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Path != "" {
			paths = append(paths, record.Path+"="+string(record.Data))
		}
	}
	require.Equal(t, []string{"/=", "/a=yz", "/zookeeper=", "/zookeeper/config=", "/zookeeper/quota=", "/e=eph"},
		paths)
}

// An id of an ACL is whatever a client has put there.
func TestHostileACLIsOneLine(t *testing.T) {
	list := []proto.ACL{{Perms: proto.PermRead, Id: proto.ID{Scheme: proto.Text("digest"),
		Id: proto.Text("a\x1b[2J\nznode /b:c=")}}}
	var out bytes.Buffer
	p, z := newRecordPrinter(&out, "simple", false), newZnodeFinder("/a")
	require.NoError(t, errors.Join(p.ACL(7, list), z.ACL(7, list)))
	require.NoError(t, z.Node([]byte("/a"), nil, 7, &proto.StatPersisted{}))
	require.NoError(t, errors.Join(p.znode(z.found), p.flush()))
	const want = `"digest:a\x1b[2J\nznode /b:c=:r"`
	require.Contains(t, out.String(), "acl 7 "+want+"\nznode /a ")
	require.Contains(t, out.String(), "acl=7="+want+" ")
	require.NotContains(t, out.String(), "\x1b")
}

func TestSnapshotGet(t *testing.T) {
	file := cmdline.Fixtures + "zookeeper-3.8/11-tiny/version-2/snapshot.5"
	out := runs(t, "snapshot", "get", file, "/e")
	require.Contains(t, out, `owner=0x100002c4c590000 acl=2=world:anyone:cdrwa children=0 data=3:"eph"`)

	out = runs(t, "snapshot", "get", file, "/")
	require.Contains(t, out, "znode / ")
	require.Contains(t, out, "children=3")

	out = runs(t, "snapshot", "get", "--output", "json", file, "/zookeeper/config")
	var record znodeRecord
	require.NoError(t, json.Unmarshal([]byte(out), &record))
	require.Equal(t, []string{"world:anyone:r"}, record.ACL)
	require.EqualValues(t, -1, record.Aversion)
	require.False(t, record.IsNull)

	code, out, errs := runSnapshot("get", file, "/nowhere")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Contains(t, errs, "no znode /nowhere")
}

func TestSnapshotSummary(t *testing.T) {
	for _, file := range []string{"09-gzip/version-2/snapshot.3e.gz", "10-snappy/version-2/snapshot.3e.snappy"} {
		out := runs(t, "snapshot", "summary", cmdline.Fixtures+"zookeeper-3.8/"+file)
		require.Regexp(t, `(?m)^\d+ sessions, \d+ ACLs, \d+ znodes, \d+ bytes of paths and data$`, out)
		require.Regexp(t, `(?m)^ +\d+ +\d+ +\d+ +\d+ +\d+ +/zookeeper$`, out)
		require.Regexp(t, `(?m) total$`, out)

		out = runs(t, "snapshot", "summary", "--output=json", cmdline.Fixtures+"zookeeper-3.8/"+file)
		var got struct {
			Total share
			Paths []share
		}
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		sum := share{Path: "total"}
		for _, s := range got.Paths {
			sum.add(s)
		}
		require.Equal(t, sum, got.Total)
		require.Greater(t, sum.Znodes, 30)
	}
}

func TestSnapshotVerify(t *testing.T) {
	out := runs(t, "snapshot", "verify", cmdline.Fixtures+"zookeeper-3.10-snapshot/01-tiny")
	require.Equal(t, "snapshot.0 ok digest=0 at 0x0 version=2 lastZxid=0x0\n"+
		"snapshot.9 ok digest=20800145792 at 0x9 version=2 lastZxid=0x9\n", out)

	code, out, errs := runSnapshot("verify", cmdline.Fixtures+"zookeeper-3.8/08-corrupt-newest-snapshot/version-2")
	require.Equal(t, 1, code)
	require.Contains(t, out, "snapshot.0 ok ")
	require.Contains(t, out, "snapshot.34 damaged: is corrupt at byte ")
	require.Contains(t, errs, "damaged: 1 of 2 snapshots")

	dir := t.TempDir()
	code, _, errs = runSnapshot("verify", dir)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no snapshot is in the directory "+dir)

	cut := filepath.Join(dir, "snapshot.5")
	require.NoError(t, os.WriteFile(cut, []byte("ZKSN"), 0o600))
	code, out, _ = runSnapshot("verify", "--output", "json", dir)
	require.Equal(t, 1, code)
	var verdict struct {
		File, Error string
		OK          bool
	}
	require.NoError(t, json.Unmarshal([]byte(out), &verdict))
	require.Equal(t, "snapshot.5", verdict.File)
	require.False(t, verdict.OK)
	require.Contains(t, verdict.Error, "ends inside header")
}

// One flipped bit of a path takes the parent away from a znode.
func TestSnapshotWithAZnodeWithoutParent(t *testing.T) {
	whole := cmdline.Fixtures + "zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34"
	b := must.ReadFile(t, whole)
	at := bytes.Index(b, []byte("\x00\x00\x00\x0a/zookeeper\x00"))
	require.Positive(t, at)
	b[at+5] ^= 1
	damaged := filepath.Join(t.TempDir(), "snapshot.34")
	require.NoError(t, os.WriteFile(damaged, b, 0o600))
	for _, args := range [][]string{
		{"tree", damaged}, {"compare", whole, damaged}, {"dump", "--output", "ncdu", damaged},
	} {
		code, _, errs := runSnapshot(args...)
		require.Equal(t, 1, code, args)
		require.Regexp(t, `/zookeeper/config.* at byte \d+: it comes before its parent, or has none`, errs, args)
	}
}

func TestSnapshotUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"name a snapshot file":       {"dump"},
		`unexpected argument "b"`:    {"verify", "a", "b"},
		"and the path of a znode":    {"get", "a"},
		"it must be simple or json":  {"summary", "--output", "xml", "a"},
		`unknown command "restore"`:  {"restore"},
		"unknown flag: --everything": {"dump", "--everything", "a"},
	} {
		code, _, errs := runSnapshot(args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, want)
	}
	code, _, errs := runSnapshot("dump", "/nowhere/snapshot.1")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "/nowhere/snapshot.1")
}

// runSnapshot runs `warren snapshot args`.
func runSnapshot(args ...string) (code int, stdout, stderr string) {
	return run(append([]string{"snapshot"}, args...)...)
}
