package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/must"
)

// nothingEnv makes the test binary a do-nothing server on a loopback port, which it prints, until
// its input ends.
const nothingEnv = "WARREN_BENCH_NOTHING"

func TestMain(m *testing.M) {
	if os.Getenv(nothingEnv) == "" {
		goleak.VerifyTestMain(m)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	serveFake(l, nothing())
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startNothing runs a do-nothing server in a process of its own.
func startNothing(tb testing.TB) (addr string, pid int) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nothingEnv+"=1")
	stdin := must.Do(cmd.StdinPipe())(tb)
	stdout := must.Do(cmd.StdoutPipe())(tb)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line := make([]byte, 64)
	n := must.Do(stdout.Read(line))(tb)
	return strings.TrimSpace(string(line[:n])), cmd.Process.Pid
}

// BenchmarkNothing measures the load generator against a server that only answers: what is left
// of a core is what servers may use. load-ns/op is the generator's CPU time.
func BenchmarkNothing(b *testing.B) {
	for _, c := range []struct {
		connections, outstanding int
		mix                      string
	}{{1, 1, "get=1"}, {64, 1, "get=1"}, {16, 64, "get=1"}, {16, 64, "set=1"}, {16, 64, "get=90,set=10"}} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.mix, c.connections, c.outstanding), func(b *testing.B) {
			addr, _ := startNothing(b)
			f, err := newFleet(context.Background(), &dialer{servers: []string{addr}, timeoutMs: 30000, dial: dialTCP},
				c.connections, nil)
			require.NoError(b, err)
			defer f.close()
			t, err := newTree("/warren-bench-00000000", 1000, 0)
			require.NoError(b, err)
			rec := newRecorder(false)
			rec.open(0)
			choose := newChooser(mustMix(c.mix))
			per := b.N/c.connections + 1
			var before, after unix.Rusage
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
			d := &drive{window: c.outstanding, rec: rec, source: func(lane int) requester {
				return &limited{newMixture(t, choose, Size{128, 128}, 1, lane), per}
			}}
			b.ReportAllocs()
			b.ResetTimer()
			require.NoError(b, f.finish(context.Background(), d))
			b.StopTimer()
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
			total := rec.collect().total()
			require.EqualValues(b, per*c.connections, total.Latency.TotalCount())
			cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(total.Latency.TotalCount())/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64(cpu)/float64(b.N), "load-ns/op")
			b.ReportMetric(float64(total.Latency.ValueAtQuantile(50))/float64(time.Microsecond), "p50-us")
		})
	}
}

// limited is a requester that ends after n requests.
type limited struct {
	requester
	n int
}

func (l *limited) next(b []byte, xid int32) ([]byte, Kind, bool) {
	if l.n == 0 {
		return b, 0, false
	}
	l.n--
	return l.requester.next(b, xid)
}
