//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// This file has the clients that write while something happens to their servers: those of others, as programs in
// testdata, and two for Go. Each session has an ephemeral znode, into which it writes one number after the other. By
// the versions it knows that each write is done once and in order, and how many of those were done that were lost.

// load is how the clients write.
type load struct {
	sessions int
	pause    time.Duration // after the answers
	window   int           // requests that a session has in flight
}

func (l load) args(servers string) []string {
	return []string{servers, strconv.Itoa(l.sessions), strconv.FormatInt(l.pause.Milliseconds(), 10),
		strconv.Itoa(l.window)}
}

// seen is what a session has seen from its start on.
type seen struct {
	done     int // requests that were acknowledged
	lost     int // that failed, because the connection was lost
	executed int // of those, that were executed nevertheless
	ends     int // connections that the program was told to have ended
	wrong    int // all else that went wrong
}

func (s seen) plus(o seen) seen {
	return seen{s.done + o.done, s.lost + o.lost, s.executed + o.executed, s.ends + o.ends, s.wrong + o.wrong}
}

func (s seen) minus(o seen) seen {
	return seen{s.done - o.done, s.lost - o.lost, s.executed - o.executed, s.ends - o.ends, s.wrong - o.wrong}
}

// view is what a session has seen.
type view struct {
	seen
	port    int           // of the server that it is connected to
	silence time.Duration // the longest time between two answers since the last view
}

// writers are the sessions of one kind of client.
type writers interface {
	// look returns a function that returns what each session has seen, as soon as each has been answered once more
	// since the call of look.
	look() (views func() []view)
	// end ends the sessions, and returns what each has seen.
	end() []view
}

// startWriters starts several kinds of clients on an ensemble.
func startWriters(t *testing.T, nodes []*cluster.Node, l load, kinds ...string) map[string]writers {
	t.Helper()
	addrs := cluster.Addrs(nodes)
	servers := strings.Join(addrs, ",")
	ctx := t.Context()
	classes := t.TempDir()
	java := func(source, class string) writers {
		compile(t, "javac", "-nowarn", "-cp", curatorClassPath(classes), "-d", classes,
			filepath.Join("testdata", source))
		// The folder of the node has a logging configuration.
		return startProgram(t, exec.CommandContext(ctx, "java", append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-cp",
			curatorClassPath(classes) + ":" + nodes[0].Dir() + ":/usr/share/java/slf4j-nop.jar", class},
			l.args(servers)...)...))
	}
	all := map[string]writers{}
	for _, kind := range kinds {
		switch kind {
		case "Java":
			all[kind] = java("java/Rolling.java", "Rolling")
		case "Curator":
			all[kind] = java("curator/RollingCurator.java", "RollingCurator")
		case "kazoo":
			all[kind] = startProgram(t, exec.CommandContext(ctx, "/usr/bin/python3",
				append([]string{filepath.Join("testdata", "kazoo", "rolling.py")}, l.args(servers)...)...))
		case "C":
			all[kind] = startProgram(t, exec.CommandContext(ctx, compileC(t, "rolling"), l.args(servers)...))
		case "go-zookeeper":
			all[kind] = startSessions(t, l, func(t *testing.T, s *session) { s.openGozk(t, addrs) })
		case "Warren":
			all[kind] = startSessions(t, l, func(t *testing.T, s *session) { s.openOurs(t, servers) })
		}
	}
	return all
}

// program is a program in testdata with several sessions.
type program struct{ *conversation }

// startProgram starts a program that writes until its input ends. It returns when all sessions are open.
func startProgram(t *testing.T, cmd *exec.Cmd) program {
	t.Helper()
	p := program{converse(t, cmd)}
	p.expect("ready")
	return p
}

func (p program) look() (views func() []view) {
	p.t.Helper()
	p.tell("")
	return p.views
}

func (p program) end() []view {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	views := p.views()
	p.ends()
	if slices.ContainsFunc(views, func(v view) bool { return v.wrong > 0 }) {
		p.t.Logf("%s", &p.stderr)
	}
	return views
}

// views reads a line with what each session has seen.
func (p program) views() (all []view) {
	p.t.Helper()
	for words := range slices.Chunk(strings.Fields(p.expect("")), 7) {
		var v view
		var us int64
		_, err := fmt.Sscan(strings.Join(words, " "), &v.port, &v.done, &v.lost, &v.executed, &v.ends, &v.wrong, &us)
		require.NoError(p.t, err, p.lines.Text())
		v.silence = time.Duration(us) * time.Microsecond
		all = append(all, v)
	}
	return all
}

// sessions are several sessions of a client for Go.
type sessions struct {
	all     []*session
	stop    atomic.Bool
	running sync.WaitGroup
}

// session is one of them, with a znode of its own.
type session struct {
	load
	path string
	// Of the client: set returns the new version, and get the data and the version of the znode.
	set   func(data []byte) (version int32, err error)
	get   func() (data []byte, version int32, err error)
	addr  func() string // of its server
	close func()
	// mayBeLost reports whether an error says no more than that the connection was lost.
	mayBeLost func(err error) bool

	version     int32
	sent, acked int // the numbers that were written: the last one, and the last that was acknowledged
	heard       time.Time

	mu     sync.Mutex // guards what follows
	view   view
	rounds int
	over   bool
}

// startSessions is startProgram for Go. open connects a session and makes its znode, with the number 0.
func startSessions(t *testing.T, l load, open func(*testing.T, *session)) *sessions {
	t.Helper()
	a := &sessions{}
	for i := range l.sessions {
		s := &session{load: l, path: strconv.Itoa(i), heard: time.Now()}
		open(t, s)
		a.all = append(a.all, s)
	}
	for _, s := range a.all {
		a.running.Go(func() { s.run(&a.stop) })
	}
	return a
}

func (a *sessions) look() (views func() []view) {
	var until []int
	for _, s := range a.all {
		until = append(until, s.round()+2) // the first of them may have begun before
	}
	return func() (all []view) {
		for i, s := range a.all {
			for s.round() < until[i] && !s.ended() {
				time.Sleep(time.Millisecond)
			}
		}
		for _, s := range a.all {
			all = append(all, s.look())
		}
		return all
	}
}

func (a *sessions) end() (all []view) {
	a.stop.Store(true)
	a.running.Wait()
	for _, s := range a.all {
		all = append(all, s.look())
	}
	return all
}

func (s *session) look() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	s.view.silence = 0
	return v
}

func (s *session) round() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rounds
}

func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func (s *session) note(what func(*view)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.view)
}

func (s *session) run(stop *atomic.Bool) {
	for !stop.Load() {
		if lost := s.write(); lost > 0 {
			s.check()
		}
		port := portOf(s.addr())
		s.mu.Lock()
		s.view.port, s.rounds = port, s.rounds+1
		s.mu.Unlock()
		time.Sleep(s.pause)
	}
	s.check()
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// write has as many writes in flight at once as the load says, and returns how many were lost.
func (s *session) write() (lost int) {
	type answer struct {
		version int32
		err     error
	}
	answers := make(chan answer, s.window)
	first := s.sent + 1
	for range s.window {
		s.sent++
		data := strconv.AppendInt(nil, int64(s.sent), 10)
		go func() {
			version, err := s.set(data)
			answers <- answer{version, err}
		}()
	}
	var versions []int32
	for range s.window {
		switch a := <-answers; {
		case a.err == nil:
			versions = append(versions, a.version)
		case s.mayBeLost(a.err):
			lost++
		default:
			s.note(func(v *view) { v.wrong++ })
		}
	}
	s.note(func(v *view) { v.done, v.lost = v.done+len(versions), v.lost+lost })
	slices.Sort(versions) // goroutines take turns as they like
	for _, version := range versions {
		s.acked = first
		s.holds(version, 1)
	}
	return lost
}

// holds is called for each version that a server tells: each write that was executed makes one. Those that were not
// acknowledged were lost.
func (s *session) holds(version int32, acknowledged int) {
	more := int(version-s.version) - acknowledged
	now := time.Now()
	silence := now.Sub(s.heard)
	s.version, s.heard = version, now
	s.note(func(v *view) {
		v.executed += more
		if more < 0 || v.executed > v.lost {
			v.wrong++
		}
		v.silence = max(v.silence, silence)
	})
}

// check compares the znode with what was written, as soon as a server answers.
func (s *session) check() {
	for {
		data, version, err := s.get()
		if err != nil && s.mayBeLost(err) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		number, _ := strconv.Atoi(string(data))
		if err != nil || number < s.acked || number > s.sent {
			s.note(func(v *view) { v.wrong++ })
			return
		}
		s.holds(version, 0)
		return
	}
}

// portOf returns the port of an address, 0 if there is none.
func portOf(addr string) int {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

// openGozk makes the session one of go-zookeeper.
func (s *session) openGozk(t *testing.T, addrs []string) {
	t.Helper()
	var closed, had atomic.Bool // had: it has a connection, whose end it tells at each attempt
	conn, _, err := zk.Connect(addrs, 30*time.Second, zk.WithLogger(quiet{}),
		zk.WithEventCallback(func(e zk.Event) {
			switch {
			case e.State == zk.StateHasSession:
				had.Store(true)
			case e.State == zk.StateDisconnected && had.Swap(false) && !closed.Load():
				s.note(func(v *view) { v.ends++ })
			}
		}))
	require.NoError(t, err)
	s.path = "/go-" + s.path
	must.Do(conn.Create(s.path, []byte("0"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	s.set = func(data []byte) (int32, error) {
		stat, err := conn.Set(s.path, data, -1)
		if err != nil {
			return 0, err
		}
		return stat.Version, nil
	}
	s.get = func() ([]byte, int32, error) {
		data, stat, err := conn.Get(s.path)
		if err != nil {
			return nil, 0, err
		}
		return data, stat.Version, nil
	}
	s.addr = conn.Server
	s.close = func() { closed.Store(true); conn.Close() }
	s.mayBeLost = func(err error) bool {
		return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
	}
}

// openOurs makes the session one of package client.
func (s *session) openOurs(t *testing.T, servers string) {
	t.Helper()
	c, err := client.New(servers, client.WithSessionTimeout(30*time.Second), client.WithHooks(client.Hooks{
		State: func(st client.StateChange) {
			if st.State == client.Disconnected {
				s.note(func(v *view) { v.ends++ })
			}
		}}))
	require.NoError(t, err)
	s.path = "/ours-" + s.path
	must.Do(c.Create(t.Context(), s.path, []byte("0"), client.Ephemeral))(t)
	s.set = func(data []byte) (int32, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		stat, err := c.Set(ctx, s.path, data, client.AnyVersion)
		return stat.Version, err
	}
	s.get = func() ([]byte, int32, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		data, stat, err := c.Get(ctx, s.path)
		return data, stat.Version, err
	}
	s.addr = func() string { return c.State().Server }
	s.close = func() { _ = c.Close() } // what it has to say was said by set
	s.mayBeLost = func(err error) bool { return errors.Is(err, client.ErrConnectionLoss) }
}
