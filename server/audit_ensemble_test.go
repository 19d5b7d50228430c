package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

const auditFile = "/audit.log"

// startAudited starts an ensemble with audit logs. One of the tests waits for syncLimit, so the ticks are short.
func startAudited(t *testing.T) *embed.Ensemble {
	t.Helper()
	return embed.Start(t, embed.Options{Servers: 3, TickTime: patient / 3, Configure: func(_ int, c *config.Config) {
		c.Audit.Enabled, c.Audit.File, c.ExtendedTypes = true, auditFile, true
	}})
}

var auditHead = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|ERROR) audit\.Slf4jAuditLogger: `)

// auditOf returns the lines of a server so far, without times and without those about the server itself.
func auditOf(t *testing.T, e *embed.Ensemble, id int) (lines []string) {
	t.Helper()
	f := must.Do(e.Disk(id).Open(auditFile))(t)
	defer f.Close()
	text := must.ReadAll(t, f)
	for line := range strings.Lines(auditHead.ReplaceAllString(string(text), "$1 ")) {
		if !strings.Contains(line, "operation=server") {
			lines = append(lines, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", " "))
		}
	}
	return lines
}

// waitAudit waits until the log of a server has n lines, and returns them.
func waitAudit(t *testing.T, e *embed.Ensemble, id, n int) []string {
	t.Helper()
	require.Eventually(t, func() bool { return len(auditOf(t, e, id)) >= n }, time.Minute, 5*time.Millisecond,
		"%d lines of server %d", n, id)
	return auditOf(t, e, id)
}

// The server of the client writes the request and its result, and no other server does, whichever server leads.
func TestWritesAreAuditedWhereTheClientIs(t *testing.T) {
	e := startAudited(t)
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	want := map[int][]string{}
	for _, id := range e.IDs() {
		c := connect(t, e, id, wire.Options{})
		root := fmt.Sprintf("/s%d", id)
		for _, r := range []wire.Request{
			wire.Create(root, nil, wire.OpenACL, 0), wire.Create(root, nil, wire.OpenACL, 0),
			wire.Create2(root+"/q-", nil, wire.OpenACL, 2),
			wire.CreateTTL(root+"/ttl", nil, wire.OpenACL, 5, 100_000), wire.SetData(root, nil, 5),
			wire.GetData(root, false), wire.Sync("/"),
			wire.Auth("digest", []byte("bob:secret")),
			wire.SetACL(root, wire.ACL(31, "digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="), -1),
			wire.Multi(wire.SetData(root, nil, -1), wire.Delete(root+"/ttl", -1)),
			wire.Multi(wire.SetData(root, nil, -1), wire.Delete("/none", -1)),
		} {
			c.MustDo(t, r)
		}
		who, bob := fmt.Sprintf("session=0x%x user=127.0.0.1 ip=127.0.0.1 ", uint64(c.Session())),
			fmt.Sprintf("session=0x%x user=127.0.0.1,bob ip=127.0.0.1 ", uint64(c.Session()))
		want[id] = []string{
			"INFO " + who + "operation=create znode=" + root + " znode_type=persistent result=success",
			"ERROR " + who + "operation=create znode=" + root + " znode_type=persistent result=failure",
			"INFO " + who + "operation=create znode=" + root +
				"/q-0000000000 znode_type=persistent_sequential result=success",
			"INFO " + who + "operation=create znode=" + root + "/ttl znode_type=persistent_with_ttl result=success",
			"ERROR " + who + "operation=setData znode=" + root + " result=failure",
			"INFO " + bob + "operation=setAcl znode=" + root + " acl=digest:bob:x:cdrwa result=success",
			"INFO " + bob + "operation=setData znode=" + root + " result=success",
			"INFO " + bob + "operation=delete znode=" + root + "/ttl result=success",
			"ERROR " + bob + "operation=multiOperation result=failure",
		}
	}
	for _, id := range e.IDs() {
		require.Equal(t, want[id], waitAudit(t, e, id, len(want[id])), "server %d", id)
	}
}

// Every server writes which ephemerals have ended with a session, as ZooKeeper's servers do, even if the session
// has expired.
func TestEndOfEphemeralsIsAuditedEverywhere(t *testing.T) {
	e := startAudited(t)
	_, follower, _ := roles(t, e)
	c := connect(t, e, follower, wire.Options{})
	for i := range 3 {
		c.MustCreate(t, fmt.Sprintf("/closed%d", i), nil, proto.ModeEphemeral)
	}
	require.NoError(t, c.CloseSession())
	mortal := connect(t, e, follower, wire.Options{})
	mortal.MustCreate(t, "/expired", nil, proto.ModeEphemeral)
	require.NoError(t, e.ExpireSession(within(t), mortal.Session()))
	want := []string{
		fmt.Sprintf("0x%x /closed0", uint64(c.Session())), fmt.Sprintf("0x%x /closed1", uint64(c.Session())),
		fmt.Sprintf("0x%x /closed2", uint64(c.Session())), fmt.Sprintf("0x%x /expired", uint64(mortal.Session())),
	}
	gone := regexp.MustCompile(
		`^INFO session=(0x[0-9a-f]+) user=\S+ operation=ephemeralZNodeDeletionOnSessionCloseOrExpire ` +
			`znode=(\S+) result=success$`)
	for _, id := range e.IDs() {
		n := len(want)
		if id == follower {
			n += 4 // it has the creates, too
		}
		var got []string
		for _, line := range waitAudit(t, e, id, n) {
			if m := gone.FindStringSubmatch(line); m != nil {
				got = append(got, m[1]+" "+m[2])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got, "server %d", id)
	}
}

// If a server does not learn the outcome of a write, because it loses the leader, it writes a line about that too.
func TestUnknownOutcomeIsAudited(t *testing.T) {
	e := startAudited(t)
	_, follower, _ := roles(t, e)
	c := connect(t, e, follower, wire.Options{Reply: 30 * time.Second})
	c.MustCreate(t, "/before", nil, proto.ModePersistent)
	e.Isolate(follower)
	for _, call := range c.SendAll([]wire.Request{wire.Create("/a", nil, wire.OpenACL, 0), wire.Sync("/"),
		wire.SetData("/before", nil, -1),
		wire.Multi(wire.Delete("/before", -1))}) {
		require.Error(t, call.Wait())
	}
	who := fmt.Sprintf("INFO session=0x%x user=127.0.0.1 ip=127.0.0.1 ", uint64(c.Session()))
	require.Equal(t, []string{
		who + "operation=create znode=/before znode_type=persistent result=success",
		who + "operation=create znode=/a znode_type=persistent result=invoked",
		who + "operation=setData znode=/before result=invoked",
		who + "operation=multiOperation result=invoked",
	}, waitAudit(t, e, follower, 4))
}
