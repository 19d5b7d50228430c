package abuse

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// attack is what one bad client works with.
type attack struct {
	t     witness
	site  site
	full  bool
	ctx   context.Context // ends when the abuse has lasted long enough
	done  atomic.Int64    // how often the bad client has done it, if that is counted
	mu    sync.Mutex
	conns []io.Closer
}

// size is small, or large with -abuse.full.
func (a *attack) size(small, large int) int {
	if a.full {
		return large
	}
	return small
}

// going reports whether there is time left.
func (a *attack) going() bool { return a.ctx.Err() == nil }

// rest waits for d, or for the end of the abuse.
func (a *attack) rest(d time.Duration) {
	select {
	case <-a.ctx.Done():
	case <-time.After(d):
	}
}

// dial connects to addr from the n-th loopback address of the bad client. The connection is closed when the abuse is
// over.
func (a *attack) dial(addr string, n int) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, byte(n>>8), byte(n))}}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = nc.(*net.TCPConn).SetLinger(0) // thousands of closed connections must not use up the ports
	a.mu.Lock()
	a.conns = append(a.conns, nc)
	a.mu.Unlock()
	return nc, nil
}

// drop closes one connection before the end.
func (a *attack) drop(nc net.Conn) {
	nc.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.conns, io.Closer(nc)); i >= 0 {
		a.conns = slices.Delete(a.conns, i, i+1)
	}
}

// closeAll ends every connection of the bad client.
func (a *attack) closeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		c.Close()
	}
	a.conns = nil
}

// session is a connection with a session, whose frames are sent as they are and read only if asked for.
type session struct {
	net.Conn
	in *bufio.Reader
}

// beginDeaf opens a session whose socket takes little of what is not read.
func (a *attack) beginDeaf(n int) *session {
	s := a.begin(n)
	require.NoError(a.t, s.Conn.(*net.TCPConn).SetReadBuffer(16<<10))
	return s
}

// begin opens a session on the client port.
func (a *attack) begin(n int) *session {
	nc, err := a.dial(a.site.Client, n)
	require.NoError(a.t, err)
	s := &session{nc, bufio.NewReader(nc)}
	require.NoError(a.t, wire.WriteFrame(nc, wire.ConnectRequest(wire.Options{TimeoutMs: 4000}).AppendTo(nil)))
	_, err = wire.ReadFrame(s.in)
	require.NoError(a.t, err)
	return s
}

// frame appends a request.
func frame(b []byte, xid int32, r wire.Request) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(8+len(r.Body)))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint32(b, uint32(r.Op))
	return append(b, r.Body...)
}

// pump sends b over and over until the end of the abuse or of the connection. The server may let it wait as long as
// it likes.
func (a *attack) pump(nc net.Conn, b []byte) {
	stop := context.AfterFunc(a.ctx, func() { _ = nc.SetWriteDeadline(time.Now()) })
	defer stop()
	for a.going() {
		if _, err := nc.Write(b); err != nil {
			return
		}
	}
}

// skim reads and forgets whatever the server answers.
func (a *attack) skim(s *session) {
	buf := make([]byte, 256<<10)
	for {
		if _, err := s.Read(buf); err != nil {
			return
		}
	}
}

// together runs fn n times at once.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}

// helper is a client of the bad one's that waits for its answers.
func (a *attack) helper() *wire.Conn {
	c, err := wire.Dial(a.site.Client, wire.Options{TimeoutMs: 30_000, Reply: 60 * time.Second})
	require.NoError(a.t, err)
	a.mu.Lock()
	a.conns = append(a.conns, closer(c.Close))
	a.mu.Unlock()
	return c
}

// closer closes what does not say how that went.
type closer func()

// Close implements io.Closer.
func (c closer) Close() error { c(); return nil }

// fill creates count znodes below parent, in multis.
func (a *attack) fill(parent string, count int, mode proto.CreateMode, c *wire.Conn) {
	_, err := c.Create(parent, nil, proto.ModePersistent)
	require.True(a.t, err == nil || errors.Is(err, proto.ErrNodeExists), "%v", err)
	for n := 0; n < count; {
		var ops []wire.Request
		for ; n < count && len(ops) < 1000; n++ {
			ops = append(ops, wire.Create(fmt.Sprintf("%s/n%09d", parent, n), nil, wire.OpenACL, mode))
		}
		_, err := c.Multi(ops...)
		require.NoError(a.t, err)
	}
}
