//go:build interop

package interop

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

var drainLoad = flag.String("interop.drain", "",
	"pause in ms and requests in flight of the clients of TestDrainedServers, as 50,1; empty is several loads")

// TestDrainedServers drains and restarts five servers, one after the other, while clients write. No session ends,
// each request that fails was not executed, no request of Warren's client fails, and of clients that pause for 300 ms
// hardly one. A client of Java fails what it is asked within 100 ms after the end of its connection, so that of
// shorter pauses it loses a request with each connection; it fails what waits, too, if the server that it tries next
// is drained as well. What each client has seen is in the log.
func TestDrainedServers(t *testing.T) {
	loads := []load{{8, 50 * time.Millisecond, 1}, {8, 300 * time.Millisecond, 1}, {8, 0, 1}, {8, 0, 16}}
	if *drainLoad != "" {
		var ms, window int
		must.Do(fmt.Sscanf(*drainLoad, "%d,%d", &ms, &window))(t)
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
	nodes := cluster.StartEnsemble(t, o...)
	writers := startWriters(t, nodes, l, "Java", "kazoo", "C", "go-zookeeper", "Warren")
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
	for name, w := range writers {
		for _, v := range w.end() {
			all[name] = all[name].plus(v.seen)
		}
	}
	return all
}

// TestUnaskedPingReplies lets the clients of others do everything that they can at a server that asks them to leave
// around each of its frames, from the first answer on that is not one to an auth packet, and does not end the
// connection: they take no notice.
func TestUnaskedPingReplies(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, node *cluster.Node, addr string){
		"Java": runJava, "kazoo": runKazoo, "C": runC,
		"go-zookeeper": func(t *testing.T, node *cluster.Node, addr string) {
			conn, events := must.Do2(zk.Connect([]string{addr}, 20*time.Second, zk.WithLogger(quiet{})))(t)
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
	ln := must.Listen(a.t)
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
