package inuse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// A port that this process has is refused in its name, whichever address of the machine is wanted.
func TestListen(t *testing.T) {
	comm := must.ReadFile(t, "/proc/self/comm")
	me := fmt.Sprintf("address already in use by %s (pid %d)", comm[:len(comm)-1], os.Getpid())
	for has, wants := range map[string][]string{
		"127.0.0.1:0": {"127.0.0.1", "0.0.0.0", ""},
		":0":          {"127.0.0.1", "0.0.0.0", "", "[::1]"},
		"[::1]:0":     {"[::1]", "[::]"},
	} {
		ln, err := Listen("tcp", has)
		require.NoError(t, err)
		t.Cleanup(func() { _ = ln.Close() })
		for _, host := range wants {
			_, err = Listen("tcp", fmt.Sprintf("%s:%d", host, ln.Addr().(*net.TCPAddr).Port))
			require.ErrorIs(t, err, syscall.EADDRINUSE, "%s, %q", has, host)
			require.ErrorContains(t, err, me, "%s, %q", has, host)
		}
	}
}

// A socket that does not listen can have a port, too.
func TestConnectionHasPort(t *testing.T) {
	ln := must.Listen(t)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	c := must.Do(dialer.DialContext(context.Background(), "tcp", ln.Addr().String()))(t)
	t.Cleanup(func() { _ = c.Close() })
	require.ErrorContains(t, must.Err(Listen("tcp", c.LocalAddr().String())), fmt.Sprintf("(pid %d)", os.Getpid()))
}

func TestOtherErrors(t *testing.T) {
	_, err := Listen("tcp", "192.0.2.1:0")
	var taken *Error
	require.Error(t, err)
	require.False(t, errors.As(err, &taken), "%v", err)
	require.NoError(t, Explain(nil))
}

// Where the process cannot be identified, the message says why.
func TestHolderOf(t *testing.T) {
	proc := t.TempDir()
	at := netip.MustParseAddrPort("127.0.0.1:2181")
	require.Equal(t, "another process", holderOf(proc, at))

	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(proc, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(proc, name), []byte(text), 0o644))
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	write("net/tcp", head+
		"   0: 0200007F:0885 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41 1 0 100 0\n"+
		"   1: 0100007F:0885 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 42 1 0 100 0\n")
	write("net/tcp6", head+"   0: 00000000000000000000000000000000:0885 00000000000000000000000000000000:0000 0A "+
		"00000000:00000000 00:00000000 00000000 424242        0 43 1 0 100 0\n")
	if os.Geteuid() == 0 {
		require.Equal(t, "a process of the user with uid 424242 that cannot be seen from here, as in another "+
			"container", holderOf(proc, at))
	} else {
		require.Equal(t, "a process of the user with uid 424242, which only that user and root can identify",
			holderOf(proc, at))
	}

	require.NoError(t, os.MkdirAll(filepath.Join(proc, "4711/fd"), 0o755))
	require.NoError(t, os.Symlink("socket:[43]", filepath.Join(proc, "4711/fd/7")))
	require.Equal(t, "process 4711", holderOf(proc, at))
	write("4711/comm", "java\n")
	require.Equal(t, "java (pid 4711)", holderOf(proc, at))
}

// A file that this process has locked is locked in its name; one that it has only opened is not.
func TestLockHolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	f := must.Do(os.Create(file))(t)
	t.Cleanup(func() { _ = f.Close() })
	_, ok := LockedBy(file)
	require.False(t, ok)
	require.Equal(t, Unknown, LockHolder(file))
	require.Equal(t, Unknown, LockHolder(file+".missing"))

	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	pid, ok := LockedBy(file)
	require.True(t, ok)
	require.Equal(t, strconv.Itoa(os.Getpid()), pid)
	comm := must.ReadFile(t, "/proc/self/comm")
	require.Equal(t, fmt.Sprintf("%s (pid %d)", comm[:len(comm)-1], os.Getpid()), LockHolder(file))

	// The list of locks has 0 for a process of another container.
	proc := t.TempDir()
	info := must.Do(os.Stat(file))(t)
	require.NoError(t, os.WriteFile(filepath.Join(proc, "locks"), []byte(fmt.Sprintf(
		"1: POSIX  ADVISORY  WRITE 7 00:01:%[1]d 0 EOF\n2: FLOCK  ADVISORY  WRITE 0 00:01:%[1]d 0 EOF\n",
		info.Sys().(*syscall.Stat_t).Ino)), 0o600))
	_, ok = lockedBy(proc, file)
	require.False(t, ok)
}
