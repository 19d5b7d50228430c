package serve_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// piped is a server in a process of its own whose standard output and standard error are pipes, as under a log
// shipper, and which logs an error at each SIGHUP: its file has a problem when it is read again.
type piped struct {
	t            *testing.T
	cmd          *exec.Cmd
	out, err     *os.File
	addr         string
	admin        string
	ended        chan error
	outPipe, log *bufio.Reader
}

func startPiped(t *testing.T, more ...string) *piped {
	t.Helper()
	dir, admin := t.TempDir(), cluster.FreePort(t)
	file := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("dataDir=%s\nclientPort=0\nclientPortAddress=127.0.0.1\nadmin.serverAddress=127.0.0.1\n"+
		"admin.serverPort=%d\n%s\n", dir, admin, strings.Join(more, "\n"))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s := &piped{t: t, cmd: cmdline.Process(t, "server", file), admin: fmt.Sprintf("http://127.0.0.1:%d", admin),
		ended: make(chan error, 1)}
	pipe := func(at *io.Writer) *os.File {
		r, w := must.Do2(os.Pipe())(t)
		t.Cleanup(func() { r.Close(); w.Close() })
		must.Do(unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, 4096))(t)
		*at = w
		return r
	}
	s.out, s.err = pipe(&s.cmd.Stdout), pipe(&s.cmd.Stderr)
	s.outPipe, s.log = bufio.NewReader(s.out), bufio.NewReader(s.err)
	require.NoError(t, s.cmd.Start())
	require.NoError(t, s.cmd.Stdout.(*os.File).Close()) // so that the pipe ends with the server
	require.NoError(t, s.cmd.Stderr.(*os.File).Close())
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	for s.addr == "" { // records of the audit log may be in front of it
		line := must.Do(s.outPipe.ReadString('\n'))(t)
		if found := regexp.MustCompile(`serves clients on ([^ ,]+)`).FindStringSubmatch(line); found != nil {
			s.addr = found[1]
		}
	}
	var problems strings.Builder // one long line of the log, so that few are enough
	for i := range 5000 {
		fmt.Fprintf(&problems, "server.%d=x\n", i)
	}
	require.NoError(t, os.WriteFile(file, []byte(problems.String()), 0o600))
	return s
}

// logUntilLost makes the server log until it counts lost lines.
func (s *piped) logUntilLost() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGHUP))
		return s.lost() > 0
	}, cmdline.HangGuard, time.Millisecond)
}

// lost is how many lines the server has lost, as it says.
func (s *piped) lost() int {
	s.t.Helper()
	client := http.Client{Timeout: cmdline.HangGuard}
	answer, err := client.Get(s.admin + "/metrics")
	require.NoError(s.t, err, "the server has ended")
	defer answer.Body.Close()
	body := must.ReadAll(s.t, answer.Body)
	found := regexp.MustCompile(`(?m)^warren_server_log_lines_lost_total (\d+)$`).FindSubmatch(body)
	require.NotNil(s.t, found, "%s", body)
	return must.Atoi(s.t, string(found[1]))
}

// stops ends the server in order, which exits with code 0.
func (s *piped) stops() {
	s.t.Helper()
	require.Contains(s.t, cmdline.Word(s.t, s.addr, "srvr"), "Mode: standalone")
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-s.ended:
		require.NoError(s.t, err)
	case <-time.After(cmdline.HangGuard):
		s.t.Fatal("the server does not stop")
	}
}

// The readers of both outputs end, as a log shipper does that is restarted. ZooKeeper goes on without its log.
func TestServerOutlivesTheReaderOfItsLog(t *testing.T) {
	for name, ignored := range map[string]bool{"SIGPIPE as usual": false, "SIGPIPE ignored by the parent": true} {
		t.Run(name, func(t *testing.T) {
			if ignored {
				signal.Ignore(syscall.SIGPIPE)
				t.Cleanup(func() { signal.Reset(syscall.SIGPIPE) })
			}
			s := startPiped(t)
			require.NoError(t, s.out.Close())
			require.NoError(t, s.err.Close())
			s.logUntilLost()
			s.stops()
		})
	}
}

// A reader that stands still holds up neither clients nor the end. When it reads again, it learns what it has missed.
func TestServerOutlivesAReaderThatDoesNotRead(t *testing.T) {
	s := startPiped(t)
	s.logUntilLost()
	s.stops()
	s = startPiped(t)
	s.logUntilLost()
	for {
		line := must.Do(s.log.ReadString('\n'))(t)
		if m := regexp.MustCompile(`log lines were lost: .*"lines": (\d+)`).FindStringSubmatch(line); m != nil {
			require.NotEqual(t, "0", m[1])
			break
		}
		if strings.Contains(line, "SIGHUP") {
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
		}
	}
	go func() { _, _ = io.Copy(io.Discard, s.log) }()
	s.stops()
}

// Audit lines wait for a reader of standard output, and hold up requests, but not the end.
func TestServerEndsThoughNobodyReadsItsAuditLog(t *testing.T) {
	s := startPiped(t, "audit.enable=true", "audit.file=-")
	c := wire.Open(t, s.addr, wire.Options{})
	for range 100 { // lines of more bytes than the pipe takes
		c.MustCreate(t, "/n-", nil, proto.ModePersistentSequential)
	}
	c.Close()
	s.stops()
}

// kill -3 shows what the server does, as of a JVM, and ends nothing.
func TestQuitWritesTheStacks(t *testing.T) {
	s := startPiped(t)
	c := must.Do(wire.Dial(s.addr, wire.Options{}))(t) // all its goroutines have begun
	c.Close()
	for range 2 {
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGQUIT))
		var stacks bytes.Buffer
		for !strings.Contains(stacks.String(), "SIGQUIT: end of the stacks") {
			line, err := s.log.ReadString('\n')
			require.NoError(t, err, "%s", &stacks)
			stacks.WriteString(line)
		}
		require.Regexp(t, `SIGQUIT: the stacks of \d+ goroutines\n`, stacks.String())
		require.Contains(t, stacks.String(), "serve.(*Front)")
		require.Contains(t, stacks.String(), "goroutine 1 [")
	}
	s.stops()
}
