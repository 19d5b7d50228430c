package cmdline

import (
	"bufio"
	"io"
	"net"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// Server is a server that runs inside of the test.
type Server struct {
	Ready string // the line that says it serves
	Addr  string
	code  chan int
	Log   *cluster.Output
}

// StartServer runs warren server with args and returns when it says that it serves.
func StartServer(t *testing.T, args ...string) *Server {
	t.Helper()
	r := &Server{code: make(chan int, 1), Log: new(cluster.Output)}
	read, write := io.Pipe()
	go func() {
		r.code <- cli.Run(cli.Root(serve.Commands()...), append([]string{"server"}, args...), write, r.Log)
		write.Close()
	}()
	line := must.Do(bufio.NewReader(read).ReadString('\n'))(t, "the server ended: %s", r.Log)
	r.Ready = line
	r.Addr = regexp.MustCompile(`(?:serves|listens for) clients on ([^ ,]+)`).FindStringSubmatch(line)[1]
	return r
}

// HangGuard is how long a test waits for what must come: far longer than it takes on a machine that is busy with
// other things.
const HangGuard = time.Minute

// Stop sends sig to this process and returns the exit code of the server.
func (r *Server) Stop(t *testing.T, sig syscall.Signal) int {
	t.Helper()
	require.NoError(t, syscall.Kill(os.Getpid(), sig))
	select {
	case code := <-r.code:
		return code
	case <-time.After(HangGuard):
		t.Fatalf("the server does not stop: %s", r.Log)
		return -1
	}
}

// Word asks the server a four-letter word.
func Word(t *testing.T, addr, word string) string {
	t.Helper()
	conn := must.Do(net.DialTimeout("tcp", addr, HangGuard))(t)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(HangGuard)))
	must.Do(io.WriteString(conn, word))(t)
	return string(must.ReadAll(t, conn))
}

// Answers returns the address of a port that serves connections with one answer each, the last one again and again.
func Answers(t *testing.T, texts ...string) string {
	t.Helper()
	ln := must.Listen(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := 0; ; i++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 4))
			_, _ = io.WriteString(c, texts[min(i, len(texts)-1)])
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-over })
	return ln.Addr().String()
}

// NotServing is what a server without a leader answers to srvr.
const NotServing = "This ZooKeeper instance is not currently serving requests\n"

// Srvr is what a server answers to the word srvr.
func Srvr(zxid, mode string) string {
	return "Zookeeper version: 3.9.0-warren, built on 2026-01-01\nLatency min/avg/max: 0/0.25/7\nReceived: 9\n" +
		"Sent: 8\nConnections: 3\nOutstanding: 2\nZxid: " + zxid + "\nMode: " + mode + "\nNode count: 5\n"
}

// Hostile returns the answers of a server that sends terminal escape sequences in reply to srvr (the first answer) and
// fact (the last).
func Hostile() []string {
	return []string{Srvr("0x100000001", "leader\x1b[2J"), "", "", "", "", `{"self":{"id":1,"instance":7,` +
		`"serving":true,"program":"Warren\u001b[2J","own":[{"severity":"warning","check":"x","server":1,` +
		`"what":"a\u001b[2J","remedy":"b\u009b2J"}]}}`}
}
