//go:build interop

package ensemble

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// superDigest is that of super:test.
const superDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// audited is what the servers of an ensemble have written into their audit logs about the same requests: the leader's
// lines first.
type audited struct {
	t        *testing.T
	chaos    *chaos
	servers  []*cluster.Node // the leader first
	sessions []proto.SessionID
}

// TestAuditInEnsembles sends the same requests to the leader and the followers of an ensemble of ZooKeeper and of one
// of Warren, and compares their audit logs line by line.
func TestAuditInEnsembles(t *testing.T) {
	ours, theirs := auditRun(t, cluster.Warren), auditRun(t, cluster.ZooKeeper)
	for i := range ours {
		require.NotEmpty(t, ours[i])
		require.Equal(t, theirs[i], ours[i], "server %d, of which 0 leads", i)
	}
}

// auditRun returns the lines of the servers of one kind.
func auditRun(t *testing.T, kind cluster.Kind) (lines [][]string) {
	t.Helper()
	c, _ := newConfigured(t, func(_ int, o *cluster.Options) {
		o.Settings["audit.enable"], o.Settings["extendedTypesEnabled"] = "true", "true"
		o.Settings["DigestAuthenticationProvider.superDigest"] = superDigest
		o.Properties = map[string]string{"zookeeper.DigestAuthenticationProvider.superDigest": superDigest,
			"zookeeper.extendedTypesEnabled": "true"}
	}, kind, kind, kind)
	a := &audited{t: t, chaos: c}
	leader := c.leader()
	a.servers = append(a.servers, leader)
	for _, node := range c.nodes {
		if node != leader {
			a.servers = append(a.servers, node)
		}
	}
	for i, node := range a.servers {
		a.requests(node, fmt.Sprintf("/s%d", i))
	}
	for _, node := range slices.Backward(a.servers) { // the leader last, so that there are no elections
		a.wholeTree(node)
	}
	for _, node := range slices.Backward(a.servers) {
		node.Stop()
	}
	for _, node := range a.servers {
		lines = append(lines, a.read(node))
	}
	return lines
}

func (a *audited) dial(node *cluster.Node, timeout time.Duration) *wire.Conn {
	a.t.Helper()
	conn := wire.Open(a.t, node.Addr(),
		wire.Options{TimeoutMs: int32(timeout.Milliseconds()), Reply: 20 * time.Second})
	a.sessions = append(a.sessions, conn.Session())
	return conn
}

// requests sends one of everything that is audited, and of what is not, to a server, and ends sessions in every way.
func (a *audited) requests(node *cluster.Node, root string) {
	a.t.Helper()
	open := wire.OpenACL
	conn := a.dial(node, 30*time.Second)
	do := func(reqs ...wire.Request) {
		a.t.Helper()
		for _, r := range reqs {
			conn.MustDo(a.t, r)
		}
	}
	do(wire.Create(root, []byte("data"), open, 0),
		wire.Create(root+"/a", nil, open, 0), wire.Create(root+"/e", nil, open, 1),
		wire.Create(root+"/s-", nil, open, 2), wire.Create(root+"/es-", nil, open, 3),
		wire.Create2(root+"/c2", nil, open, 0), wire.Create2(root+"/c2e", nil, open, 1),
		wire.CreateContainer(root+"/cont", nil, open), wire.Create(root+"/a", nil, open, 0),
		wire.Create(root+"/x/y", nil, open, 1), wire.Create(root+"/e/child", nil, open, 0),
		wire.SetData(root+"/a", []byte("x"), -1), wire.SetData(root+"/a", []byte("x"), 77),
		wire.SetData(root+"/none", nil, -1), wire.GetData(root+"/a", false), wire.Exists(root+"/none", false),
		wire.Sync("/"), wire.Ping(), wire.Delete(root+"/none", -1), wire.Delete(root, -1), wire.Delete(root+"/e", -1),
		wire.Delete(root+"/c2", 77), wire.Auth("digest", []byte("bob:secret")),
		wire.SetACL(root+"/a", wire.ACL(31, "auth", ""), -1),
		wire.SetACL(root+"/none", wire.ACL(19, "ip", "127.0.0.1"), -1),
		wire.SetACL(root+"/c2", wire.ACL(21, "world", "anyone"), 0),
		wire.SetACL(root+"/c2", wire.ACL(31, "world", "anyone"), 77), wire.Auth("digest", []byte("alice:secret")),
		wire.Auth("digest", []byte("super:test")),
		wire.Multi(wire.Create(root+"/m", nil, open, 0), wire.Create2(root+"/m2", nil, open, 1),
			wire.Check(root+"/m", -1), wire.SetData(root+"/m", nil, -1), wire.Delete(root+"/m", -1)),
		wire.Multi(wire.SetData(root+"/a", nil, -1), wire.Delete(root+"/m", -1)),
		wire.Multi(wire.Check(root+"/a", 0)),
	)
	stranger := a.dial(node, 30*time.Second)
	for _, r := range []wire.Request{wire.SetData(root+"/a", nil, -1), wire.Delete("/zookeeper", -1),
		wire.SetACL(root+"/a", open, -1), wire.Create(root+"/a/b", nil, open, 0),
		wire.Multi(wire.SetData(root+"/a", nil, -1))} {
		reply := stranger.MustDo(a.t, r)
		require.True(a.t, reply.Header.Err != proto.OK || r.Op == proto.OpMulti, "%v", r.Op)
	}
	require.NoError(a.t, stranger.CloseSession())
	require.NoError(a.t, conn.CloseSession())

	mortal := a.dial(node, 2*time.Second)
	for _, r := range []wire.Request{
		wire.Create(root+"/mortal", nil, open, 1), wire.Create(root+"/mortal2", nil, open, 1),
	} {
		mortal.MustDo(a.t, r)
	}
	mortal.Close() // and it expires
	watching := a.dial(node, 30*time.Second)
	cluster.Eventually(a.t, func() bool {
		_, one := watching.Exists(root+"/mortal", false)
		_, two := watching.Exists(root+"/mortal2", false)
		return one == proto.ErrNoNode && two == proto.ErrNoNode
	}, 30*time.Second, "%s/mortal lives", root)
	require.NoError(a.t, watching.CloseSession())
}

// wholeTree waits until a server has all that the others have.
func (a *audited) wholeTree(node *cluster.Node) {
	a.t.Helper()
	conn := a.dial(node, 30*time.Second)
	require.NoError(a.t, conn.Sync("/"))
	require.NoError(a.t, conn.CloseSession())
}

var javaAudit = regexp.MustCompile(`^\S+ \S+ (INFO|ERROR) +\[.*:Slf4jAuditLogger\] (.*)$`)
var warrenAudit = regexp.MustCompile(
	`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|ERROR) audit\.Slf4jAuditLogger: (.*)$`)

// read returns a server's lines without times, with sessions by their number. Those of ephemerals that end together
// are in the order of their names.
func (a *audited) read(node *cluster.Node) []string {
	a.t.Helper()
	text, form := node.Log(), javaAudit
	if node.Kind() == cluster.Warren {
		data := must.ReadFile(a.t, filepath.Join(node.Dir(), "zookeeper_audit.log"))
		text, form = string(data), warrenAudit
	}
	var lines []string
	for line := range strings.Lines(text) {
		m := form.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			require.NotEqual(a.t, cluster.Warren, node.Kind(), line)
			continue
		}
		for i, id := range a.sessions {
			m[2] = strings.ReplaceAll(m[2], fmt.Sprintf("session=0x%x\t", uint64(id)), fmt.Sprintf("session=%d\t", i))
		}
		m[2] = auditUsers.ReplaceAllStringFunc(m[2], func(users string) string { // ZooKeeper has them in no order
			names := strings.Split(strings.TrimPrefix(users, "user="), ",")
			slices.Sort(names)
			return "user=" + strings.Join(names, ",")
		})
		lines = append(lines, m[1]+" "+m[2])
	}
	const gone = "ephemeralZNodeDeletionOnSessionCloseOrExpire"
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && strings.Contains(lines[to], gone) {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	return lines
}

var auditUsers = regexp.MustCompile(`user=[^\t]+`)
