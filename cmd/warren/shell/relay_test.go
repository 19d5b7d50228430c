package shell

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// relay hands connections on to the server of the tests until it is closed.
type relay struct {
	addr     string
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	isClosed bool
}

func newRelay(t *testing.T, addr string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	return relayOn(t, l)
}

func relayOn(t *testing.T, l net.Listener) *relay {
	r := &relay{addr: l.Addr().String(), listener: l}
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", address)
		if err != nil {
			near.Close()
			continue
		}
		if !r.keep(near, far) {
			return
		}
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			r.running.Go(func() {
				_, _ = io.Copy(pair[0], pair[1]) // until either side leaves
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

// keep remembers connections, or closes them if the relay is closed.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conns...)
	if r.isClosed {
		for _, c := range conns {
			c.Close()
		}
	}
	return !r.isClosed
}

// close cuts every connection and frees the address.
func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	r.isClosed = true
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}
