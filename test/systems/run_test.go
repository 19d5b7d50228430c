//go:build systems

package systems

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

var (
	killEvery = flag.Duration("systems.every", 12*time.Second, "time between two kills of a leader")
	kills     = flag.Int("systems.kills", 8, "how many leaders are killed while a system works")
	toRecord  = flag.Bool("systems.record", false, "write record.json and docs/SYSTEMS.md")
	together  = flag.Bool("systems.together", false, "run a system on both kinds of servers at the same time")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Main(m))
}

// system is one system of this folder.
type system struct {
	entry
	limit    time.Duration     // of one run
	every    time.Duration     // the least time between two kills of a leader
	kills    int               // the least number of kills
	memory   int               // MiB that one of its processes may have at most
	settings map[string]string // of the servers, besides those that all runs have
	once     sync.Once         // sets Client
	// run starts the system on an ensemble and gives it work while leaders are killed.
	run func(*run)
}

// apart are settings of servers that keep clients away from the leader.
var apart = map[string]string{"leaderServes": "no", "warren.priorityPauseMs": "2000"}

// systems are in the order of the page.
var systems = []*system{kafka, solr, flink, spark, storm, hbase, accumulo, hdfs, yarn, helix, dubbo,
	pulsar, druid, pinot, nifi, shardingsphere, clickhouse, curator, kazoo}

// TestSystems runs each system on both kinds of servers, one after the other.
func TestSystems(t *testing.T) {
	var mu sync.Mutex
	outcomes := map[string]int{}
	for _, s := range systems {
		t.Run(s.Name, func(t *testing.T) {
			s.entry.Version = releases(t)[s.Name].Version
			s.Results = []result{{Server: "Warren", Outcome: "skipped"}, {Server: "ZooKeeper", Outcome: "skipped"}}
			var before [2]result
			if *toRecord {
				// What this run leaves out by -test.run stays as it was.
				if old := s.recorded(t); old != nil && old.Version == s.entry.Version {
					copy(before[:], old.Results)
					s.Client, s.Results = old.Client, old.Results
				}
				t.Cleanup(func() { save(t, &s.entry) }) // after both sides
			}
			for side, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
				t.Run(string(kind), func(t *testing.T) {
					if *together {
						t.Parallel()
					}
					defer func() {
						mu.Lock()
						defer mu.Unlock()
						s.Results[side].follow(before[side])
						outcomes[s.Results[side].Outcome]++
					}()
					s.on(t, side, kind)
				})
			}
		})
	}
	t.Logf("%d passed, %d failed, %d skipped", outcomes["passed"], outcomes["failed"], outcomes["skipped"])
}

// run is one run of a system on an ensemble.
type run struct {
	*testing.T
	system *system
	lib    string // the files of the release
	dir    string // for the data of the system
	nodes  []*cluster.Node
	result result
	procs  []*process

	classPath string   // of its programs in Java
	env       []string // of its programs, besides that of the tests
	// before is called before each kill of a leader, unless it is nil.
	before  func()
	crowded int // how many leaders had clients when they were killed, though leaders serve nobody
}

// on runs the system on servers of one kind, and leaves what it has shown in Results.
func (s *system) on(t *testing.T, side int, kind cluster.Kind) {
	x := &run{T: t, system: s, dir: t.TempDir()}
	began := time.Now()
	x.result = result{Server: "Warren", Date: began.UTC().Format(time.DateOnly)}
	whole := false
	defer func() { // also if the test fails, panics or is skipped
		x.result.Seconds, x.result.Outcome = int(time.Since(began).Seconds()), "passed"
		switch {
		case t.Skipped():
			x.result.Outcome, x.result.Reason = "skipped", "its files cannot be fetched"
		case t.Failed() || !whole:
			x.result.Outcome = "failed"
		}
		s.Results[side] = x.result
	}()
	options := cluster.Options{Kind: kind, Settings: map[string]string{"extendedTypesEnabled": "true"}}
	maps.Copy(options.Settings, s.settings)
	if kind == cluster.ZooKeeper {
		lib, release := fetch(t, "zookeeper")
		options.ClassPath, x.result.Server = filepath.Join(lib, "*"), "ZooKeeper "+release.Version
	}
	var r release
	x.lib, r = fetch(t, s.Name)
	x.classPath = filepath.Join(x.lib, "*")
	client := r.Client
	if client == "" {
		client = clientInside(t, x.lib)
	}
	s.once.Do(func() { s.Client = client })
	x.nodes = cluster.Ensemble(t, options, options, options)
	for _, n := range x.nodes {
		n.Launch()
	}
	x.eventually("all servers serve", x.allServe)
	// Some programs log with log4j, others with slf4j-simple.
	x.write("log4j2.properties", `rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = Console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c - %m%n
`)
	began = time.Now() // what was fetched does not count
	s.run(x)
	for _, p := range x.procs {
		p.end()
	}
	if s.settings["leaderServes"] == "no" {
		x.felt("leaders that had clients when they were killed", "%d", x.crowded)
	}
	require.NotEmpty(t, x.result.Checks, "the program has checked nothing")
	for _, c := range x.result.Checks {
		require.True(t, c.OK, "%s: %s", c.Name, c.Detail)
	}
	whole = true
}

// connect is the connection string of the ensemble.
func (x *run) connect() string { return strings.Join(cluster.Addrs(x.nodes), ",") }

// leader is the server that all others follow; nil if there is none, or one of the others is not back yet. A leader
// that serves no clients does not tell its mode.
func (x *run) leader() (leader *cluster.Node) {
	for _, n := range x.nodes {
		text, err := wire.FourLetter(n.Addr(), "srvr", time.Second)
		switch {
		case err == nil && strings.Contains(text, "Mode: follower"):
		case err != nil || leader != nil:
			return nil
		default:
			leader = n
		}
	}
	return leader
}

func (x *run) allServe() bool { return x.leader() != nil }

// felt notes what a user of the system felt.
func (x *run) felt(name, format string, args ...any) {
	x.result.Felt = append(x.result.Felt, figure{name, fmt.Sprintf(format, args...)})
}

// get is the data of a znode, as one of the servers has it.
func (x *run) get(path string) (data string, err error) {
	data, _, err = x.read(path)
	return data, err
}

// version is how often the data of a znode was written since it was created.
func (x *run) version(path string) (version int) {
	x.eventually(path, func() bool {
		_, stat, err := x.read(path)
		version = int(stat.Version)
		return err == nil
	})
	return version
}

func (x *run) read(path string) (data string, stat proto.Stat, err error) {
	err = x.ask(func(c *wire.Conn) error {
		var b []byte
		b, stat, err = c.GetData(path, false)
		data = string(b)
		return err
	})
	return data, stat, err
}

// ask asks one server after the other until one answers without an error.
func (x *run) ask(question func(*wire.Conn) error) (err error) {
	for _, n := range x.nodes {
		var c *wire.Conn
		if c, err = wire.Dial(n.Addr(), wire.Options{TimeoutMs: 10_000}); err != nil {
			continue
		}
		err = question(c)
		_ = c.CloseSession()
		if err == nil {
			return nil
		}
	}
	return err
}

// first is the data of the child with the lowest sequence number, "" if there is none: that of the client that leads.
func (x *run) first(path string) (data string) {
	_ = x.ask(func(c *wire.Conn) error {
		all, err := c.Children(path, false)
		if err != nil || len(all) == 0 {
			return err
		}
		number := func(child string) string { return child[max(0, len(child)-10):] }
		child := slices.MinFunc(all, func(a, b string) int { return strings.Compare(number(a), number(b)) })
		b, _, err := c.GetData(path+"/"+child, false)
		data = string(b)
		return err
	})
	return data
}

// process is a program of a system.
type process struct {
	x     *run
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // of the standard output; closed when it ends
	done  chan error
}

// start starts a program. What it writes is in a file of its name.
func (x *run) start(name, program string, args ...string) *process {
	x.Helper()
	log := must.Do(os.OpenFile(filepath.Join(x.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(x)
	p := &process{x: x, name: name, cmd: exec.Command(program, args...), lines: make(chan string, 1000),
		done: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Env = x.dir, log, append(os.Environ(), x.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p.in = must.Do(p.cmd.StdinPipe())(x)
	out := must.Do(p.cmd.StdoutPipe())(x)
	require.NoError(x, p.cmd.Start())
	x.procs = append(x.procs, p)
	x.Cleanup(p.end)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			fmt.Fprintln(log, s.Text())
			if word, _, _ := strings.Cut(s.Text(), " "); slices.Contains([]string{"ready", "check", "felt"}, word) {
				p.lines <- s.Text()
			}
		}
		_, _ = io.Copy(io.Discard, out) // after a line that is too long
		close(p.lines)
		p.done <- p.cmd.Wait()
		log.Close()
	}()
	return p
}

// failOver kills the process of a system that leads, waits until another one does, and starts the first one again.
// leader reports whether one leads, and notes in leads which.
func (x *run) failOver(what string, all []*process, leads *int, leader func() bool, start func(int) *process) {
	x.eventually("one leads: "+what, leader)
	killed := *leads
	all[killed].kill()
	x.eventually("another one leads: "+what, func() bool { return leader() && *leads != killed })
	all[killed] = start(killed)
}

// java starts a program of a release in a JVM with a heap of so many MiB.
func (x *run) java(name string, heap int, args ...string) *process {
	return x.start(name, "java", append([]string{fmt.Sprintf("-Xmx%dm", heap), "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dlog4j.configurationFile=" + filepath.Join(x.dir, "log4j2.properties"), "-cp", x.classPath}, args...)...)
}

// compile puts the classes of source files, and Control, into the class path. It returns their folder.
func (x *run) compile(sources ...string) (classes string) {
	x.Helper()
	classes = filepath.Join(x.dir, "classes")
	args := []string{"-cp", x.classPath, "-d", classes}
	for _, s := range append([]string{"Control.java"}, sources...) {
		path := must.Abs(x, s)
		args = append(args, path)
	}
	require.NoError(x, tool(x.T, x.dir, "javac", args...))
	x.classPath = classes + ":" + x.classPath
	return classes
}

// finish waits until a program has ended, which must be well.
func (p *process) finish() {
	p.x.Helper()
	for range p.lines {
	}
	err := <-p.done
	p.done <- err
	require.NoError(p.x, err, "%s\n%s", p.name, p.tail())
}

// ended tells whether a program has ended.
func (p *process) ended() bool {
	select {
	case err := <-p.done:
		p.done <- err
		return true
	default:
		return false
	}
}

// ended is how many of these programs have ended.
func ended(all ...[]*process) (count int) {
	for _, p := range slices.Concat(all...) {
		if p.ended() {
			count++
		}
	}
	return count
}

// revive starts those of a group of programs again that have ended by themselves, and returns how many that were.
func revive(group []*process, start func(int) *process) (count int) {
	for i, p := range group {
		if p.ended() {
			group[i] = start(i)
			count++
		}
	}
	return count
}

// kill ends a program, and those that it has started, at once.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	for range p.lines { // so that its reader does not wait
	}
	p.done <- <-p.done
}

// end ends a program if it runs, and checks how much memory it has had.
func (p *process) end() {
	p.kill()
	usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if ok && usage.Maxrss>>10 > int64(p.x.system.memory) {
		p.x.Errorf("%s has had %d MiB of memory: the limit is %d", p.name, usage.Maxrss>>10, p.x.system.memory)
	}
}

// tail is the end of what a program has written.
func (p *process) tail() string {
	text, err := os.ReadFile(filepath.Join(p.x.dir, p.name+".log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-6000):])
}

// eventually waits until ok, within the limit of the run.
func (x *run) eventually(what string, ok func() bool) {
	x.Helper()
	cluster.Eventually(x.T, ok, x.system.limit, "%s", what)
}

// drive waits until a program is ready, and kills leaders while it works. In the middle, unless half is nil, it
// says mark to the program and calls half; after the last kill it says stop, and returns when the program has ended.
func (x *run) drive(p *process, half func()) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), x.system.limit)
	defer cancel()
	x.await(ctx, p)
	most := max(*kills, x.system.kills)
	for x.result.Kills < most {
		if half != nil && x.result.Kills >= most/2 {
			x.tell(p, "mark")
			half()
			half = nil
		}
		x.pause(ctx, p, max(*killEvery, x.system.every))
		if x.before != nil {
			x.before()
		}
		leader := x.victim()
		for leader == nil { // a server that was killed is not back yet
			x.pause(ctx, p, 200*time.Millisecond)
			leader = x.victim()
		}
		leader.Kill()
		x.result.Kills++
		leader.Launch()
	}
	x.eventually("all servers serve again", x.allServe)
	x.tell(p, "stop")
	for {
		select {
		case line, open := <-p.lines:
			if open {
				x.take(line)
				continue
			}
			err := <-p.done
			p.done <- err
			require.NoError(x, err, "%s\n%s", p.name, p.tail())
			return
		case <-ctx.Done():
			x.Fatalf("%s does not end within %v\n%s", p.name, x.system.limit, p.tail())
		}
	}
}

// victim is the leader, nil if there is none or one of the others is not back yet. Where leaders serve nobody it is
// one without clients, unless that takes long: a server with clients may be elected, and hands over a little later.
func (x *run) victim() *cluster.Node {
	leader := x.leader()
	if x.system.settings["leaderServes"] != "no" {
		return leader
	}
	for long := time.Now().Add(30 * time.Second); leader != nil && connections(x, leader) > 0; leader = x.leader() {
		if time.Now().After(long) {
			x.crowded++
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return leader
}

// connections is how many connections of clients a server has.
func connections(t testing.TB, n *cluster.Node) (count int) {
	port := must.Port(t, n.Addr())
	number := must.Atoi(t, port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text := must.ReadFile(t, table)
		for line := range strings.Lines(string(text)) {
			const established = "01"
			f := strings.Fields(line) // number, local address, remote address, state
			if len(f) > 3 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", number)) && f[3] == established {
				count++
			}
		}
	}
	return count
}

// await waits until a program is ready.
func (x *run) await(ctx context.Context, p *process) {
	x.Helper()
	select {
	case _, open := <-p.lines:
		if !open {
			x.Fatalf("%s has ended while starting\n%s", p.name, p.tail())
		}
	case <-ctx.Done():
		x.Fatalf("%s is not ready after %v\n%s", p.name, x.system.limit, p.tail())
	}
}

// pause waits for a time, and takes what a program prints.
func (x *run) pause(ctx context.Context, p *process, d time.Duration) {
	x.Helper()
	next := time.NewTimer(d)
	defer next.Stop()
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				x.Fatalf("%s has ended too early\n%s", p.name, p.tail())
			}
			x.take(line)
		case <-next.C:
			return
		case <-ctx.Done():
			x.Fatalf("%s has worked for %v\n%s", p.name, x.system.limit, p.tail())
		}
	}
}

func (x *run) tell(p *process, word string) {
	x.Helper()
	must.Do(io.WriteString(p.in, word+"\n"))(x, p.name)
}

// take notes a line of a program.
func (x *run) take(line string) {
	x.Log(line)
	head, rest, _ := strings.Cut(line, ": ")
	if name, ok := strings.CutPrefix(head, "felt "); ok {
		x.felt(name, "%s", rest)
	} else if name, ok := strings.CutPrefix(head, "check "); ok {
		verdict, detail, _ := strings.Cut(rest, " ")
		x.result.Checks = append(x.result.Checks, check{name, verdict == "ok", detail})
	}
}

// recorded is the entry of the system in the record, nil if there is none.
func (s *system) recorded(t *testing.T) *entry {
	for _, e := range readRecord(t).Systems {
		if e.Name == s.Name {
			return e
		}
	}
	return nil
}

// save replaces the entry of a system in the record, and the results on the page.
func save(t *testing.T, e *entry) {
	r := readRecord(t)
	var all []*entry
	for _, s := range systems { // in their order
		i := slices.IndexFunc(r.Systems, func(old *entry) bool { return old.Name == s.Name })
		switch {
		case s.Name == e.Name:
			all = append(all, e)
		case i >= 0:
			all = append(all, r.Systems[i])
		}
	}
	r.Systems = all
	text := must.Do(json.MarshalIndent(r, "", "  "))(t)
	require.NoError(t, os.WriteFile(recordFile, append(text, '\n'), 0o644))
	before, _ := parts(t)
	require.NoError(t, os.WriteFile(pageFile, []byte(before+r.results()), 0o644))
}
