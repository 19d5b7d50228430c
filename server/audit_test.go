package server

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// auditLines is the audit log of a server on fs, without times. @ stands for the number of the session, and ME for
// the user of the process.
func auditLines(t testing.TB, fs vfs.FS, name string) []string {
	t.Helper()
	f := must.Do(fs.Open(name))(t)
	defer f.Close()
	data := must.ReadAll(t, f)
	text := string(data)
	form := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|ERROR) audit\.Slf4jAuditLogger: `)
	require.Len(t, form.FindAllString(text, -1), strings.Count(text, "\n"), text)
	text = form.ReplaceAllString(text, "$1 ")
	text = regexp.MustCompile(`session=0x[0-9a-f]+\t`).ReplaceAllString(text, "@ ")
	text = strings.ReplaceAll(text, "user="+audit.ProcessUser()+"\t", "user=ME ")
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\t", " "), "\n"), "\n")
}

func serveAudited(t testing.TB) (*Server, *vfs.Mem) {
	t.Helper()
	cfg := memConfig()
	cfg.Audit.Enabled, cfg.Audit.File = true, "/audit.log"
	cfg.ExtendedTypes = true
	cfg.SuperDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
	fs := vfs.NewMem()
	s := started(t, cfg, Options{FS: fs})
	return s, fs
}

// The requests, and the lines that ZooKeeper 3.8.0 writes about them. Where Warren writes a different line, the
// comment has ZooKeeper's line or says that there is none.
func TestAuditLog(t *testing.T) {
	s, fs := serveAudited(t)
	open := wire.ACL(31, "world", "anyone")
	c := dialWire(t, s, wire.Options{})
	for _, r := range []wire.Request{
		wire.Create("/a0-", nil, open, 0), wire.Create("/a1-", nil, open, 1), wire.Create("/a2-", nil, open, 2),
		wire.Create("/a3-", nil, open, 3),
		wire.Create2("/c2", nil, open, 0), wire.CreateContainer("/cont", nil, open),
		wire.CreateTTL("/ttls-", nil, open, 6, 100_000),
		wire.Create("/a0-", nil, open, 0), wire.Create("/x/y/z", nil, open, 1),
		wire.Create("/badflag", nil, open, 99), wire.Create("bad", nil, open, 0),
		wire.SetData("/a0-", []byte("x"), -1), wire.SetData("/a0-", []byte("x"), 77), wire.Delete("/a1-", -1),
		wire.Delete("/none", -1),
		wire.GetData("/a0-", false), wire.Exists("/none", false), wire.Sync("/"),
		wire.Auth("digest", []byte("bob:secret")), wire.Auth("digest", []byte("super:test")),
		wire.SetACL("/a0-", append(open, wire.ACL(1, "auth", "")...), -1),
		wire.SetACL("/none", wire.ACL(19, "ip", "127.0.0.1"), -1),
		wire.SetACL("/a0-", append(wire.ACL(0, "world", "anyone"),
			wire.ACL(31, "digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=")...), -1),
		wire.Multi(wire.Create("/m", nil, open, 0), wire.Create2("/m2", nil, open, 1),
			wire.Create("/ms-", nil, open, 2),
			wire.Check("/m", -1), wire.SetData("/m", nil, -1), wire.Delete("/m", -1)),
		wire.Multi(wire.SetData("/a0-", nil, -1), wire.Delete("/m", -1)),
		wire.Multi(wire.Check("/a0-", -1)), wire.Multi(),
		{Op: proto.OpMulti, Body: []byte{1, 2, 3}}, {Op: proto.OpCreate, Body: []byte{1, 2, 3}},
		wire.Create("/tab\tx\ny\x01", nil, open, 0), wire.Reconfig("", "2", "", -1),
	} {
		c.MustDo(t, r)
	}
	c.MustDo(t, wire.CloseSession())
	s.Stop()
	const who, all = "@ user=127.0.0.1 ip=127.0.0.1 ", "@ user=127.0.0.1,bob,super ip=127.0.0.1 "
	require.Equal(t, []string{
		"INFO user=ME operation=serverStart result=success",
		"INFO " + who + "operation=create znode=/a0- znode_type=persistent result=success",
		"INFO " + who + "operation=create znode=/a1- znode_type=ephemeral result=success",
		"INFO " + who + "operation=create znode=/a2-0000000002 znode_type=persistent_sequential result=success",
		"INFO " + who + "operation=create znode=/a3-0000000003 znode_type=ephemeral_sequential result=success",
		"INFO " + who + "operation=create znode=/c2 znode_type=persistent result=success",
		"INFO " + who + "operation=create znode=/cont znode_type=container result=success",
		// ZooKeeper writes no line.
		"INFO " + who +
			"operation=create znode=/ttls-0000000006 znode_type=persistent_sequential_with_ttl result=success",
		"ERROR " + who + "operation=create znode=/a0- znode_type=persistent result=failure",
		"ERROR " + who + "operation=create znode=/x/y/z znode_type=ephemeral result=failure",
		"ERROR " + who + "operation=create znode=/badflag result=failure", // an exception
		"ERROR " + who + "operation=create znode=bad znode_type=persistent result=failure",
		"INFO " + who + "operation=setData znode=/a0- result=success",
		"ERROR " + who + "operation=setData znode=/a0- result=failure",
		"INFO " + who + "operation=delete znode=/a1- result=success",
		"ERROR " + who + "operation=delete znode=/none result=failure",
		"INFO " + all + "operation=setAcl znode=/a0- acl=world:anyone:cdrwa,auth::r result=success", // no comma
		"ERROR " + all + "operation=setAcl znode=/none acl=ip:127.0.0.1:rwa result=failure",
		"INFO " + all + "operation=setAcl znode=/a0- acl=world:anyone:,digest:bob:x:cdrwa result=success", // the hash
		"INFO " + all + "operation=create znode=/m znode_type=persistent result=success",
		"INFO " + all + "operation=create znode=/m2 znode_type=ephemeral result=success",
		// ZooKeeper writes no type.
		"INFO " + all + "operation=create znode=/ms-0000000009 znode_type=persistent_sequential result=success",
		"INFO " + all + "operation=setData znode=/m result=success",
		"INFO " + all + "operation=delete znode=/m result=success",
		"ERROR " + all + "operation=multiOperation result=failure",
		"ERROR " + all + "operation=multiOperation result=failure",
		"ERROR " + all + "operation=create result=failure",                                            // an exception
		`ERROR ` + all + `operation=create znode=/tab\tx\ny\x01 znode_type=persistent result=failure`, // as it is
		"ERROR " + all + "operation=reconfig result=failure",
		"INFO @ user=ME operation=ephemeralZNodeDeletionOnSessionCloseOrExpire znode=/a3-0000000003 result=success",
		"INFO @ user=ME operation=ephemeralZNodeDeletionOnSessionCloseOrExpire znode=/m2 result=success",
		"INFO user=ME operation=serverStop result=invoked",
	}, sortedEnd(auditLines(t, fs, "/audit.log")))
}

// sortedEnd sorts the two ephemerals by name: their order is not defined.
func sortedEnd(lines []string) []string {
	if n := len(lines); n > 3 && lines[n-3] > lines[n-2] {
		lines[n-3], lines[n-2] = lines[n-2], lines[n-3]
	}
	return lines
}
