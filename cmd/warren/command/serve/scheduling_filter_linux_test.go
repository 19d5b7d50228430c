package serve_test

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// filterVariable tells a process of this binary to forbid itself the system calls of systemd's @resources.
const filterVariable = "WARREN_TEST_WITHOUT_RESOURCES"

// resources are the system calls of systemd's group @resources: what SystemCallFilter=~@resources refuses. Source:
// systemd-analyze syscall-filter @resources, systemd 257.
var resources = []uint32{unix.SYS_IOPRIO_SET, unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SET_MEMPOLICY, unix.SYS_SETPRIORITY, unix.SYS_SETRLIMIT}

// forbidResources makes those system calls end with EPERM, in all threads, as the unit does.
func forbidResources() error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the system call
	for i, call := range resources {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call,
			Jt: uint8(len(resources) - i)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

func init() {
	if os.Getenv(filterVariable) == "" {
		return
	}
	if err := forbidResources(); err != nil {
		panic(err)
	}
}

// The unit lets no process choose its scheduling policy, and gives the server the one that it would choose. Where
// nobody gives it, the log says what that costs and what to do.
func TestScheduledAsBatchUnderTheFilterOfTheUnit(t *testing.T) {
	for _, given := range []uint32{unix.SCHED_BATCH, unix.SCHED_NORMAL} {
		log := filepath.Join(t.TempDir(), "log")
		cmd := cmdline.Process(t, "server", "--data-dir", filepath.Join(t.TempDir(), "data"), "--client-port", "0")
		cmd.Env = append(cmd.Environ(), filterVariable+"=1")
		out := must.Do(cmd.StdoutPipe())(t)
		errs := must.Do(os.Create(log))(t)
		cmd.Stderr = errs
		startWith(t, cmd, given)
		require.NoError(t, must.Err(bufio.NewReader(out).ReadString('\n')), "the server ended")
		require.Equal(t, map[uint32]bool{given: true}, policies(t, cmd.Process.Pid))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(t, errs.Close())
		text := must.ReadFile(t, log)
		const warning = "set CPUSchedulingPolicy=batch in the systemd unit, or warren.scheduling=normal"
		require.Equal(t, given == unix.SCHED_NORMAL, strings.Contains(string(text), warning), "%s", text)
	}
}
