package recipes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// lockerVariable makes this program a locker: "servers register", the connect string and the address of the register.
const lockerVariable = "WARREN_TEST_LOCKER"

// lockPath is the lock of all lockers.
const lockPath = "/locks/register"

// runLocker takes the lock again and again and adds one to the register while it holds it, until the register is
// gone. It does not look at the Context of its Hold: the register is what must tell. It ends with its input, which is
// its parent's: whatever becomes of the test, no locker stays behind.
func runLocker(run string) (code int) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	servers, register, _ := strings.Cut(run, " ")
	nc, err := net.Dial("tcp", register)
	if err != nil {
		return 1
	}
	defer nc.Close()
	answers := bufio.NewReader(nc)
	ask := func(format string, args ...any) (value int, isFenced bool, err error) {
		if _, err := fmt.Fprintf(nc, format, args...); err != nil {
			return 0, false, err
		}
		_, err = fmt.Fscanf(answers, "%d %t\n", &value, &isFenced)
		return value, isFenced, err
	}
	for {
		c, err := client.Dial(context.Background(), servers, client.WithSessionTimeout(sessionTimeout3),
			client.WithBackoff(time.Millisecond, 50*time.Millisecond))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for !errors.Is(err, client.ErrSessionExpired) {
			var h *recipes.Hold
			if h, err = recipes.NewMutex(c, lockPath).Lock(context.Background()); err != nil {
				continue // another try shows if it is worth one
			}
			value, isFenced, err := ask("read %d %d\n", h.Token(), os.Getpid())
			if err == nil && !isFenced {
				_, _, err = ask("write %d %d\n", h.Token(), value+1)
			}
			if err != nil {
				return 0 // the register is gone: the test is over
			}
			_ = h.Release(context.Background()) // the session may be over
		}
		_ = c.Close()
	}
}

// registry serves a Register to lockers.
type registry struct {
	Register
	listener net.Listener
	running  sync.WaitGroup
	reads    chan reading  // of lockers, each before it is answered
	over     chan struct{} // closed at the end

	mu      sync.Mutex
	conns   []net.Conn
	written int
	refused map[client.Zxid]bool // tokens whose write was refused
}

// reading is a locker that has just read. It is answered when done is called.
type reading struct {
	token client.Zxid
	pid   int
	done  chan struct{}
}

func newRegistry(t *testing.T) *registry {
	l := must.Listen(t)
	g := &registry{listener: l, reads: make(chan reading), over: make(chan struct{}), refused: map[client.Zxid]bool{}}
	g.running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			g.mu.Lock()
			g.conns = append(g.conns, nc)
			g.mu.Unlock()
			g.running.Go(func() { g.serve(t, nc) })
		}
	})
	return g
}

// serve answers one locker. Its lines are "read token pid" and "write token value".
func (g *registry) serve(t *testing.T, nc net.Conn) {
	defer nc.Close()
	in := bufio.NewReader(nc)
	for {
		var what string
		var token client.Zxid
		var value int
		if _, err := fmt.Fscanf(in, "%s %d %d\n", &what, &token, &value); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) &&
				!errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a locker says nonsense: %v", err)
			}
			return
		}
		var err error
		if what == "read" {
			r := reading{token, value, make(chan struct{})}
			if value, err = g.Read(token); err == nil && !g.tell(r) {
				return
			}
		} else {
			err = g.Write(token, value)
			g.mu.Lock()
			if err == nil {
				g.written++
			} else {
				g.refused[token] = true
			}
			g.mu.Unlock()
		}
		if _, err := fmt.Fprintf(nc, "%d %t\n", value, err != nil); err != nil {
			return
		}
	}
}

// tell reports a reading and waits until it may be answered. It returns false at the end.
func (g *registry) tell(r reading) bool {
	select {
	case g.reads <- r:
		select {
		case <-r.done:
			return true
		case <-g.over:
		}
	case <-g.over:
	}
	return false
}

func (g *registry) wasRefused(token client.Zxid) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused[token]
}

func (g *registry) close() {
	close(g.over)
	_ = g.listener.Close()
	g.mu.Lock()
	for _, nc := range g.conns {
		_ = nc.Close()
	}
	g.mu.Unlock()
	g.running.Wait()
}

// lockers is processes that want the lock.
type lockers struct {
	*testing.T
	*registry
	environment string
	processes   map[int]*locker
}

// locker is a process, and what keeps it alive.
type locker struct {
	*exec.Cmd
	life io.Closer
}

// end waits for a process that was told to end.
func (p *locker) end() {
	_ = p.Wait() // it was killed
	_ = p.life.Close()
}

// spawn starts one more.
func (l *lockers) spawn() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), l.environment)
	cmd.Stderr = os.Stderr
	life := must.Do(cmd.StdinPipe())(l)
	require.NoError(l, cmd.Start())
	l.processes[cmd.Process.Pid] = &locker{cmd, life}
}

// kill ends one, which holds the lock or has just done so.
func (l *lockers) kill(pid int) {
	cmd := l.processes[pid]
	delete(l.processes, pid)
	if l.Failed() { // show what it waits for
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGQUIT)
	} else {
		require.NoError(l, cmd.Process.Kill())
	}
	cmd.end()
}

// next waits until a locker has read, which takes a session timeout if the holder before was killed.
func (l *lockers) next() reading {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for watch := cluster.NewWatch(); watch.Elapsed() < time.Minute; {
		select {
		case r := <-l.reads:
			return r
		case <-poll.C:
		}
	}
	require.Fail(l, "nobody is granted the lock")
	return reading{}
}

// stop stops a holder until another has read, and lets it write then.
func (l *lockers) stop(held reading) {
	require.NoError(l, syscall.Kill(held.pid, syscall.SIGSTOP))
	var status syscall.WaitStatus
	must.Do(syscall.Wait4(held.pid, &status, syscall.WUNTRACED, nil))(l)
	require.True(l, status.Stopped())
	close(held.done) // the answer waits for it
	later := l.next()
	require.NotEqual(l, held.pid, later.pid)
	require.Greater(l, later.token, held.token)
	close(later.done)
	require.NoError(l, syscall.Kill(held.pid, syscall.SIGCONT))
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for watch := cluster.NewWatch(); !l.wasRefused(held.token); {
		select {
		case r := <-l.reads:
			close(r.done)
		case <-poll.C:
			require.Less(l, watch.Elapsed(), time.Minute, "the locker that was stopped says nothing")
		}
	}
}

// Lockers are processes, which are killed and stopped while they hold the lock, at an ensemble in trouble. A process
// that was stopped for too long and goes on is fenced off by the register, and no update is lost.
func TestLockersThatAreKilledAndStopped(t *testing.T) {
	seed := seedOf(t)
	n := startTrouble(t, seed, 5000)
	r := rand.New(rand.NewPCG(seed, 1))
	g := newRegistry(t)
	l := &lockers{t, g, lockerVariable + "=" + n.ConnectString() + " " + g.listener.Addr().String(), map[int]*locker{}}
	end := sync.OnceFunc(func() {
		for pid := range l.processes {
			l.kill(pid)
		}
		g.close()
	})
	defer end()
	for range 4 {
		l.spawn()
	}
	over := time.Now().Add(*duration)
	reads, kills, stops := 0, 0, 0
	next := 3 // read after which something happens
	for last := client.Zxid(0); kills == 0 || stops == 0 || time.Now().Before(over); reads++ {
		held := l.next()
		require.GreaterOrEqual(t, held.token, last)
		last = held.token
		switch {
		case reads < next:
			close(held.done)
			continue
		case kills <= stops:
			l.kill(held.pid)
			close(held.done)
			l.spawn()
			kills++
		default:
			l.stop(held)
			stops++
		}
		next = reads + 1 + r.IntN(15)
	}
	end()
	n.calm()
	value, refused := g.Final()
	t.Logf("%d grants, %d kills, %d stops, %d updates, %d refused; faults: %v", reads, kills, stops,
		value, refused, n.faults)
	require.GreaterOrEqual(t, refused, stops)
	require.Equal(t, g.written, value, "an update was lost")
}
