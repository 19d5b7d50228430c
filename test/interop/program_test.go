//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// startTarget starts the server that the client programs use.
func startTarget(t *testing.T) *cluster.Node {
	t.Helper()
	return cluster.Start(t, cluster.Options{Kind: cluster.Kind(*target),
		Settings: map[string]string{"extendedTypesEnabled": "true"}})
}

// conversation is a client program that says on a line what it has done, and waits for lines between its steps.
type conversation struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// converse starts a program.
func converse(t *testing.T, cmd *exec.Cmd) *conversation {
	t.Helper()
	c := &conversation{t: t, cmd: cmd}
	cmd.Stderr = &c.stderr
	var err error
	c.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c.lines = bufio.NewScanner(stdout)
	return c
}

// tell writes a line to the program.
func (c *conversation) tell(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err, "%s", &c.stderr)
}

// expect reads a line that begins with OK and what is wanted, and returns the rest of it.
func (c *conversation) expect(want string) (rest string) {
	c.t.Helper()
	if c.lines.Scan() {
		if rest, ok := strings.CutPrefix(c.lines.Text(), "OK "+want); ok {
			return rest
		}
	}
	got := c.lines.Text()
	_ = c.cmd.Wait() // what it says matters more
	c.t.Fatalf("%q instead of %q\n%s", got, "OK "+want, c.stderr.String())
	return ""
}

// ends waits until the program ends, which must have nothing more to say.
func (c *conversation) ends() {
	c.t.Helper()
	require.False(c.t, c.lines.Scan(), c.lines.Text())
	require.NoError(c.t, c.cmd.Wait(), "%s", &c.stderr)
}

// runProgram runs a client program until it ends and checks that it printed exactly the OK lines.
// When it prints RESTART the server is killed and started again, and a line is sent to it.
func runProgram(t *testing.T, node *cluster.Node, cmd *exec.Cmd, want []string) {
	t.Helper()
	c := converse(t, cmd)
	var got []string
	var output strings.Builder
	for c.lines.Scan() {
		line := c.lines.Text()
		output.WriteString(line + "\n")
		switch {
		case line == "RESTART":
			node.Kill()
			node.Start()
			c.tell("")
		case strings.HasPrefix(line, "OK "):
			got = append(got, strings.TrimPrefix(line, "OK "))
		}
	}
	require.NoError(t, cmd.Wait(), "%s\n%s", output.String(), c.stderr.String())
	require.Equal(t, want, got, "%s\n%s", output.String(), c.stderr.String())
}

// programContext bounds a program.
func programContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func compile(t *testing.T, name string, args ...string) {
	t.Helper()
	must.Output(t, exec.CommandContext(programContext(t), name, args...))
}

// TestJavaClient compiles testdata/java against Debian's jar.
func TestJavaClient(t *testing.T) {
	node := startTarget(t)
	runJava(t, node, node.Addr())
}

// runJava runs the program for Java at an address that leads to the server.
func runJava(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	classes := t.TempDir()
	const jar = "/usr/share/java/zookeeper.jar"
	compile(t, "javac", "-nowarn", "-cp", jar+":/usr/share/java/zookeeper-jute.jar", "-d", classes,
		filepath.Join("testdata", "java", "Client.java"))
	// The folder of the node has a logging configuration.
	cmd := exec.CommandContext(programContext(t), "java", "-Xmx128m", "-cp", classes+":"+node.Dir()+":"+jar,
		"Client", addr)
	runProgram(t, node, cmd,
		strings.Fields(`create2 getData setData exists nullData create getChildren getAllChildrenNumber delete sync
			getConfig bigData unicode sequential ephemeral getEphemerals container ttl getACL auth setACL whoAmI multi
			multiFailed transaction multiRead dataWatch childWatch existsWatch removeWatches persistentWatch
			recursiveWatch resume closeSession reconnect watchesAfterReconnect close`))
}

// TestKazoo runs testdata/kazoo under the Python that Debian's kazoo is for.
func TestKazoo(t *testing.T) {
	node := startTarget(t)
	runKazoo(t, node, node.Addr())
}

// runKazoo is runJava for kazoo.
func runKazoo(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	cmd := exec.CommandContext(programContext(t), "/usr/bin/python3",
		filepath.Join("testdata", "kazoo", "client.py"), addr)
	runProgram(t, node, cmd,
		strings.Fields(`create create2 sequential makepath get set exists children sync delete acl transaction
			failedTransaction watches lock election barrier doubleBarrier queue lockingQueue counter semaphore party
			childrenWatch restart close`))
}

// TestCClient compiles testdata/c against libzookeeper_mt.
func TestCClient(t *testing.T) {
	node := startTarget(t)
	runC(t, node, node.Addr())
}

// runC is runJava for C.
func runC(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "client")
	compile(t, "gcc", "-DTHREADED", "-Wall", "-o", binary, filepath.Join("testdata", "c", "client.c"),
		"-lzookeeper_mt", "-lpthread")
	cmd := exec.CommandContext(programContext(t), binary, addr)
	runProgram(t, node, cmd,
		strings.Fields(`connect create create2 ttl container get set exists children delete acl multi watches
		removeWatches reconnect watchesAfterReconnect close`))
}
