package recipes

import (
	"net"
	"sync"
	"sync/atomic"
)

// Path is a network path to servers that can be cut and stopped. Every connection comes to another server than the
// one before. Its methods may be called concurrently.
type Path struct {
	servers  []string
	listener net.Listener
	running  sync.WaitGroup
	replies  atomic.Int64 // n if the n-th answer from now is to be lost, 0 if none

	mu      sync.Mutex
	conns   map[net.Conn]bool
	stopped chan struct{} // closed when traffic goes on; nil while it does
	isOver  bool
}

// NewPath returns a path to servers, on a port of its own.
func NewPath(servers ...string) (*Path, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Path{servers: servers, listener: l, conns: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the path begins.
func (p *Path) Addr() string { return p.listener.Addr().String() }

// Close ends the path and waits for its goroutines.
func (p *Path) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.isOver = true
	p.mu.Unlock()
	p.Go()
	p.Cut()
	p.running.Wait()
}

// Cut closes all connections.
func (p *Path) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// LoseReply cuts the connection instead of passing on the n-th answer from now.
func (p *Path) LoseReply(n int64) { p.replies.Store(n) }

// Stop keeps all bytes back, in both directions, until Go.
func (p *Path) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil && !p.isOver {
		p.stopped = make(chan struct{})
	}
}

// Go lets bytes pass again.
func (p *Path) Go() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
}

// pass waits while the path is stopped.
func (p *Path) pass() {
	for {
		p.mu.Lock()
		stopped := p.stopped
		p.mu.Unlock()
		if stopped == nil {
			return
		}
		<-stopped
	}
}

func (p *Path) accept() {
	for i := 0; ; i++ {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.servers[i%len(p.servers)])
		p.mu.Lock()
		if err != nil || p.isOver {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
		} else {
			p.conns[near], p.conns[far] = true, true
			p.running.Go(func() { p.forward(far, near, false) })
			p.running.Go(func() { p.forward(near, far, true) })
		}
		p.mu.Unlock()
	}
}

// forward copies until a side closes or an answer is lost. The end of a connection is kept back like its bytes.
func (p *Path) forward(dst, src net.Conn, isAnswer bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		p.pass()
		if err != nil || isAnswer && p.replies.Load() > 0 && p.replies.Add(-1) == 0 {
			break
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			break
		}
	}
	_ = dst.Close()
	_ = src.Close()
	p.mu.Lock()
	delete(p.conns, src)
	p.mu.Unlock()
}
