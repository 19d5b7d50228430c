package clientbench

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

var serverFlag = flag.String("client.server", "",
	"connect string of the servers to measure; by default some are started")

// Variables that make this program a number of servers, with their data in the directory that is named, until its
// input ends.
const (
	serveIn = "WARREN_CLIENTBENCH_SERVE_IN"
	serveN  = "WARREN_CLIENTBENCH_SERVERS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		if err := serve(dir, os.Getenv(serveN)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs servers on the disk, with no faults and no short times.
func serve(dir, servers string) error {
	n, err := strconv.Atoi(servers)
	if err != nil {
		return err
	}
	e, err := embed.New(embed.Options{Servers: n, Dir: dir, TickTime: time.Second,
		Configure: func(_ int, cfg *config.Config) {
			cfg.DiskWatermark.Bytes = 0
		}})
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Println(e.ConnectString())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// startServers returns the connect string of n servers, in one process of their own that ends with the test.
func startServers(t testing.TB, n int) string {
	t.Helper()
	if *serverFlag != "" {
		return *serverFlag
	}
	self := must.Do(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveIn+"="+t.TempDir(), serveN+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	input := must.Do(cmd.StdinPipe())(t)
	output := must.Do(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	return strings.TrimSpace(must.Do(bufio.NewReader(output).ReadString('\n'))(t))
}
