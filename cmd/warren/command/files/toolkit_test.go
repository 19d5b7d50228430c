package files

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/wal"
)

var tiny = cmdline.Fixtures + "zookeeper-3.8/11-tiny/version-2/"

// TestDumpAsToolkit holds what TxnLogToolkit of 3.8 prints.
func TestDumpAsToolkit(t *testing.T) {
	cmdline.InUTC(t)
	require.Equal(t, `ZooKeeper Transactional Log File with dbid 0 txnlog format version 2
11/21/26, 5:53:54 AM UTC session 0x100002c4c590000 cxid 0x0 zxid 0x1 createSession 1000000000
11/21/26, 5:53:54 AM UTC session 0x100002c4c590000 cxid 0x1 zxid 0x2 create /a,x,[31,s{'world,'anyone}
],false,1
11/21/26, 5:53:54 AM UTC session 0x100002c4c590000 cxid 0x2 zxid 0x3 setData /a,yz,1
11/21/26, 5:53:54 AM UTC session 0x100002c4c590000 cxid 0x3 zxid 0x4 error -110
11/21/26, 5:53:54 AM UTC session 0x100002c4c590000 cxid 0x4 zxid 0x5 create2 /e,eph,[31,s{'world,'anyone}
],true,2
EOF reached after 5 txns.
`, runs(t, "wal", "dump", "--output", "toolkit", tiny+"log.1"))
}

// Every type of body, and bodies that end early, which print no body.
func TestToolkitBodies(t *testing.T) {
	cmdline.InUTC(t)
	acl := []proto.ACL{{Perms: 1, Id: proto.ID{Scheme: proto.Text("a,b"), Id: proto.Text("c}%")}}}
	for want, txn := range map[string]struct {
		op   proto.OpCode
		body interface{ AppendTo([]byte) []byte }
	}{
		"setACL '/a,v{s{1,s{'a%2Cb,'c%7D%25}}},4": {proto.OpSetACL,
			&proto.SetACLTxn{Path: proto.Text("/a"), Acl: acl, Version: 4}},
		"check '/a,4":         {proto.OpCheck, &proto.CheckVersionTxn{Path: proto.Text("/a"), Version: 4}},
		"deleteContainer '/a": {proto.OpDeleteContainer, &proto.DeleteTxn{Path: proto.Text("/a")}},
		"closeSession v{'/a,'/b}": {proto.OpCloseSession,
			&proto.CloseSessionTxn{Paths2Delete: []proto.Text{proto.Text("/a"), proto.Text("/b")}}},
		"reconfig '/zookeeper/config,#78,-1": {proto.OpReconfig,
			&proto.SetDataTxn{Path: proto.Text("/zookeeper/config"), Data: []byte("x"), Version: -1}},
		"createTTL /t,\ufffdA,[1,s{'a%2Cb,'c%7D%25}\n],3,9": {proto.OpCreateTTL,
			&proto.CreateTTLTxn{Path: proto.Text("/t"), Data: []byte("\xffA"), Acl: acl, ParentCVersion: 3, Ttl: 9}},
	} {
		h := proto.TxnHeader{ClientID: 1, Cxid: 2, Zxid: 3, Type: txn.op}
		payload := txn.body.AppendTo(h.AppendTo(nil))
		const head = "1/1/70, 12:00:00 AM UTC session 0x1 cxid 0x2 zxid 0x3 "
		require.Equal(t, head+want+"\n", string(ToolkitLine(nil, &wal.Record{Zxid: 3, Payload: payload})))
		if txn.op != proto.OpCloseSession {
			short := string(ToolkitLine(nil, &wal.Record{Zxid: 3, Payload: payload[:len(payload)-1]}))
			require.Equal(t, head+txn.op.String()+"\n", short)
		}
	}
}

func TestSnapshotDumpAsToolkit(t *testing.T) {
	cmdline.InUTC(t)
	out := runs(t, "snapshot", "dump", "--output", "toolkit", "--data", tiny+"snapshot.5")
	require.True(t, strings.HasPrefix(out, "ZNode Details (count=7):\n----\n/\n  cZxid = 0x00000000000000\n"), out)
	require.Contains(t, out, `----
/e
  cZxid = 0x00000000000005
  ctime = Sat Nov 21 05:53:54 UTC 2026
  mZxid = 0x00000000000005
  mtime = Sat Nov 21 05:53:54 UTC 2026
  pZxid = 0x00000000000005
  cversion = 0
  dataVersion = 0
  aclVersion = 0
  ephemeralOwner = 0x100002c4c590000
  data = ZXBo
----
`)
	require.True(t, strings.HasSuffix(out, `----
Session Details (sid, timeout, ephemeralCount):
0x100002c4c590000, 1000000000, 1
----
Last zxid: 0x5
`), out)

	code, out, _ := run("snapshot", "dump", "--output", "toolkit",
		cmdline.Fixtures+"zookeeper-3.10-snapshot/01-tiny/version-2/snapshot.9")
	require.Zero(t, code)
	require.Contains(t, out, "Last zxid: 0x9\nTarget zxid digest is: ZxidDigest{zxid=0x9, digestVersion=2, digest=")

	out = runs(t, "snapshot", "dump", "--output", "ncdu", tiny+"snapshot.5")
	require.True(t, json.Valid([]byte(out)))
	require.Contains(t, out, `[{"name":"/","asize":0,"dsize":0,"dev":0,"ino":1001},`)
	require.Contains(t, out, `{"name":"a","asize":2,"dsize":2,`)
}

func TestSnapshotTree(t *testing.T) {
	require.Equal(t, ` /
   children: 5
   data: 5
-- /a
--   children: 0
--   data: 2
-- /e
--   children: 0
--   data: 3
-- /zookeeper
--   children: 2
--   data: 0
`, runs(t, "snapshot", "tree", tiny+"snapshot.5", "--depth", "1"))
	require.Equal(t, " /a\n   children: 0\n   data: 2\n", runs(t, "snapshot", "tree", tiny+"snapshot.5", "/a"))
	code, _, errs := run("snapshot", "tree", tiny+"snapshot.5", "/none")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no znode /none")
	code, _, errs = run("snapshot", "tree", "a", "/b", "c")
	require.Equal(t, 2, code)
	require.Contains(t, errs, `unexpected argument "c"`)
}

func TestSnapshotCompare(t *testing.T) {
	early, late := cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.0",
		cmdline.Fixtures+"zookeeper-3.8/02-snapshot-and-log/version-2/snapshot.34"
	out := runs(t, "snapshot", "compare", late, late)
	require.Equal(t, "30 and 30 znodes, 0 differ\n", out)

	code, out, errs := run("snapshot", "compare", early, late)
	require.Equal(t, 1, code)
	require.Equal(t, "warren: the snapshots differ\n", errs)
	require.True(t,
		strings.HasPrefix(out, "changed / data version cversion mzxid pzxid mtime\nonly right /acl\n"), out)
	require.Contains(t, out, "changed /zookeeper/quota cversion pzxid\n")
	require.True(t, strings.HasSuffix(out, "4 and 30 znodes, 28 differ\n"), out)
	lines := strings.Count(out, "\n")

	code, out, _ = run("snapshot", "compare", "--output", "json", late, early)
	require.Equal(t, 1, code)
	require.Equal(t, lines-1, strings.Count(out, "\n"))
	decoder := json.NewDecoder(bytes.NewReader([]byte(out)))
	for decoder.More() {
		var d znodeDifference
		require.NoError(t, decoder.Decode(&d))
		require.NotEqual(t, "right", d.Kind)
	}
	out = runs(t, "snapshot", "compare", "--output", "toolkit", "-b", "1", "-n", "1", early, late)
	require.Contains(t, out, "Node count: 30\nTotal size: 390\nMax depth: 5\nCount of nodes at depth 0: 1\n")
	require.Contains(t, out,
		"Analysis for depth 0\nNode  found in both trees. Delta: 390 bytes, 26 descendants\nAnalysis for depth 1\n"+
			"Node /acl found only in right tree. Descendant size: 6. Descendant count: 2\n")
	for _, args := range [][]string{{"a"}, {"a", "b", "--output", "xml"}} {
		code, _, _ := run(append([]string{"snapshot", "compare"}, args...)...)
		require.Equal(t, 2, code)
	}
	code, _, _ = run("snapshot", "compare", early, "/none")
	require.Equal(t, 1, code)
}
