// Package must is for calls which, in a test, have to succeed: one that fails ends the test with its error. What
// Listen and Dial open is closed when the test ends.
package must

import (
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Do returns what a call has returned that has to succeed: must.Do(os.Stat(name))(t). A message may follow the test.
func Do[V any](v V, err error) func(t testing.TB, msgAndArgs ...any) V {
	return func(t testing.TB, msgAndArgs ...any) V {
		t.Helper()
		require.NoError(t, err, msgAndArgs...)
		return v
	}
}

// Do2 is Do for a call with two results.
func Do2[V, W any](v V, w W, err error) func(t testing.TB, msgAndArgs ...any) (V, W) {
	return func(t testing.TB, msgAndArgs ...any) (V, W) {
		t.Helper()
		require.NoError(t, err, msgAndArgs...)
		return v, w
	}
}

// ReadFile is os.ReadFile.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	return Do(os.ReadFile(name))(t)
}

// ReadDir is os.ReadDir.
func ReadDir(t testing.TB, name string) []fs.DirEntry {
	t.Helper()
	return Do(os.ReadDir(name))(t)
}

// Glob is filepath.Glob.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	return Do(filepath.Glob(pattern))(t)
}

// Abs is filepath.Abs.
func Abs(t testing.TB, path string) string {
	t.Helper()
	return Do(filepath.Abs(path))(t)
}

// Atoi is strconv.Atoi.
func Atoi(t testing.TB, s string) int {
	t.Helper()
	return Do(strconv.Atoi(s))(t)
}

// Output runs a command and returns what it has written to its standard output and standard error.
func Output(t testing.TB, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", cmd, out)
	return out
}

// Port is the port of an address.
func Port(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return port
}

// ReadAll is io.ReadAll.
func ReadAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	return Do(io.ReadAll(r))(t)
}

// Listen listens on a loopback port that the kernel chooses.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	ln := Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// Dial connects to an address by TCP.
func Dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	nc := Do(net.Dial("tcp", addr))(t)
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}
