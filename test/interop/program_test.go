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
	c.in = must.Do(cmd.StdinPipe())(t)
	stdout := must.Do(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	c.lines = bufio.NewScanner(stdout)
	return c
}

// tell writes a line to the program.
func (c *conversation) tell(line string) {
	c.t.Helper()
	must.Do(io.WriteString(c.in, line+"\n"))(c.t, "%s", &c.stderr)
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

// compileJava compiles a program of testdata/java against Debian's jar.
func compileJava(t *testing.T, name string) (classes string) {
	classes = t.TempDir()
	compile(t, "javac", "-nowarn", "-cp", zookeeperJar+":/usr/share/java/zookeeper-jute.jar", "-d", classes,
		filepath.Join("testdata", "java", name+".java"))
	return classes
}

// javaProgram is a program of testdata/java. The folder of the node has a logging configuration.
func javaProgram(t *testing.T, node *cluster.Node, name, addr string) *exec.Cmd {
	return exec.CommandContext(programContext(t), "java", "-Xmx128m", "-cp",
		compileJava(t, name)+":"+node.Dir()+":"+zookeeperJar, name, addr)
}

// kazooProgram is a program of testdata/kazoo, under the Python that Debian's kazoo is for.
func kazooProgram(t *testing.T, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(programContext(t), "/usr/bin/python3",
		append([]string{filepath.Join("testdata", "kazoo", name)}, args...)...)
}

// compileC compiles a program of testdata/c against libzookeeper_mt.
func compileC(t *testing.T, name string) (binary string) {
	binary = filepath.Join(t.TempDir(), name)
	compile(t, "gcc", "-DTHREADED", "-Wall", "-o", binary, filepath.Join("testdata", "c", name+".c"),
		"-lzookeeper_mt", "-lpthread")
	return binary
}

// TestJavaClient runs Debian's client for Java.
func TestJavaClient(t *testing.T) {
	node := startTarget(t)
	runJava(t, node, node.Addr())
}

// runJava runs the program for Java at an address that leads to the server.
func runJava(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	runProgram(t, node, javaProgram(t, node, "Client", addr),
		strings.Fields(`create2 getData setData exists nullData create getChildren getAllChildrenNumber delete sync
			getConfig bigData unicode sequential ephemeral getEphemerals container ttl getACL auth setACL whoAmI multi
			multiFailed transaction multiRead dataWatch childWatch existsWatch removeWatches persistentWatch
			recursiveWatch resume closeSession reconnect watchesAfterReconnect close`))
}

// TestKazoo runs Debian's kazoo.
func TestKazoo(t *testing.T) {
	node := startTarget(t)
	runKazoo(t, node, node.Addr())
}

// runKazoo is runJava for kazoo.
func runKazoo(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	runProgram(t, node, kazooProgram(t, "client.py", addr),
		strings.Fields(`create create2 sequential makepath get set exists children sync delete acl transaction
			failedTransaction watches lock election barrier doubleBarrier queue lockingQueue counter semaphore party
			childrenWatch restart close`))
}

// TestCClient runs Debian's client for C.
func TestCClient(t *testing.T) {
	node := startTarget(t)
	runC(t, node, node.Addr())
}

// runC is runJava for C.
func runC(t *testing.T, node *cluster.Node, addr string) {
	t.Helper()
	runProgram(t, node, exec.CommandContext(programContext(t), compileC(t, "client"), addr),
		strings.Fields(`connect create create2 ttl container get set exists children delete acl multi watches
		removeWatches reconnect watchesAfterReconnect close`))
}
