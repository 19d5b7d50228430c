// Package must has calls of the standard library which, in a test, have to succeed: one that fails ends the test with
// its error. What they open is closed when the test ends.
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

// Do returns what a call has returned that has to succeed: must.Do(os.Stat(name))(t).
func Do[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// Do2 is Do for a call with two results.
func Do2[V, W any](v V, w W, err error) func(testing.TB) (V, W) {
	return func(t testing.TB) (V, W) {
		t.Helper()
		require.NoError(t, err)
		return v, w
	}
}

// ReadFile is os.ReadFile.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}

// ReadDir is os.ReadDir.
func ReadDir(t testing.TB, name string) []fs.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(name)
	require.NoError(t, err)
	return entries
}

// Glob is filepath.Glob.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return names
}

// Abs is filepath.Abs.
func Abs(t testing.TB, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	require.NoError(t, err)
	return absolute
}

// Atoi is strconv.Atoi.
func Atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
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
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// Listen listens on a loopback port that the kernel chooses.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// Dial connects to an address by TCP.
func Dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}
