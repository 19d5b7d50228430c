package serve_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

// policies returns the scheduling policies of all threads of a process, each once.
func policies(t *testing.T, pid int) map[uint32]bool {
	t.Helper()
	threads := must.ReadDir(t, fmt.Sprintf("/proc/%d/task", pid))
	all := map[uint32]bool{}
	for _, thread := range threads {
		id := must.Atoi(t, thread.Name())
		if attr, err := unix.SchedGetAttr(id, 0); err == nil { // or else it has ended
			all[attr.Policy] = true
		}
	}
	return all
}

func TestServerIsScheduledAsBatch(t *testing.T) {
	for _, c := range []struct {
		want uint32
		args []string
	}{
		{unix.SCHED_BATCH, nil},
		{unix.SCHED_NORMAL, []string{"-D", "warren.scheduling=normal"}},
		{unix.SCHED_IDLE, nil}, // what an operator has chosen; last, because not every process may leave it
	} {
		cmd := cmdline.Process(t,
			append([]string{"server", "--data-dir", filepath.Join(t.TempDir(), "data"), "--client-port", "0"},
				c.args...)...)
		out := must.Do(cmd.StdoutPipe())(t)
		startAs(t, cmd, c.want)
		require.NoError(t, must.Err(bufio.NewReader(out).ReadString('\n')), "the server ended")
		require.Equal(t, map[uint32]bool{c.want: true}, policies(t, cmd.Process.Pid), "%v", c.args)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

// startAs starts cmd with the policy want, or the usual one if that is SCHED_BATCH.
func startAs(t *testing.T, cmd *exec.Cmd, want uint32) {
	t.Helper()
	if want == unix.SCHED_BATCH {
		want = unix.SCHED_NORMAL
	}
	startWith(t, cmd, want)
}

// startWith starts cmd with a policy.
func startWith(t *testing.T, cmd *exec.Cmd, policy uint32) {
	t.Helper()
	runtime.LockOSThread() // the process begins with the policy of the thread that makes it
	thread := unix.Gettid()
	before := must.Do(unix.SchedGetAttr(thread, 0))(t)
	attr := *before
	attr.Policy = policy
	require.NoError(t, unix.SchedSetAttr(thread, &attr, 0))
	require.NoError(t, cmd.Start())
	// If that policy cannot be left again, the thread ends with this goroutine.
	if unix.SchedSetAttr(thread, before, 0) == nil {
		runtime.UnlockOSThread()
	}
}
