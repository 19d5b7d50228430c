package embed

import (
	"net"
	"sync"
)

// door is the client port of a server. It stays open while the server is down, so that no other process gets the
// port. A client that connects then gets a reset.
type door struct {
	ln   net.Listener
	done chan struct{} // closed when no more clients are accepted

	mu      sync.Mutex
	inside  *visitors // of the server that runs
	refuses bool
}

// newDoor opens a port that the system chooses.
func newDoor() (*door, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, err
	}
	d := &door{ln: ln, done: make(chan struct{})}
	go d.run()
	return d, nil
}

func (d *door) addr() string { return d.ln.Addr().String() }

func (d *door) port() int { return d.ln.Addr().(*net.TCPAddr).Port }

func (d *door) run() {
	defer close(d.done)
	for {
		nc, err := d.ln.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		v := d.inside
		if d.refuses {
			v = nil
		}
		d.mu.Unlock()
		if v == nil || !v.enter(nc) {
			_ = nc.(*net.TCPConn).SetLinger(0)
			_ = nc.Close()
		}
	}
}

// listen passes accepted connections to a server, until the server closes the listener. It has the form of
// server.Options.ListenClient.
func (d *door) listen(_, _ string) (net.Listener, error) {
	v := &visitors{door: d, waiting: make(chan net.Conn), closed: make(chan struct{})}
	d.mu.Lock()
	d.inside = v
	d.mu.Unlock()
	return v, nil
}

// refuse sets whether all clients are refused.
func (d *door) refuse(yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuses = yes
}

// close releases the port.
func (d *door) close() {
	_ = d.ln.Close()
	<-d.done
}

// visitors is the client listener of one life of a server.
type visitors struct {
	door    *door
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// enter reports whether the server has taken nc.
func (v *visitors) enter(nc net.Conn) bool {
	select {
	case v.waiting <- nc:
		return true
	case <-v.closed:
		return false
	}
}

// Accept implements net.Listener.
func (v *visitors) Accept() (net.Conn, error) {
	select {
	case <-v.closed:
		return nil, net.ErrClosed
	case nc := <-v.waiting:
		return nc, nil
	}
}

// Close implements net.Listener.
func (v *visitors) Close() error {
	v.once.Do(func() { close(v.closed) })
	return nil
}

// Addr implements net.Listener.
func (v *visitors) Addr() net.Addr { return v.door.ln.Addr() }
