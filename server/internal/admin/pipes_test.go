package admin

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/must"
)

// pipes is a listener without sockets, for tests of timeouts: in a bubble of testing/synctest time passes only
// when all goroutines wait. So a limit of seconds costs nothing and is kept to the nanosecond however busy the
// machine is.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// servePipes runs a server until the test ends.
func servePipes(t *testing.T, s *Server) *pipes {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	serve(t, s, p)
	return p
}

// dial returns the end of a new connection that is the client's.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// say sends text on a new connection and returns the status line of the answer, empty if there is none, and when
// it came.
func (p *pipes) say(t *testing.T, text string) (status string, took time.Duration) {
	t.Helper()
	nc := must.Do(p.dial(t.Context()))(t)
	return sayTo(nc, text)
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// pieces is a body that comes in pieces with a pause before each.
type pieces struct {
	pause time.Duration
	left  []string
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	time.Sleep(p.pause)
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}
