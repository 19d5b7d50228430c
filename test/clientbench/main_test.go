package clientbench

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

var serverFlag = flag.String("client.server", "", "server to measure, host:port; by default one is started")

// serveIn is the variable that makes this program a server, with its data in the directory that it names, until its input ends.
const serveIn = "WARREN_CLIENTBENCH_SERVE_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		serve(dir)
		return
	}
	os.Exit(m.Run())
}

func serve(dir string) {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort, cfg.MaxClientCnxns, cfg.DiskWatermark.Bytes = 0, 0, 0
	cfg.Admin.Enabled = false
	s := server.New(cfg, server.Options{})
	if err := s.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Stop()
}

// startServer returns the address of a server in a process of its own that ends with the test.
func startServer(t testing.TB) string {
	t.Helper()
	if *serverFlag != "" {
		return *serverFlag
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveIn+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}
