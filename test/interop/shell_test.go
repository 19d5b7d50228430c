//go:build interop

package interop

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// shellSession is what is typed into zkCli.sh and, after it, what must appear on the screen next.
var shellSession = []struct{ typed, shown string }{
	{"create /sh one", "Created /sh"},
	{"create -s /sh/n- x", "Created /sh/n-0000000000"},
	{"create -e /sh/e y", "Created /sh/e"},
	{"create -c /sh/c", "Created /sh/c"},
	{"create -t 3600000 /sh/t", "Created /sh/t"},
	{"create /sh", "Node already exists: /sh"},
	{"get /sh", "one"},
	{"get -s /sh", "cversion = 4"},
	{"set -s /sh two", "dataVersion = 1"},
	{"set -v 0 /sh three", "version No is not valid : /sh"},
	{"stat /sh", "numChildren = 4"},
	{"ls /sh", "[c, e, n-0000000000, t]"},
	{"ls -R /sh", "/sh/n-0000000000"},
	{"ls -s /sh", "numChildren = 4"},
	{"getAllChildrenNumber /sh", "4"},
	{"getEphemerals /sh", "/sh/e"},
	{"addauth digest bob:secret", ""},
	{"create /sh/p private auth::cdrwa", "Created /sh/p"},
	{"getAcl /sh/p", "'digest,'bob:fyVmFCwVbTJYrznoSu1koqYEYF0="},
	{"setAcl /sh/p world:anyone:r", ""},
	{"getAcl /sh/p", "'world,'anyone"},
	{"whoami", "digest: bob"},
	{"setquota -n 5 /sh", ""},
	{"listquota /sh", "Output quota for /sh count=5"},
	{"listquota /sh", "Output stat for /sh count=6,bytes="},
	{"delquota -n /sh", ""},
	{"sync /sh", "Sync is OK"},
	{"addWatch -m PERSISTENT /sh", ""},
	{"set /sh four", "type:NodeDataChanged path:/sh"},
	{"removewatches /sh", ""},
	{"delete /sh", "Node not empty: /sh"},
	{"deleteall /sh", ""},
	{"ls /", "[zookeeper]"},
	{"version", "ZooKeeper CLI version: 3.8.0"},
	{"quit", ""},
}

// TestShell types a session into Debian's zkCli.sh.
func TestShell(t *testing.T) {
	node := startTarget(t)
	var typed strings.Builder
	for _, line := range shellSession {
		typed.WriteString(line.typed + "\n")
	}
	cmd := exec.CommandContext(programContext(t), "/usr/share/zookeeper/bin/zkCli.sh", "-server", node.Addr())
	cmd.Stdin = strings.NewReader(typed.String())
	out := must.Output(t, cmd)
	rest := string(out)
	for _, line := range shellSession {
		_, after, found := strings.Cut(rest, line.shown)
		require.True(t, found, "after %q: no %q in\n%s\nof\n%s", line.typed, line.shown, rest, out)
		rest = after
	}
}
