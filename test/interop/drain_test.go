//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
)

var drainLoad = flag.String("interop.drain", "",
	"pause in ms and requests in flight of the clients of TestDrainedServers, as 50,1; empty is several loads")

// seen is what clients have seen of a rolling restart.
type seen struct {
	done     int // requests that were acknowledged
	lost     int // that failed, because the connection was lost
	executed int // of those, that were executed nevertheless
	ends     int // connections that the program was told to have ended
	wrong    int // all else that went wrong
}

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

// TestDrainedServers drains and restarts five servers, one after the other, while clients write. No session ends,
// each request that fails was not executed, no request of Warren's client fails, and of clients that pause for 300 ms
// hardly one. A client of Java fails what it is asked within 100 ms after the end of its connection, so that of
// shorter pauses it loses a request with each connection; it fails what waits, too, if the server that it tries next
// is drained as well. What each client has seen is in the log.
func TestDrainedServers(t *testing.T) {
	loads := []load{{8, 50 * time.Millisecond, 1}, {8, 300 * time.Millisecond, 1}, {8, 0, 1}, {8, 0, 16}}
	if *drainLoad != "" {
		var ms, window int
		_, err := fmt.Sscanf(*drainLoad, "%d,%d", &ms, &window)
		require.NoError(t, err)
		loads = []load{{8, time.Duration(ms) * time.Millisecond, window}}
	}
	for _, l := range loads {
		t.Run(fmt.Sprintf("pause %v, %d in flight", l.pause, l.window), func(t *testing.T) {
			for name, s := range rollingRestart(t, l) {
				t.Logf("%s: %+v", name, s)
				assert.Zero(t, s.wrong, name)
				assert.Zero(t, s.executed, "%s: a request that fails must not have been executed", name)
				if name == "Warren" {
					assert.Zero(t, s.lost, name)
					continue
				}
				assert.NotZero(t, s.ends, "%s: its servers were drained", name)
				assert.LessOrEqual(t, s.lost, s.ends*l.window, "%s: no more than it has in flight", name)
				if l.pause >= 300*time.Millisecond {
					assert.LessOrEqual(t, 5*s.lost, s.ends, name)
				}
			}
		})
	}
}

// rollingRestart drains and restarts the servers under the load of each client, and returns what they have seen.
func rollingRestart(t *testing.T, l load) map[string]seen {
	t.Helper()
	var o []cluster.Options
	ports := cluster.FreePorts(t, 5)
	for _, port := range ports {
		o = append(o, cluster.Options{Settings: map[string]string{"admin.enableServer": "true",
			"admin.serverAddress": "127.0.0.1", "admin.serverPort": strconv.Itoa(port),
			"DigestAuthenticationProvider.superDigest": superDigest}})
	}
	nodes := cluster.Ensemble(t, o...)
	var addrs []string
	for _, node := range nodes {
		node.Launch()
		addrs = append(addrs, node.Addr())
	}
	for _, node := range nodes {
		node.WaitServing()
	}
	servers := strings.Join(addrs, ",")
	classes, binary := t.TempDir(), filepath.Join(t.TempDir(), "rolling")
	compile(t, "javac", "-nowarn", "-cp", zookeeperJar+":/usr/share/java/zookeeper-jute.jar", "-d", classes,
		filepath.Join("testdata", "java", "Rolling.java"))
	compile(t, "gcc", "-DTHREADED", "-Wall", "-o", binary, filepath.Join("testdata", "c", "rolling.c"),
		"-lzookeeper_mt", "-lpthread")
	ctx := programContext(t)
	writers := map[string]func() seen{
		"Java": startWriting(t, exec.CommandContext(ctx, "java", append([]string{"-Xmx128m", "-cp",
			classes + ":" + nodes[0].Dir() + ":" + zookeeperJar, "Rolling"}, l.args(servers)...)...)),
		"kazoo": startWriting(t, exec.CommandContext(ctx, "/usr/bin/python3",
			append([]string{filepath.Join("testdata", "kazoo", "rolling.py")}, l.args(servers)...)...)),
		"C":            startWriting(t, exec.CommandContext(ctx, binary, l.args(servers)...)),
		"go-zookeeper": startGozk(t, addrs, l),
		"Warren":       startOurs(t, servers, l),
	}
	authFile := filepath.Join(t.TempDir(), "super.txt")
	require.NoError(t, os.WriteFile(authFile, []byte("digest super:test"), 0o600))
	last := leaderOf(t, nodes)
	for i := range nodes {
		node := nodes[(last.ID()+i)%len(nodes)] // the leader last
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		ourOutput(t, "drain", "--admin", fmt.Sprintf("http://127.0.0.1:%d/commands", ports[node.ID()-1]),
			"--auth-file", authFile)
		t.Logf("server %d was drained within %v", node.ID(), time.Since(began).Round(time.Millisecond))
		node.Stop()
		node.Start()
	}
	time.Sleep(1500 * time.Millisecond) // a client in Java waits up to a second before it connects
	all := map[string]seen{}
	for name, end := range writers {
		all[name] = end()
	}
	return all
}

// startWriting starts a program that writes until its input ends and then says what it has seen.
func startWriting(t *testing.T, cmd *exec.Cmd) (end func() seen) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "%s", &stderr)
	require.Equal(t, "OK ready", lines.Text())
	return func() (s seen) {
		require.NoError(t, stdin.Close())
		require.True(t, lines.Scan(), "%s", &stderr)
		_, err := fmt.Sscanf(lines.Text(), "OK %d %d %d %d %d", &s.done, &s.lost, &s.executed, &s.ends, &s.wrong)
		require.NoError(t, err, lines.Text())
		_, err = io.Copy(io.Discard, stdout)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait(), "%s", &stderr)
		if s.wrong > 0 {
			t.Logf("%s", &stderr)
		}
		return s
	}
}

// session is a session of a client for Go, with a znode of its own.
type session struct {
	set     func() error
	version func() int // of the znode, as soon as a server answers; -1 if it is gone
	close   func()
}

// tally adds up what clients see.
type tally struct {
	mu sync.Mutex // guards seen
	seen
}

func (a *tally) note(what func(*seen)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what(&a.seen)
}

// startSessions is startWriting with clients for Go. open opens the i-th session.
func startSessions(l load, all *tally, open func(i int) session) (end func() seen) {
	var stop atomic.Bool
	var running sync.WaitGroup
	for i := range l.sessions {
		one := open(i)
		running.Go(func() {
			defer one.close()
			version := 0
			for !stop.Load() {
				ok, failed := writeAtOnce(one.set, l.window)
				version += ok
				executed := 0
				if failed > 0 {
					now := one.version()
					executed, version = now-version, now
				}
				all.note(func(s *seen) { s.done, s.lost, s.executed = s.done+ok, s.lost+failed, s.executed+executed })
				time.Sleep(l.pause)
			}
			if one.version() != version {
				all.note(func(s *seen) { s.wrong++ })
			}
		})
	}
	return func() seen {
		stop.Store(true)
		running.Wait()
		all.mu.Lock()
		defer all.mu.Unlock()
		return all.seen
	}
}

// startGozk is startSessions with go-zookeeper.
func startGozk(t *testing.T, addrs []string, l load) (end func() seen) {
	t.Helper()
	all := new(tally)
	return startSessions(l, all, func(i int) session {
		var closed atomic.Bool
		conn, _, err := zk.Connect(addrs, 30*time.Second, zk.WithLogger(quiet{}),
			zk.WithEventCallback(func(e zk.Event) {
				if e.State == zk.StateDisconnected && !closed.Load() {
					all.note(func(s *seen) { s.ends++ })
				}
			}))
		require.NoError(t, err)
		path := fmt.Sprintf("/go-%d", i)
		_, err = conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		return session{
			set:     func() error { _, err := conn.Set(path, nil, -1); return err },
			version: func() int { return gozkVersion(conn, path) },
			close:   func() { closed.Store(true); conn.Close() },
		}
	})
}

// startOurs is startSessions with package client.
func startOurs(t *testing.T, servers string, l load) (end func() seen) {
	t.Helper()
	return startSessions(l, new(tally), func(i int) session {
		c, err := client.New(servers, client.WithSessionTimeout(30*time.Second))
		require.NoError(t, err)
		path := fmt.Sprintf("/ours-%d", i)
		_, err = c.Create(t.Context(), path, nil, client.Ephemeral)
		require.NoError(t, err)
		return session{
			set: func() error { _, err := c.Set(t.Context(), path, nil, client.AnyVersion); return err },
			version: func() int {
				stat, exists, err := c.Exists(t.Context(), path)
				if err != nil || !exists {
					return -1
				}
				return int(stat.Version)
			},
			close: func() { _ = c.Close() }, // what it has to say was said by set
		}
	})
}

// writeAtOnce writes n times at once, and returns how many writes were acknowledged and how many failed.
func writeAtOnce(set func() error, n int) (ok, failed int) {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- set() }()
	}
	for range n {
		if <-errs == nil {
			ok++
		} else {
			failed++
		}
	}
	return ok, failed
}

// gozkVersion returns the version of a znode as soon as a server answers; -1 if it is gone.
func gozkVersion(conn *zk.Conn, path string) int {
	for {
		exists, stat, err := conn.Exists(path)
		switch {
		case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer):
			time.Sleep(10 * time.Millisecond)
		case err != nil || !exists:
			return -1
		default:
			return int(stat.Version)
		}
	}
}

// TestUnaskedPingReplies lets the clients of others do everything that they can at a server that asks them to leave
// around each of its frames, from the first answer on that is not one to an auth packet, and does not end the
// connection: they take no notice.
func TestUnaskedPingReplies(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, node *cluster.Node, addr string){
		"Java": runJava, "kazoo": runKazoo, "C": runC,
		"go-zookeeper": func(t *testing.T, node *cluster.Node, addr string) {
			conn, events, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithLogger(quiet{}))
			require.NoError(t, err)
			defer conn.Close()
			awaitState(t, events, zk.StateHasSession)
			session := conn.SessionID()
			gozkBasics(t, conn)
			gozkMulti(t, conn)
			gozkWatches(t, conn)
			require.Equal(t, session, conn.SessionID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := startTarget(t)
			asked := &asking{t: t, server: node.Addr()}
			run(t, node, asked.listen())
			require.Greater(t, asked.n.Load(), int64(20))
		})
	}
}

// asking stands between clients and a server, and asks the clients to leave around the frames of the server.
type asking struct {
	t      *testing.T
	server string
	n      atomic.Int64
}

// listen returns the address for the clients.
func (a *asking) listen() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go a.serve(client)
		}
	}()
	return ln.Addr().String()
}

// serve copies both ways until one side ends.
func (a *asking) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", a.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	reply := proto.ReplyHeader{Xid: proto.XidPing, Zxid: proto.LeaveZxid}
	leave := reply.AppendTo(binary.BigEndian.AppendUint32(nil, proto.ReplyHeaderSize))
	for frames, answered := 0, false; ; frames++ {
		var length [4]byte
		if _, err := io.ReadFull(server, length[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(server, frame); err != nil {
			return
		}
		all := append(length[:], frame...)
		if answered {
			all = append(append([]byte(nil), leave...), all...)
		}
		// The first frame answers the request for a session.
		answered = answered || frames > 0 && int32(binary.BigEndian.Uint32(frame)) != proto.XidAuth
		if answered {
			all = append(all, leave...)
			a.n.Add(1)
		}
		if _, err := client.Write(all); err != nil {
			return
		}
	}
}
