//go:build interop

package interop

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var kazooFlag = flag.String("interop.kazoo", "", "source of kazoo 2.8, whose own suite TestKazooSuite runs")

// kazooServer stands in for the java of kazoo's harness: it takes the command line of ZooKeeper's main class, of
// which the last argument is zoo.cfg, and writes the properties into that file.
const kazooServer = `#!/bin/bash
cfg="${@: -1}"
for a in "$@"; do
	case $a in
	-Djava.security.auth.login.config=* | -Dreadonlymode.enabled=*) key=${a#-D} ;;
	-Dzookeeper.DigestAuthenticationProvider.*) key=${a#-Dzookeeper.} ;;
	*) continue ;;
	esac
	grep -q "^${key%%=*}=" "$cfg" || echo "$key" >> "$cfg"
done
exec "$WARREN" server "$cfg" > "$(dirname "$cfg")/warren.log" 2>&1
`

// kazooFails are the tests of kazoo's suite that fail with ZooKeeper 3.8, too.
var kazooFails = map[string]bool{
	"kazoo/tests/test_connection.py::TestReadOnlyMode::test_read_only": true, // no server is read-only within its 6 s
}

// TestKazooSuite runs kazoo's own suite, with the harness that starts an ensemble of three servers, as in its
// repository. It needs the source of kazoo 2.8, and pytest, mock and objgraph of Debian.
func TestKazooSuite(t *testing.T) {
	if *kazooFlag == "" {
		t.Skip("needs -interop.kazoo, the source of kazoo 2.8")
	}
	bin := t.TempDir()
	env := append(os.Environ(), "PYTHONPATH="+*kazooFlag, "ZOOKEEPER_VERSION=3.8.0", "TMPDIR="+t.TempDir(),
		"ZOOKEEPER_CLASSPATH=/usr/share/java/zookeeper.jar")
	if *target == "warren" {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "java"), []byte(kazooServer), 0o700))
		env = append(env, "PATH="+bin+":"+os.Getenv("PATH"), "WARREN="+cluster.Binary(t))
	}
	env = append(env, "ZOOKEEPER_PORT_OFFSET="+strconv.Itoa(cluster.FreePorts(t, 40)[0]))
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	suite := exec.CommandContext(ctx, "/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q",
		"-rf", "kazoo/tests")
	suite.Dir, suite.Env, suite.WaitDelay = *kazooFlag, env, 10*time.Second
	var out bytes.Buffer
	suite.Stdout = &out
	err := suite.Run() // its exit code is not 0 if a test has failed
	passed := kazooPassed.FindSubmatch(out.Bytes())
	require.NotNil(t, passed, "%v\n%s", err, out.Bytes()[max(0, out.Len()-4000):])
	t.Logf("%s", passed[0])
	require.GreaterOrEqual(t, must.Atoi(t, string(passed[1])), 470)
	for _, failed := range kazooFailed.FindAllSubmatch(out.Bytes(), -1) {
		require.True(t, kazooFails[string(failed[1])], "%s", failed[0])
	}
}

var (
	kazooPassed = regexp.MustCompile(`(?m)^=+ .*\b(\d+) passed.*$`)
	kazooFailed = regexp.MustCompile(`(?m)^(?:FAILED|ERROR) (\S+).*$`)
)
