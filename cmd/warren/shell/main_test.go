package shell

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

var update = flag.Bool("update", false, "write the transcript of docs/SHELL.md anew")

// address is the server of all tests; each has a subtree of its own, or a server.
var address string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shell")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s := startServer(dir)
	address = s.Addr().String()
	code := m.Run()
	s.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		return 1
	}
	return code
}

// newRelay returns a way to the server from an address.
func newRelay(t *testing.T, addr string) *relay.Relay {
	t.Helper()
	l := must.Do(net.Listen("tcp", addr))(t)
	r := relay.On(l, address)
	t.Cleanup(r.Close)
	return r
}

func startServer(dir string) *server.Server {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort = 0
	cfg.PreAllocSizeKB = 0
	cfg.ExtendedTypes = true
	cfg.MaxClientCnxns = 0
	cfg.DiskWatermark.Bytes = 0
	cfg.Admin.Enabled = false
	s := server.New(cfg, server.Options{})
	if err := s.Start(); err != nil {
		panic(err)
	}
	return s
}

// tried is a Shell whose output is kept.
type tried struct {
	*Shell
	t        testing.TB
	out, err *cluster.Output
}

func open(t testing.TB, o Options) *tried {
	t.Helper()
	x := &tried{t: t, out: new(cluster.Output), err: new(cluster.Output)}
	o.Out, o.Err = x.out, x.err
	if o.Servers == "" {
		o.Servers = address
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.ConnectWait == 0 {
		o.ConnectWait = time.Minute
	}
	o.Version = "9.9.9-test"
	s := must.Do(New(o))(t)
	x.Shell = s
	t.Cleanup(s.Close)
	return x
}

// quiet opens a Shell that prints results only.
func quiet(t testing.TB) *tried { return open(t, Options{Quiet: true}) }

// do runs a line and returns what it has printed and its exit code.
func (x *tried) do(line string) (stdout, stderr string, code int) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	x.line(ctx, line)
	return x.out.Take(), x.err.Take(), x.code
}

// must runs lines that succeed, and returns what the last one has printed.
func (x *tried) must(lines ...string) (stdout string) {
	x.t.Helper()
	for _, line := range lines {
		out, errs, code := x.do(line)
		require.Zero(x.t, code, "%s\n%s%s", line, out, errs)
		stdout = out
	}
	return stdout
}

// fails runs a line that fails, and returns why.
func (x *tried) fails(line string) (stderr string) {
	x.t.Helper()
	out, stderr, code := x.do(line)
	require.Equal(x.t, codeFailed, code, "%s\n%s%s", line, out, stderr)
	return stderr
}

// roots counts the subtrees of tests, so that tests can be repeated.
var roots atomic.Int32

// newRoot returns a path that no other test uses.
func newRoot(t testing.TB) string {
	return fmt.Sprintf("/%s-%d", strings.ToLower(t.Name()), roots.Add(1))
}

// tree makes a subtree of the test's own and returns its path.
func (x *tried) tree(children ...string) string {
	x.t.Helper()
	root := newRoot(x.t)
	x.must("create " + root)
	for _, c := range children {
		x.must("create " + root + c)
	}
	return root
}
