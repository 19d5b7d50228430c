package zkscripts

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
)

func TestArguments(t *testing.T) {
	for _, x := range []struct{ argv, want []string }{
		{nil, nil},
		{[]string{"warren"}, []string{}},
		{[]string{"/usr/bin/warren", "server", "zoo.cfg"}, []string{"server", "zoo.cfg"}},
		{[]string{"/usr/bin/zkServer.sh", "start-foreground"}, []string{"zkServer.sh", "start-foreground"}},
		{[]string{"zkCli.sh", "-server", "zk:2181", "ls", "/"}, []string{"zkCli.sh", "-server", "zk:2181", "ls", "/"}},
		{[]string{"zkCli", "ls", "/"}, []string{"zkCli.sh", "ls", "/"}},
		{[]string{"/opt/bin/zkCleanup.sh", "-n", "3"}, []string{"zkCleanup.sh", "-n", "3"}},
		{[]string{"zkServer-initialize", "--myid", "1"}, []string{"zkServer-initialize.sh", "--myid", "1"}},
		{[]string{"zkTxnLogToolkit.sh"}, []string{"zkTxnLogToolkit.sh"}},
		{[]string{"zkSnapShotToolkit.sh"}, []string{"zkSnapShotToolkit.sh"}},
		{[]string{"zkSnapshotComparer.sh"}, []string{"zkSnapshotComparer.sh"}},
		{[]string{"zkSnapshotRecursiveSummaryToolkit.sh"}, []string{"zkSnapshotRecursiveSummaryToolkit.sh"}},
		{[]string{"zkOther.sh", "a"}, []string{"a"}},
	} {
		require.Equal(t, x.want, Arguments(x.argv))
	}
}

func script(args ...string) (code int, out, errs string) {
	return run(append([]string{"zkServer.sh"}, args...)...)
}

// status finds the port in the file and prints what probes look for.
func TestZkServerStatus(t *testing.T) {
	dir := t.TempDir()
	r := cmdline.StartServer(t, "--data-dir", dir, "--client-port", "0", "-D", "admin.enableServer=false")
	_, port, found := bytes.Cut([]byte(r.Addr), []byte(":"))
	require.True(t, found)
	text := "dataDir=" + dir + "\nclientPort=" + string(port) + "\nclientPortAddress=127.0.0.1\n"
	file := filepath.Join(dir, "zoo.cfg")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))

	code, out, errs := script("--config", dir, "status")
	require.Zero(t, code, out+errs)
	require.Equal(t,
		"Client port found: "+string(port)+". Client address: 127.0.0.1. Client SSL: false.\nMode: standalone\n", out)
	require.Equal(t, "Using config: "+file+"\n", errs)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "java.env"), []byte("export SERVER_JVMFLAGS=-Xmx1g\n"), 0o644))
	code, _, errs = script("--config", dir, "status")
	require.Zero(t, code)
	require.Contains(t, errs, filepath.Join(dir, "java.env")+
		" is not read: export its variables before, or put its -D settings into zoo.cfg\n")

	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
	code, out, _ = script("status", file)
	require.Equal(t, cli.ExitUnexpected, code)
	require.Contains(t, out, "Error contacting service. It is probably not running.\n")
}

// In a container the scripts have the file of the server, wherever the variables of the image say that it is.
func TestZkServerInAContainer(t *testing.T) {
	printed := func() string {
		_, out, _ := script("print-cmd")
		return out
	}
	require.Equal(t, "warren server /etc/zookeeper/conf/zoo.cfg\n", printed())
	t.Setenv("ZOO_CONF_DIR", "/conf")
	require.Equal(t, "warren server /conf/zoo.cfg\n", printed())
	t.Setenv("ALLOW_ANONYMOUS_LOGIN", "yes")
	require.Equal(t, "warren server /opt/bitnami/zookeeper/conf/zoo.cfg\n", printed())
	t.Setenv("ZOOCFGDIR", "/own")
	require.Equal(t, "warren server /own/zoo.cfg\n", printed())
}

func TestZkServerWords(t *testing.T) {
	t.Setenv("ZOOCFGDIR", "/conf")
	for _, x := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"print-cmd"}, cli.ExitOK, "warren server /conf/zoo.cfg\n"},
		{[]string{"print-cmd", "b.cfg"}, cli.ExitOK, "warren server /conf/b.cfg\n"},
		{[]string{"print-cmd", "./b.cfg"}, cli.ExitOK, "warren server ./b.cfg\n"},
		{[]string{"--config", "/c", "print-cmd"}, cli.ExitOK, "warren server /c/zoo.cfg\n"},
		{[]string{"print-classpath"}, cli.ExitOK, "CLASSPATH=\n"},
		{[]string{"version"}, cli.ExitOK, "Apache ZooKeeper, version " + build.This().ZooKeeperVersion() + "\n"},
		{[]string{"upgrade"}, cli.ExitUsage, ""},
		{[]string{"start"}, cli.ExitUsage, ""},
		{[]string{"stop"}, cli.ExitUsage, ""},
		{[]string{}, cli.ExitUsage, ""},
		{[]string{"status", "a", "b"}, cli.ExitUsage, ""},
		{[]string{"start-foreground", "/none/zoo.cfg"}, cli.ExitUsage, ""},
	} {
		code, out, errs := script(x.args...)
		require.Equal(t, x.code, code, "%v: %s", x.args, errs)
		require.Equal(t, x.out, out, "%v", x.args)
	}
}
