package docs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/cmd/warren/command/zkscripts"
	"github.com/seed94657493/warren/test/must"
)

// asCommand in the environment makes the test binary the command warren.
const asCommand = "WARREN_TEST_AS_COMMAND"

// patience is when the blocks of one page are taken to hang. On an idle machine they need a few seconds, on one with
// forty times as much work as processors three minutes.
const patience = 10 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main(zkscripts.Arguments(os.Args), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// tens are the ports that pages may name in blocks that run, and those that warren dev adds to them, without their
// last digit: pages write 2181, and 218$n.
var tens = []int{218, 318, 418, 518, 618, 808}

// port finds them.
var port = regexp.MustCompile(`\b(218|318|418|518|618|808)(\d\b|\$)`)

// Blocks that are marked to run do what the page says.
func TestPagesRun(t *testing.T) {
	ran, pages := 0, readPages(t)
	for _, p := range pages {
		if len(p.blocks) == 0 {
			continue
		}
		ran++
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			out, err := runPage(t, page{name: p.name, files: p.files,
				blocks: append(stepsBefore(t, p, pages), p.blocks...)})
			require.NoError(t, err, "%s", out)
		})
	}
	require.Positive(t, ran, "no page has a block that runs: is parsePage broken?")
}

// stepsBefore are the blocks under "You do" of the page that comes first, and of those before it.
func stepsBefore(t *testing.T, p page, pages []page) (steps []block) {
	t.Helper()
	if p.first == "" {
		return nil
	}
	i := slices.IndexFunc(pages, func(other page) bool { return other.name == p.first })
	require.GreaterOrEqual(t, i, 0, "%s: there is no page %s", p.name, p.first)
	steps = stepsBefore(t, pages[i], pages)
	for _, b := range pages[i].blocks {
		if b.under == "You do" {
			steps = append(steps, b)
		}
	}
	return steps
}

// A command that fails fails the page, and its line is told.
func TestRunPageFails(t *testing.T) {
	out, err := runPage(t, page{name: "a.md",
		blocks: []block{
			{1, "", "warren version | grep -q '^warren '\n"}, {7, "", "warren nonsense\necho after\n"}}})
	require.Error(t, err)
	require.Contains(t, out, "== a.md:7")
	require.Contains(t, out, `unknown command "nonsense"`)
	require.NotContains(t, out, "after")
}

// runPage runs the blocks of a page and ends whatever they leave running.
func runPage(t *testing.T, p page) (string, error) {
	t.Helper()
	self := must.Do(os.Executable())(t)
	bin, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "warren")))
	var script strings.Builder
	for _, b := range p.blocks {
		fmt.Fprintf(&script, "echo '== %s:%d' >&2\n%s", p.name, b.at, b.text)
	}
	move := portMover(t)
	for _, f := range p.files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(move(f.text)), 0o600))
	}
	output, err := os.Create(filepath.Join(bin, "output")) // a file, so that nothing waits for background processes
	require.NoError(t, err)
	defer output.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", move(script.String()))
	cmd.Dir = dir
	// Under the race detector each of the many processes would sleep a second before it ends.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0",
		"PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir)
	cmd.Env = append(cmd.Env, goEnvironment(t)...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Start()
	if err == nil {
		err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its group: what runs in the background
	}
	b, readErr := os.ReadFile(output.Name())
	require.NoError(t, readErr)
	if err != nil {
		b = append(b, logsOf(t, dir)...)
	}
	return string(b), err
}

// goEnvironment lets programs of the pages use the packages of this repository, and what was compiled before.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	work := must.Abs(t, "../../go.work")
	environment := []string{"GOWORK=" + work, "CGO_ENABLED=0"}
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} {
		out := must.Do(exec.Command("go", "env", name).Output())(t)
		environment = append(environment, name+"="+strings.TrimSpace(string(out)))
	}
	return environment
}

// logsOf is the ends of the logs that the servers of a page have left in subdirectories.
func logsOf(t *testing.T, dir string) (text []byte) {
	t.Helper()
	names := must.Glob(t, filepath.Join(dir, "*", "log"))
	for _, name := range names {
		b := must.ReadFile(t, name)
		text = fmt.Appendf(text, "== %s ends with\n%s\n", name, b[max(0, len(b)-4000):])
	}
	return text
}

// distances are where the ports of pages go, in tens: above those of cluster.FreePort, and below those that the
// kernel takes by itself. Pages that run at the same time get one after the other, and no two within 90 have a port
// in common.
var distances = func() *atomic.Int64 {
	var next atomic.Int64
	next.Store(2182 + rand.Int64N(190))
	return &next
}()

// portMover writes other ports for those that pages name, at one distance from them, which are free.
func portMover(t *testing.T) func(text string) string {
	t.Helper()
	for range 90 {
		distance := int(distances.Add(1))
		if !free(distance) {
			continue
		}
		return func(text string) string {
			return port.ReplaceAllStringFunc(text, func(s string) string {
				return strconv.Itoa(must.Atoi(t, s[:3])+distance) + s[3:]
			})
		}
	}
	require.Fail(t, "no free ports")
	return nil
}

// free reports whether no process listens on the ports of the pages, or the first of them, at a distance in tens.
func free(distance int) bool {
	for _, ten := range tens {
		for digit := range 5 {
			ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa((ten+distance)*10+digit)))
			if err != nil {
				return false
			}
			ln.Close()
		}
	}
	return true
}

func TestPortsAreMoved(t *testing.T) {
	moved := portMover(t)("a:2181 b:218$n 21810 12181 808$n 2888")
	m := regexp.MustCompile(`^a:(\d{4})1 b:(\d{4})\$n 21810 12181 (\d{4})\$n 2888$`).FindStringSubmatch(moved)
	require.NotNil(t, m, moved)
	require.Equal(t, m[1], m[2])
}
