package serve_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// The service manager hears that the server is ready when clients can connect, and that it stops.
func TestServerNotifiesTheServiceManager(t *testing.T) {
	dir := must.Do(os.MkdirTemp("", "notify"))(t) // t.TempDir may be too long for a socket
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, socket := range map[string]string{"path": filepath.Join(dir, "s"), "abstract": "@" + dir} {
		t.Run(name, func(t *testing.T) {
			manager := must.Do(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}))(t)
			t.Cleanup(func() { manager.Close() })
			t.Setenv("NOTIFY_SOCKET", socket)
			r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0",
				"-D", "admin.enableServer=false")
			require.Equal(t, "READY=1\nSTATUS=serves clients on "+r.Addr, nextState(t, manager))
			require.Contains(t, cmdline.Word(t, r.Addr, "srvr"), "Mode: standalone")
			require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
			require.Equal(t, "STOPPING=1", nextState(t, manager))
		})
	}
}

func nextState(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	require.NoError(t, manager.SetReadDeadline(time.Now().Add(20*time.Second)))
	b := make([]byte, 1024)
	n := must.Do(manager.Read(b))(t)
	return string(b[:n])
}

// A server whose manager cannot be told runs all the same.
func TestServerWithoutItsServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.enableServer=false")
	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
	require.True(t, strings.Contains(r.Log.String(), "the service manager was not told"), r.Log.String())
}

// A manager that does not read holds up neither the start nor the end.
func TestServerWhoseServiceManagerDoesNotRead(t *testing.T) {
	dir := must.Do(os.MkdirTemp("", "notify"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"}
	manager := must.Do(net.ListenUnixgram("unixgram", at))(t)
	t.Cleanup(func() { manager.Close() })
	full, err := net.DialUnix("unixgram", nil, at)
	require.NoError(t, err)
	t.Cleanup(func() { full.Close() })
	require.NoError(t, full.SetWriteDeadline(time.Now().Add(time.Second)))
	for err == nil { // until the queue of the socket is full
		_, err = full.Write([]byte("x"))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	t.Setenv("NOTIFY_SOCKET", at.Name)
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.enableServer=false")
	require.Equal(t, cli.ExitOK, r.Stop(t, syscall.SIGTERM))
	require.Contains(t, r.Log.String(), "the service manager was not told")
}
