package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHangupChangesTheLogLevel sends SIGHUP to a server whose file has changed.
func TestHangupChangesTheLogLevel(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zoo.cfg")
	write := func(more string) {
		require.NoError(t, os.WriteFile(file, []byte("dataDir="+dir+"\nclientPort=0\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"+more), 0o600))
	}
	write("warren.logFormat=json\n")
	r := startServer(t, file, "--log-level", "error")
	hangup := func(line string) {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		require.Eventually(t, func() bool { return strings.Contains(r.log.String(), line) }, 5*time.Second, time.Millisecond, line)
	}
	require.NotContains(t, r.log.String(), `"info"`)
	write("warren.logLevel=debug\n")
	hangup(`"msg":"SIGHUP: log level changed","from":"error","to":"debug"`)
	write("warren.logLevel=loud\n")
	hangup("SIGHUP: the configuration cannot be used, nothing has changed")
	write("warren.logLevel=warn\n")
	hangup(`"from":"debug","to":"warn"`)
	require.Zero(t, r.stop(t, syscall.SIGTERM))
	require.NotContains(t, r.log.String(), `"msg":"stopped"`)
}

// TestServerInAnImage starts without a file, with the variables of the official container image.
func TestServerInAnImage(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{
		"ZOO_CONF_DIR": dir + "/conf", "ZOO_DATA_DIR": dir + "/data", "ZOO_DATA_LOG_DIR": dir + "/log", "ZOO_MY_ID": "1",
		"ZOO_SERVERS": "server.1=localhost:2888:3888;127.0.0.1:0", "ZOO_ADMINSERVER_ENABLED": "false",
		"ZOO_4LW_COMMANDS_WHITELIST": "conf", "WARREN_LOG_LEVEL": "error", "JVMFLAGS": "-Xmx1g",
	} {
		t.Setenv(name, value)
	}
	r := startServer(t)
	require.Contains(t, word(t, r.addr, "conf"), "dataLogDir="+dir+"/log/version-2")
	require.Zero(t, r.stop(t, syscall.SIGTERM))
	require.Empty(t, r.log.String())
	id, err := os.ReadFile(dir + "/data/myid")
	require.NoError(t, err)
	require.Equal(t, "1\n", string(id))
	require.FileExists(t, dir+"/conf/zoo.cfg")
}
