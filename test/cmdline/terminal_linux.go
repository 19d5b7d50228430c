package cmdline

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/must"
)

// OpenTerminal returns both ends of a new pseudo-terminal.
func OpenTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master = must.Do(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	raw := must.Do(master.SyscallConn())(t)
	var number int
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		number = must.Do(unix.IoctlGetInt(int(fd), unix.TIOCGPTN))(t)
	}))
	terminal = must.Do(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	return master, terminal
}
