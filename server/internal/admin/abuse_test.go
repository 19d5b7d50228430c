package admin

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveOn runs a server on a port of 127.0.0.1 until the test ends.
func serveOn(t *testing.T, s *Server) (addr string) {
	t.Helper()
	ln := must.Listen(t)
	serve(t, s, ln)
	return ln.Addr().String()
}

// serve runs a server on a listener until the test ends.
func serve(t *testing.T, s *Server, ln net.Listener) {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		s.Close(ctx)
		require.NoError(t, <-ended)
	})
}

// say sends text on a new connection and returns the status line of the answer, empty if there is none.
func say(t *testing.T, addr, text string) (status string) {
	t.Helper()
	status, _ = sayTo(must.Dial(t, addr), text)
	return status
}

// sayTo is say on a connection, which it closes, and says when the answer came.
func sayTo(nc net.Conn, text string) (status string, took time.Duration) {
	defer nc.Close()
	began := time.Now()
	_, _ = io.WriteString(nc, text) // the server may have closed its end before all of it was sent
	status, _ = bufio.NewReader(nc).ReadString('\n')
	return strings.TrimSpace(status), time.Since(began)
}

const get = "GET /commands/ruok HTTP/1.1\r\nHost: x\r\n"

func TestRequestsBeyondTheLimitsAreRefused(t *testing.T) {
	addr := serveOn(t, New(Options{Node: &fakeNode{}}))
	for name, c := range map[string]struct{ request, status string }{
		"usual": {get + "\r\n", "HTTP/1.1 200 OK"},
		"old":   {"GET /commands/ruok HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK"},
		"large header": {get + "A: " + strings.Repeat("a", headerBytesMax+8<<10) + "\r\n\r\n",
			"HTTP/1.1 431 Request Header Fields Too Large"},
		"many headers": {get + strings.Repeat("Abcdefg: 12345678\r\n", 3000) + "\r\n",
			"HTTP/1.1 431 Request Header Fields Too Large"},
		"large path": {"GET /" + strings.Repeat("a", headerBytesMax+8<<10) + " HTTP/1.1\r\n\r\n",
			"HTTP/1.1 431 Request Header Fields Too Large"},
		"no http":          {"\x00\x00\x00\x2c\x00\x00\x00\x00\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"two hosts":        {get + "Host: y\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"two lengths":      {get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"body of a GET":    {get + "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK"},
		"bad escape":       {"GET /commands/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"bad query":        {"GET /commands/stmk?traceMask=%zz&;=1 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"},
		"climbing path":    {"GET /commands/../healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"},
		"control in name":  {"GET /commands/%00%0d%0a HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"},
		"not text in name": {"GET /commands/%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"},
	} {
		require.Equal(t, c.status, say(t, addr, c.request), name)
	}
}

// A client that sends its request slowly, or only announces a body, is cut off; others are served meanwhile.
func TestSlowClientsAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := servePipes(t, New(Options{Node: &fakeNode{}}))
		slow := map[string]string{
			"half a header": get,
			"nothing":       "",
			"a body that never comes": "POST /commands/restore HTTP/1.1\r\nHost: x\r\n" +
				"Content-Length: 1000000000\r\n\r\n",
		}
		took := map[string]time.Duration{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for name, text := range slow {
			nc := must.Do(ln.dial(t.Context()))(t)
			wg.Go(func() {
				defer nc.Close()
				began := time.Now()
				_, _ = io.WriteString(nc, text)
				_, _ = io.Copy(io.Discard, nc) // ends when the server closes
				mu.Lock()
				defer mu.Unlock()
				took[name] = time.Since(began)
			})
		}
		synctest.Wait()
		status, waited := ln.say(t, get+"\r\n")
		require.Equal(t, "HTTP/1.1 200 OK", status)
		require.Zero(t, waited)
		wg.Wait()
		for name, d := range took {
			require.LessOrEqual(t, d, requestTimeout+time.Second, name) // net/http may linger for half a second
		}
		require.Len(t, took, len(slow))
	})
}

// Whatever other connections do, and however many there are, a probe is answered, on a connection of its own and on
// one that is open already. It does not wait for their timeouts.
func TestProbesGetThrough(t *testing.T) {
	for name, hold := range map[string]func(*testing.T, net.Conn){
		"silent connections": func(*testing.T, net.Conn) {},
		"half a request":     func(_ *testing.T, nc net.Conn) { _, _ = io.WriteString(nc, get) },
		"idle connections":   keepAlive,
	} {
		t.Run(name, func(t *testing.T) {
			addr := serveOn(t, New(Options{Node: &fakeNode{}, IdleTimeout: time.Hour}))
			for range connectionsMax + 44 {
				hold(t, open(t, addr, "127.0.0.1"))
			}
			for _, path := range []string{"/healthz", "/readyz", "/commands/ruok", "/commands/dirs"} {
				began := time.Now()
				require.Equal(t, "HTTP/1.1 200 OK", say(t, addr, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"))
				require.Less(t, time.Since(began), requestTimeout, "it waited for a connection to end")
			}
		})
	}
}

// open opens a connection from a loopback address until the test ends.
func open(t *testing.T, addr, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	nc := must.Do(d.Dial("tcp", addr))(t)
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// keepAlive has one request answered.
func keepAlive(t *testing.T, nc net.Conn) {
	t.Helper()
	must.Do(io.WriteString(nc, get+"\r\n"))(t)
	status := must.Do(bufio.NewReader(nc).ReadString('\n'))(t)
	require.Equal(t, "HTTP/1.1 200 OK", strings.TrimSpace(status))
}

// Requests that take long leave places for probes; one more that is no probe is refused at once.
func TestProbesGetThroughBesideSlowRequests(t *testing.T) {
	node := &fakeNode{blocked: make(chan struct{}), entered: make(chan struct{}, requestsMax)}
	s := New(Options{Node: node})
	addr := serveOn(t, s)
	defer close(node.blocked)
	dirs := "GET /commands/dirs HTTP/1.1\r\nHost: x\r\n\r\n"
	for range requestsMax {
		must.Do(io.WriteString(open(t, addr, "127.0.0.1"), dirs))(t)
	}
	require.Eventually(t, func() bool { return len(s.places.running) == requestsMax }, time.Minute, time.Millisecond)
	for range 2 * (connectionsMax - requestsMax) {
		open(t, addr, "127.0.0.1")
	}
	require.Equal(t, "HTTP/1.1 503 Service Unavailable", say(t, addr, dirs))
	for _, path := range []string{"/healthz", "/readyz", "/commands/ruok"} {
		require.Equal(t, "HTTP/1.1 200 OK", say(t, addr, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"))
	}
	require.Len(t, s.places.running, requestsMax, "none of the slow ones has lost its place")
}

// One address that opens many connections takes the places of its own ones.
func TestPlacesAreTakenFromTheAddressThatHasMost(t *testing.T) {
	s := New(Options{Node: &fakeNode{}, IdleTimeout: time.Hour})
	addr := serveOn(t, s)
	other := open(t, addr, "127.0.0.2")
	keepAlive(t, other)
	for range 2 * connectionsMax {
		keepAlive(t, open(t, addr, "127.0.0.1"))
	}
	keepAlive(t, other)
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	require.Len(t, s.places.mu.open, connectionsMax)
}

// No more than commandsMax commands run at once, a client that goes away does not run later, and snapshots are
// not held up.
func TestCommandsRunAFewAtATime(t *testing.T) {
	node := &fakeNode{blocked: make(chan struct{}), entered: make(chan struct{}, 2*commandsMax)}
	s := New(Options{Node: node, SnapshotEnabled: true})
	done := make(chan int, commandsMax)
	for range commandsMax {
		go func() {
			resp, _ := ask(t, s, "GET", "/commands/dirs")
			done <- resp.StatusCode
		}()
		<-node.entered
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, ok := s.gather(s.commands["dirs"], nil, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	require.False(t, ok)
	require.Empty(t, node.entered)
	resp, _ := ask(t, s, "GET", "/commands/snapshot", "Authorization", "ip")
	require.Equal(t, 200, resp.StatusCode)
	resp, _ = ask(t, s, "GET", "/readyz")
	require.Equal(t, 200, resp.StatusCode)
	close(node.blocked)
	for range commandsMax {
		require.Equal(t, 200, <-done)
	}
}

// A snapshot may take longer than a request may take to arrive.
func TestSlowSnapshotIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 3 * requestTimeout // to write
		var cut error
		node := &fakeNode{snapshot: func(ctx context.Context) (*orders.Snapshot, error) {
			time.Sleep(large)
			cut = ctx.Err()
			return fileOf("x"), nil
		}}
		ln := servePipes(t, New(Options{Node: node, SnapshotEnabled: true}))
		status, took := ln.say(t, "GET /commands/snapshot HTTP/1.1\r\nHost: x\r\nAuthorization: ip\r\n\r\n")
		require.Equal(t, "HTTP/1.1 200 OK", status)
		require.Equal(t, large, took)
		require.NoError(t, cut)
	})
}

// A client that asks and asks and never reads is cut off, whatever it asks for.
func TestClientsThatDoNotReadAreCutOff(t *testing.T) {
	for _, path := range []string{"/commands/stats", "/commands", "/none", "/commands/snapshot"} {
		synctest.Test(t, func(t *testing.T) {
			node := &fakeNode{snapshot: func(context.Context) (*orders.Snapshot, error) {
				return fileOf(strings.Repeat("x", 4*pieceBytes)), nil
			}}
			ln := servePipes(t, New(Options{Node: node, SnapshotEnabled: true}))
			nc := must.Do(ln.dial(t.Context()))(t)
			began := time.Now()
			_, err := io.WriteString(nc,
				strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: ip\r\n\r\n", 1000))
			require.ErrorIs(t, err, io.ErrClosedPipe)
			require.Equal(t, answerTimeout, time.Since(began), path)
			require.NoError(t, nc.Close())
		})
	}
}
