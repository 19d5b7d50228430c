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
	v := &visitors{arrivals: newArrivals(0), door: d}
	d.mu.Lock()
	d.inside = v
	d.mu.Unlock()
	return v, nil
}

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
	arrivals
	door *door
}

// Addr implements net.Listener.
func (v *visitors) Addr() net.Addr { return v.door.ln.Addr() }

// Close implements net.Listener.
func (v *visitors) Close() error {
	v.shut()
	return nil
}

// arrivals are connections that wait for Accept, until they are shut.
type arrivals struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newArrivals(most int) arrivals {
	return arrivals{waiting: make(chan net.Conn, most), closed: make(chan struct{})}
}

// enter hands over a connection. It reports false if the listener is closed.
func (a *arrivals) enter(nc net.Conn) bool {
	select {
	case a.waiting <- nc:
		return true
	case <-a.closed:
		return false
	}
}

// Accept implements net.Listener.
func (a *arrivals) Accept() (net.Conn, error) {
	select {
	case <-a.closed:
		return nil, net.ErrClosed
	case nc := <-a.waiting:
		return nc, nil
	}
}

// shut ends Accept, and closes the connections that wait.
func (a *arrivals) shut() {
	a.once.Do(func() {
		close(a.closed)
		for len(a.waiting) > 0 {
			select {
			case nc := <-a.waiting:
				_ = nc.Close()
			default:
			}
		}
	})
}
