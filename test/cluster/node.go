package cluster

import (
	"bytes"
	"cmp"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// startTimeout bounds the wait for a server that was started. On a machine that does much else a JVM alone takes a
// minute.
const startTimeout = 3 * time.Minute

// stopTimeout is how long a server may take to end in order.
const stopTimeout = 20 * time.Second

// Node is one server. Its methods are not safe for concurrent use, except Addr, Kill and Pid.
type Node struct {
	t       testing.TB
	options Options
	dir     string // zoo.cfg and the process's log
	dataDir string
	port    int
	id      int      // myid, 0 alone
	members []member // nil alone

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
	log    *os.File
}

type member struct {
	id, peerPort, electionPort, clientPort int
	host, name, second                     string
	observer, joiner                       bool
}

// New returns a node that is not started. It is killed when the test ends.
func New(t testing.TB, o Options) *Node {
	t.Helper()
	if o.Kind == "" {
		o.Kind = Warren
	}
	dir := must.Do(os.MkdirTemp("", "warren-cluster-"))(t)
	n := &Node{t: t, options: o, dir: dir, dataDir: o.Dir, port: o.Port}
	if n.port == 0 {
		n.port = FreePort(t)
	}
	if n.dataDir == "" {
		n.dataDir = filepath.Join(dir, "data")
	}
	t.Cleanup(n.cleanup)
	return n
}

// Start returns a standalone node that serves.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	n := New(t, o)
	n.Start()
	return n
}

// Ensemble returns one node for each of o, not started, that know each other.
func Ensemble(t testing.TB, o ...Options) []*Node {
	t.Helper()
	var nodes []*Node
	var members []member
	for i := range o {
		n := New(t, o[i])
		n.id = i + 1
		nodes = append(nodes, n)
		members = append(members, member{i + 1, FreePort(t), FreePort(t), n.port, o[i].host(), o[i].Name, o[i].Second,
			o[i].Observer, o[i].Joiner})
	}
	for _, n := range nodes {
		n.members = members
	}
	return nodes
}

// StartEnsemble is Ensemble and StartAll.
func StartEnsemble(t testing.TB, o ...Options) []*Node {
	t.Helper()
	nodes := Ensemble(t, o...)
	StartAll(nodes...)
	return nodes
}

// StartAll starts the processes of nodes and returns when all of them serve.
func StartAll(nodes ...*Node) {
	for _, n := range nodes {
		n.t.Helper()
		n.Launch()
	}
	for _, n := range nodes {
		n.WaitServing()
	}
}

// Addrs returns the client addresses of nodes.
func Addrs(nodes []*Node) []string {
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// Addr returns the client address.
func (n *Node) Addr() string { return net.JoinHostPort(n.options.host(), strconv.Itoa(n.port)) }

// ElectionAddr returns the address of the election port; "" alone.
func (n *Node) ElectionAddr() string {
	if m := n.self(); m != nil {
		return net.JoinHostPort(m.host, strconv.Itoa(m.electionPort))
	}
	return ""
}

// LearnerAddr returns the address at which learners find the server when it leads; "" alone.
func (n *Node) LearnerAddr() string {
	if m := n.self(); m != nil {
		return net.JoinHostPort(m.host, strconv.Itoa(m.peerPort))
	}
	return ""
}

// ID returns the server id, 0 alone.
func (n *Node) ID() int { return n.id }

// Log returns all that the process has written.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Wipe removes what the node has on its disk. It must have ended.
func (n *Node) Wipe() {
	n.t.Helper()
	n.mustHaveEnded()
	require.NoError(n.t, os.RemoveAll(n.version2()))
}

// Become makes the node a server of another kind, on its data and in its place in the ensemble. It must have ended.
func (n *Node) Become(kind Kind) {
	n.t.Helper()
	n.mustHaveEnded()
	n.options.Kind = kind
}

// Use makes a Warren node run another binary from its next start on; "" is the one that Binary returns. It must have
// ended.
func (n *Node) Use(binary string) {
	n.t.Helper()
	n.mustHaveEnded()
	n.options.Binary = binary
}

// Running reports whether the process is there.
func (n *Node) Running() bool { return n.running() }

// Kind returns which server this is.
func (n *Node) Kind() Kind { return n.options.Kind }

// DataDir returns the dataDir of zoo.cfg.
func (n *Node) DataDir() string { return n.dataDir }

// Dir returns the directory of zoo.cfg and the log.
func (n *Node) Dir() string { return n.dir }

// Pid returns the process id, 0 before the first start.
func (n *Node) Pid() int {
	if n.cmd == nil {
		return 0
	}
	return n.cmd.Process.Pid
}

// Start starts the process and returns when it serves.
func (n *Node) Start() {
	n.t.Helper()
	n.Launch()
	n.WaitServing()
}

// Launch starts the process and does not wait.
func (n *Node) Launch() {
	n.t.Helper()
	if n.running() {
		n.t.Fatalf("cluster: %v is running", n.Addr())
	}
	require.NoError(n.t, n.writeFiles())
	log := must.Do(os.OpenFile(n.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(n.t)
	n.log = log
	n.cmd = n.command()
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.Dir = n.dir
	n.cmd.SysProcAttr = procAttr()
	if err := n.cmd.Start(); err != nil {
		n.t.Fatalf("cluster: start %v: %v", n.options.Kind, err)
	}
	n.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // the state is read by the caller
		log.Close()
		close(exited)
	}(n.cmd, n.exited)
}

func (n *Node) command() *exec.Cmd {
	cfg := filepath.Join(n.dir, "zoo.cfg")
	if n.options.Kind == Warren {
		binary := n.options.Binary
		if binary == "" {
			binary = Binary(n.t)
		}
		cmd := n.inNamespace(binary, "server", "--config", cfg)
		cmd.Env = append(os.Environ(), n.options.Env...)
		return cmd
	}
	args := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if n.options.JVM != nil {
		args = slices.Clone(n.options.JVM)
	}
	for k, v := range n.options.Properties {
		args = append(args, "-D"+k+"="+v)
	}
	args = append(args, "-cp", n.dir+":"+cmp.Or(n.options.ClassPath, ClassPath()),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg)
	return n.inNamespace("java", args...)
}

// ClassPath is the class path of Debian's ZooKeeper.
func ClassPath() string { return strings.Join(jars, ":") }

// jars are the class path of ZooKeeper. Debian's manifest forgets netty-codec, without which the class of TLS cannot
// be loaded: a server with sslQuorum then leaves its election listener at the first connection, and says nothing of
// the reason.
var jars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/netty-codec.jar",
	"/usr/share/java/netty-resolver.jar", "/usr/share/java/servlet-api.jar", "/usr/share/java/slf4j-log4j12.jar",
	"/usr/share/java/log4j-1.2.jar"}

// inNamespace is a command that runs in the node's network namespace and with its resolv.conf, if it has them.
func (n *Node) inNamespace(name string, args ...string) *exec.Cmd {
	if file := n.options.ResolvConf; file != "" {
		name, args = "unshare",
			append([]string{"--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, file, name},
				args...)
	}
	if n.options.Namespace == "" {
		return exec.Command(name, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", n.options.Namespace, name}, args...)...)
}

// Mode returns the mode with which srvr answers, such as "leader"; "" if the server does not serve.
func (n *Node) Mode() string { return ModeAt(n.Addr()) }

// ModeAt is the Mode of the server at an address.
func ModeAt(addr string) string {
	text, _ := wire.FourLetter(addr, "srvr", time.Second)
	_, text, _ = strings.Cut(text, "Mode: ")
	mode, _, _ := strings.Cut(text, "\n")
	return mode
}

// Serves reports whether the server has a Mode.
func (n *Node) Serves() bool { return n.Mode() != "" }

// WaitServing returns when Serves.
func (n *Node) WaitServing() {
	n.t.Helper()
	watch := NewWatch()
	for watch.Elapsed() < startTimeout {
		if n.Serves() {
			return
		}
		select {
		case <-n.exited:
			n.t.Fatalf("cluster: %v on %v ended while starting: %v\n%s", n.Kind(), n.Addr(),
				n.cmd.ProcessState, n.logTail())
		case <-time.After(watch.pause()):
		}
	}
	n.t.Fatalf("cluster: %v on %v does not serve after %v\n%s", n.Kind(), n.Addr(), startTimeout, n.logTail())
}

// Exited is closed when the process is gone.
func (n *Node) Exited() <-chan struct{} { return n.exited }

// ExitCode waits for the end of the process and returns its exit code, -1 if a signal has ended it.
func (n *Node) ExitCode() int {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(stopTimeout):
		n.t.Fatalf("cluster: %v on %v does not end\n%s", n.Kind(), n.Addr(), n.logTail())
	}
	return n.cmd.ProcessState.ExitCode()
}

// Kill sends SIGKILL and waits for the end.
func (n *Node) Kill() {
	if n.running() {
		n.signal(syscall.SIGKILL)
		<-n.exited
		if n.Kind() == ZooKeeper {
			n.removeEmptyLogs()
		}
	}
}

// removeEmptyLogs does what the operator of a ZooKeeper server has to: one that is killed between creating a log and
// writing its head does not start again.
func (n *Node) removeEmptyLogs() {
	logs := must.Glob(n.t, filepath.Join(n.dataDir, "version-2", "log.*"))
	for _, name := range logs {
		if info, err := os.Stat(name); err == nil && info.Size() == 0 {
			n.t.Logf("cluster: %v on %v was killed with %s empty, which is removed", n.Kind(), n.Addr(), name)
			if err := os.Remove(name); err != nil {
				n.t.Error(err)
			}
		}
	}
}

// Stop sends SIGTERM and waits for the end; after stopTimeout it kills, and the test fails.
func (n *Node) Stop() {
	n.t.Helper()
	if !n.running() {
		return
	}
	n.signal(syscall.SIGTERM)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for watch := NewWatch(); watch.Elapsed() < stopTimeout; {
		select {
		case <-n.exited:
			return
		case <-tick.C:
		}
	}
	n.Kill()
	n.t.Errorf("cluster: %v on %v did not end after SIGTERM", n.Kind(), n.Addr())
}

// Pause stops the process with SIGSTOP, and returns when each of its threads has stopped.
func (n *Node) Pause() {
	n.t.Helper()
	n.signal(syscall.SIGSTOP)
	Eventually(n.t, n.stopped, 10*time.Second, "the process does not stop")
}

// stopped reports whether no thread of the process runs: a thread that runs on another processor when the signal is
// sent goes on for a moment.
func (n *Node) stopped() bool {
	stats, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(n.cmd.Process.Pid), "task", "*", "stat"))
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, _ := bytes.Cut(stat, []byte(") ")) // behind the name of the program
		if len(rest) == 0 || !bytes.ContainsRune([]byte("TtZX"), rune(rest[0])) {
			return false
		}
	}
	return true
}

// Resume lets a paused process go on.
func (n *Node) Resume() { n.signal(syscall.SIGCONT) }

// As returns a node of another kind on the same data directory. n must have ended.
func (n *Node) As(kind Kind) *Node {
	n.t.Helper()
	n.mustHaveEnded()
	o := n.options
	o.Kind, o.Dir = kind, n.dataDir
	return New(n.t, o)
}

func (n *Node) running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

func (n *Node) signal(s syscall.Signal) {
	if err := n.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Errorf("cluster: %v to %v: %v", s, n.Addr(), err)
	}
}

func (n *Node) logPath() string { return filepath.Join(n.dir, "server.log") }

// logTail returns the end of the process's log.
func (n *Node) logTail() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(text, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-40):], []byte("\n")))
}

func (n *Node) cleanup() {
	n.Kill()
	if n.t.Failed() {
		n.t.Logf("%v on %v: files are kept in %s (data in %s); its log ends with\n%s",
			n.Kind(), n.Addr(), n.dir, n.dataDir, n.logTail())
		return
	}
	os.RemoveAll(n.dir)
}
