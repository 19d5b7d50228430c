//go:build interop

package docs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The blocks of "Get started" in the README, as it is committed, do in a fresh clone, and with an archive that is made
// of it, what it says. They use the usual ports, and so have a network of their own.
func TestReadmeStarts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a network of one's own takes root")
	}
	clone := filepath.Join(t.TempDir(), "warren")
	must.Output(t, exec.Command("git", "clone", "-q", "../..", clone))
	readme := must.ReadFile(t, filepath.Join(clone, "README.md"))
	_, section, found := strings.Cut(string(readme), "\n## Get started\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```(?:sh|text)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	require.Len(t, blocks, 6, "two starts, what they say, three servers, a look at them, and ZooKeeper's files")
	net := newNetwork(t, clone)
	install := must.ReadFile(t, filepath.Join(clone, "docs/INSTALL.md"))
	source := regexp.MustCompile("(?s)\n## From source\n.*?```sh\n(.*?)```").FindSubmatch(install)
	require.NotNil(t, source)
	require.Regexp(t, `(?m)^warren \S+`, net.run(t, string(source[1])))

	unpacked := &network{net.name, t.TempDir()}
	net.run(t, "make release LINUX=linux/"+runtime.GOARCH+" && cp dist/*.tar.gz "+unpacked.folder)
	for i, place := range []*network{unpacked, net} {
		one := place.start(t, blocks[i])
		one.says(t, "\ntry ")
		said := one.output()
		folder := clone
		if place == unpacked {
			folder = strings.TrimSpace(place.run(t, "cd warren-*/ && pwd"))
		}
		for line := range strings.Lines(blocks[2]) {
			line = regexp.QuoteMeta(strings.ReplaceAll(strings.TrimSpace(line), "/home/you/warren", folder))
			line = strings.Replace(line, `warren v0\.1\.0`, `warren \S+`, 1)
			require.Regexp(t, `(?m)^`+line+`$`, said)
		}
		require.Contains(t, net.run(t, "curl -fsSL http://127.0.0.1:8080/console/"), "<html")
		require.Contains(t, net.run(t, "curl -fsSL http://127.0.0.1:8080/docs/"), "Twenty")
		one.interrupt(t)
	}

	three := net.start(t, blocks[3])
	three.says(t, "servers")
	require.Eventually(t, func() bool { return net.command(blocks[4]).Run() == nil }, hang, time.Second)
	lines := strings.Split(strings.TrimSpace(net.run(t, blocks[4])), "\n")
	require.Equal(t, "[zookeeper]", lines[len(lines)-1])
	require.Regexp(t, `(?m)^healthy$`, strings.Join(lines, "\n"))
	three.interrupt(t)

	// the files of a ZooKeeper server, where this machine has none
	folder := t.TempDir()
	config := filepath.Join(folder, "zoo.cfg")
	require.NoError(t, os.WriteFile(config,
		fmt.Appendf(nil, "tickTime=2000\ndataDir=%s/a\nclientPort=2181\n", folder), 0o600))
	for line := range strings.Lines(blocks[5]) {
		server := net.start(t, strings.NewReplacer("/etc/zookeeper/conf/zoo.cfg", config,
			"/var/lib/zookeeper", folder+"/b").Replace(line))
		server.says(t, "serves clients on")
		server.interrupt(t)
	}
}

// network is one of its own, with a folder in which commands run.
type network struct{ name, folder string }

func newNetwork(t *testing.T, folder string) *network {
	t.Helper()
	n := &network{fmt.Sprintf("warren-docs-%d", os.Getpid()), folder}
	for _, words := range [][]string{{"netns", "add", n.name}, {"-n", n.name, "link", "set", "lo", "up"}} {
		must.Output(t, exec.Command("ip", words...))
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", n.name).Run() })
	return n
}

func (n *network) command(block string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", n.name, "sh", "-euc", block)
	cmd.Dir = n.folder
	cmd.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run returns what a block prints.
func (n *network) run(t *testing.T, block string) string {
	t.Helper()
	out := must.Do(n.command(block).Output())(t, block)
	return string(out)
}

// hang is when nothing is waited for any more: on a busy machine a build alone takes minutes.
const hang = 10 * time.Minute

// process is a block that stays in the foreground.
type process struct {
	cmd   *exec.Cmd
	keys  io.Writer
	ended chan error

	mu   sync.Mutex // guards what follows
	said bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ReplaceAll(p.said.String(), "\r", "")
}

// start runs a block on a terminal, as a reader does: script(1) makes one.
func (n *network) start(t *testing.T, block string) *process {
	t.Helper()
	p := &process{cmd: n.command(`exec script -qefc "$0" /dev/null`), ended: make(chan error, 1)}
	p.cmd.Args = append(p.cmd.Args, strings.TrimSpace(block))
	p.cmd.Stdout, p.cmd.Stderr = p, p
	keys := must.Do(p.cmd.StdinPipe())(t)
	p.keys = keys
	require.NoError(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) })
	return p
}

// says waits until it prints a text.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(50 * time.Millisecond) {
		said := p.output()
		select {
		case err := <-p.ended:
			require.FailNow(t, "it has ended", "%v: %s", err, said)
		default:
		}
		if strings.Contains(said, text) {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s", said)
	}
}

// interrupt is Ctrl-C.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	must.Do(p.keys.Write([]byte{3}))(t)
	select {
	case <-p.ended:
	case <-time.After(hang):
		require.FailNow(t, "it does not end", "%s", p.output())
	}
}
