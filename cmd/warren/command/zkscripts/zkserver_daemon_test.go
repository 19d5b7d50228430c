package zkscripts

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// daemonConfig writes a zoo.cfg for a server on a free port.
func daemonConfig(t *testing.T) (file, dir string, port int) {
	t.Helper()
	t.Setenv(cmdline.AsCommand, "1") // what start starts is this program
	port = cluster.FreePort(t)
	dir = t.TempDir()
	file = filepath.Join(dir, "conf", "daemon-test.cfg")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
		dir, port)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file, dir, port
}

// daemonPID reads the file that start has written, and ends the process with the test if it still runs.
func daemonPID(t *testing.T, file string) int {
	t.Helper()
	text := must.ReadFile(t, file)
	pid := must.Atoi(t, string(text))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func TestZkServerDaemon(t *testing.T) {
	file, dir, port := daemonConfig(t)
	pidFile := filepath.Join(dir, "data", "zookeeper_server.pid")
	code, out, _ := script("start", file)
	require.Zero(t, code, out)
	require.Equal(t, "Starting zookeeper ... STARTED\n", out)
	first := daemonPID(t, pidFile)

	code, out, _ = script("start", file)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, fmt.Sprintf("Starting zookeeper ... already running as process %d.\n", first), out)
	code, out, _ = script("status", file)
	require.Zero(t, code)
	require.Equal(t,
		fmt.Sprintf("Client port found: %d. Client address: 127.0.0.1. Client SSL: false.\nMode: standalone\n", port),
		out)

	code, out, _ = script("restart", file)
	require.Zero(t, code, out)
	require.Equal(t, "Stopping zookeeper ... STOPPED\nStarting zookeeper ... STARTED\n", out)
	second := daemonPID(t, pidFile)
	require.NotEqual(t, first, second)

	code, out, _ = script("stop", file)
	require.Zero(t, code)
	require.Equal(t, "Stopping zookeeper ... STOPPED\n", out)
	require.NoFileExists(t, pidFile)
	for _, pid := range []int{first, second} {
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, time.Millisecond,
			"the process has ended")
	}
	code, out, _ = script("stop", file)
	require.Zero(t, code)
	require.Equal(t, "Stopping zookeeper ... no zookeeper to stop (could not find file "+pidFile+")\n", out)
	code, out, _ = script("status", file)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "Error contacting service. It is probably not running.\n")
	require.Len(t, must.Glob(t, filepath.Join(dir, "data", "zookeeper-*-server-*.out")), 1)
}

// A server whose file was changed for the worse goes on at restart, which would not start it again, and ends at stop.
func TestZkServerDaemonOfAWrongFile(t *testing.T) {
	file, dir, _ := daemonConfig(t)
	code, out, _ := script("start", file)
	require.Zero(t, code, out)
	pid := daemonPID(t, filepath.Join(dir, "data", "zookeeper_server.pid"))
	text := must.ReadFile(t, file)
	require.NoError(t, os.WriteFile(file, append(text, "tickTime=never\nserver.1=nonsense\n"...), 0o644))

	code, out, errs := script("restart", file)
	require.Equal(t, cli.ExitUsage, code)
	require.Empty(t, out)
	require.Contains(t, errs, "tickTime")
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	code, out, errs = script("stop", file)
	require.Zero(t, code, errs)
	require.Equal(t, "Stopping zookeeper ... STOPPED\n", out)
}

// The files may be elsewhere. A process that has got the number of a server that is gone is left alone.
func TestZkServerDaemonElsewhere(t *testing.T) {
	file, dir, _ := daemonConfig(t)
	pidFile := filepath.Join(dir, "run", "warren.pid")
	t.Setenv("ZOOPIDFILE", pidFile)
	t.Setenv("ZOO_LOG_DIR", filepath.Join(dir, "logs"))
	require.NoError(t, os.Mkdir(filepath.Dir(pidFile), 0o755))
	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())), 0o644))

	code, out, _ := script("start", file)
	require.Zero(t, code, out)
	require.NotEqual(t, os.Getpid(), daemonPID(t, pidFile))
	code, _, _ = script("stop", file)
	require.Zero(t, code)
	require.Len(t, must.ReadDir(t, filepath.Join(dir, "logs")), 1)

	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())), 0o644))
	code, out, _ = script("stop", file)
	require.Zero(t, code, "and this test goes on")
	require.Equal(t, "Stopping zookeeper ... STOPPED\n", out)
}

// A server that ends at once has not started, and what it said is told.
func TestZkServerDaemonFails(t *testing.T) {
	file, dir, port := daemonConfig(t)
	ln := must.Do(net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))))(t)
	defer ln.Close()
	code, out, errs := script("start", file)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, "Starting zookeeper ... FAILED TO START\n", out)
	require.Contains(t, errs, "warren: the server has ended, and this is in "+filepath.Join(dir, "data", "zookeeper-"))
	require.Contains(t, errs, "address already in use")
	require.NoFileExists(t, filepath.Join(dir, "data", "zookeeper_server.pid"))
}

func TestZkServerInitialize(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	require.NoError(t, os.WriteFile(file,
		fmt.Appendf(nil, "dataDir=%s/data\ndataLogDir=%s/log\nclientPort=2181\ninitLimit=5\nsyncLimit=2\n"+
			"server.1=a:2888:3888\nserver.2=b:2888:3888\nserver.3=c:2888:3888\n", dir, dir), 0o644))
	t.Setenv("ZOOCFGDIR", dir)
	code, out, errs := run("zkServer-initialize.sh", "--myid", "2")
	require.Zero(t, code, errs)
	require.Equal(t, "Using myid of 2\n", out)
	require.Equal(t, "2\n", string(must.ReadFile(t, filepath.Join(dir, "data/myid"))))
	for _, name := range []string{"data/initialize", "data/version-2", "log/version-2"} {
		must.Do(os.Stat(filepath.Join(dir, name)))(t)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "data/version-2/snapshot.0"), []byte("x"), 0o644))
	code, _, errs = run("zkServer-initialize.sh", "--configfile", file)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, errs, "(or use --force to force re-initialization)")
	code, out, errs = run("zkServer-initialize.sh", "--configfile", file, "--force")
	require.Zero(t, code, errs)
	require.Equal(t, 1, strings.Count(out, ".before-initialize-"), "there was no log")
	require.Len(t, must.Glob(t, filepath.Join(dir, "data/version-2.before-initialize-*/snapshot.0")), 1)

	code, _, _ = run("zkServer-initialize.sh", "--myid", "-1")
	require.Equal(t, cli.ExitUsage, code)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "data")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "log")))
	code, _, errs = run("zkServer-initialize.sh")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "myid file is missing")
}
