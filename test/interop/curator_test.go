//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// curatorJars are what the program needs, in Debian's folder.
var curatorJars = strings.Fields(
	`curator-client curator-framework curator-recipes curator-x-discovery zookeeper zookeeper-jute guava slf4j-api
	jackson-core jackson-databind jackson-annotations`)

func curatorClassPath(first string) string {
	path := []string{first}
	for _, jar := range curatorJars {
		path = append(path, filepath.Join("/usr/share/java", jar+".jar"))
	}
	return strings.Join(path, ":")
}

// agent is a Java program that does with Curator's recipes what it is told, one thing after the other.
type agent struct {
	t       *testing.T
	in      io.Writer
	answers chan string
	stderr  *bytes.Buffer
}

// startAgent starts the program against a server. It ends with the test.
func startAgent(t *testing.T, classes, server string) *agent {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
		curatorClassPath(classes), "Agent", server)
	a := &agent{t: t, answers: make(chan string, 1), stderr: new(bytes.Buffer)}
	cmd.Stderr = a.stderr
	in := must.Do(cmd.StdinPipe())(t)
	out := must.Do(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	a.in = in
	go func() {
		defer close(a.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.answers <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // the program ends with its input
		for range a.answers {
		}
		cancel()
		_ = cmd.Wait()
	})
	return a
}

// start tells the program to do something and does not wait.
func (a *agent) start(format string, args ...any) {
	a.t.Helper()
	must.Do(fmt.Fprintf(a.in, format+"\n", args...))(a.t, "%s", a.stderr)
}

// await expects what start has begun to end with a result.
func (a *agent) await(want string) {
	a.t.Helper()
	require.Equal(a.t, "OK "+want, a.answer())
}

func (a *agent) answer() string {
	a.t.Helper()
	select {
	case answer, ok := <-a.answers:
		require.True(a.t, ok, "the program has ended: %s", a.stderr)
		return answer
	case <-time.After(2 * time.Minute):
		require.Fail(a.t, "no answer", "%s", a.stderr)
		return ""
	}
}

// do is start and await.
func (a *agent) do(want, format string, args ...any) {
	a.t.Helper()
	a.start(format, args...)
	a.await(want)
}

// meeting is a Go client and a Java program at one server.
type meeting struct {
	*testing.T
	java *agent
	c    *client.Client
	root string // of the test
}

func (m *meeting) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	m.Cleanup(cancel)
	return ctx
}

// waits lets the client in Go wait for a lock.
func (m *meeting) waits(lock func(context.Context) (*recipes.Hold, error)) <-chan *recipes.Hold {
	granted := make(chan *recipes.Hold, 1)
	go func() {
		h, err := lock(m.ctx())
		assert.NoError(m, err)
		granted <- h
	}()
	return granted
}

// awaitChildren waits until a znode has n children.
func (m *meeting) awaitChildren(path string, n int) {
	m.Helper()
	for ctx := m.ctx(); ; {
		_, exists, created, err := m.c.ExistsW(ctx, path)
		require.NoError(m, err)
		if !exists {
			_, ok := created.Next(ctx)
			require.True(m, ok, "%s was never made", path)
			continue
		}
		created.Close()
		names, _, w, err := m.c.ChildrenW(ctx, path)
		require.NoError(m, err)
		if len(names) == n {
			w.Close()
			return
		}
		_, ok := w.Next(ctx)
		require.True(m, ok, "%s has the children %v, want %d", path, names, n)
	}
}

// dialForCurator returns a client whose states are told if the test fails. Its session survives long pauses of a busy
// machine.
func dialForCurator(t *testing.T, server string) *client.Client {
	t.Helper()
	var mu sync.Mutex
	var states []client.StateChange
	c, err := client.Dial(programContext(t), server,
		client.WithSessionTimeout(30*time.Second), client.WithHooks(client.Hooks{State: func(st client.StateChange) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, st)
		}}))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			for _, st := range states {
				t.Logf("%v client %v, session %v: %v", st.At.Format(time.TimeOnly), st.State, st.SessionID, st.Err)
			}
		}
	})
	return c
}

// TestCurator lets package recipes and Curator 5.4 use the same znodes, in both directions, against Warren and
// against ZooKeeper.
func TestCurator(t *testing.T) {
	classes := t.TempDir()
	compile(t, "javac", "-nowarn", "-cp", curatorClassPath(classes), "-d", classes,
		filepath.Join("testdata", "curator", "Agent.java"))
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		t.Run(string(kind), func(t *testing.T) {
			node := cluster.Start(t, cluster.Options{Kind: kind})
			c := dialForCurator(t, node.Addr())
			java := startAgent(t, classes, node.Addr())
			for _, tt := range []struct {
				name string
				run  func(m *meeting)
			}{
				{"InterProcessMutex", curatorMutex}, {"InterProcessReadWriteLock", curatorReadWriteLock},
				{"InterProcessMultiLock", curatorMultiLock}, {"Revoker", curatorRevoker},
				{"InterProcessSemaphoreV2", curatorSemaphore}, {"LeaderLatch", curatorLeaderLatch},
				{"LeaderSelector", curatorLeaderSelector}, {"DistributedBarrier", curatorBarrier},
				{"DistributedDoubleBarrier", curatorDoubleBarrier}, {"SharedCount", curatorSharedCount},
				{"SharedValue", curatorSharedValue}, {"DistributedAtomic", curatorAtomic},
				{"GroupMember", curatorGroupMember}, {"DistributedQueue", curatorQueue},
				{"DistributedPriorityQueue", curatorPriorityQueue}, {"DistributedDelayQueue", curatorDelayQueue},
				{"ServiceDiscovery", curatorDiscovery},
			} {
				t.Run(tt.name, func(t *testing.T) {
					java.t = t
					tt.run(&meeting{t, java, c, "/curator/" + tt.name})
				})
			}
		})
	}
}
