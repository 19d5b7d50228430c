package gozk

import (
	"net"
	"sync"
)

// Proxy forwards connections to a server, until it is told not to.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex
	isShut  bool // connections are closed as soon as they are made
	isMute  bool // what the server sends is held back
	changed *sync.Cond
	conns   map[net.Conn]bool
}

// NewProxy returns a proxy on a port of its own.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Sources are the addresses from which the server is connected.
func (p *Proxy) Sources() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if c.RemoteAddr().String() == p.target {
			all = append(all, c.LocalAddr().String())
		}
	}
	return all
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

// Cut closes all connections. New ones are made as before.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.isMute = false
	p.changed.Broadcast()
}

// Shut cuts all connections and those that are made until Open.
func (p *Proxy) Shut() {
	p.mu.Lock()
	p.isShut = true
	p.mu.Unlock()
	p.Cut()
}

// Open lets connections through again.
func (p *Proxy) Open() {
	p.mu.Lock()
	p.isShut = false
	p.mu.Unlock()
}

// Mute holds back what the server sends, until Cut.
func (p *Proxy) Mute() {
	p.mu.Lock()
	p.isMute = true
	p.mu.Unlock()
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		if p.isShut {
			_, _ = near.Close(), far.Close()
		} else {
			p.conns[near], p.conns[far] = true, true
			p.running.Go(func() { p.forward(far, near, false) })
			p.running.Go(func() { p.forward(near, far, true) })
		}
		p.mu.Unlock()
	}
}

func (p *Proxy) forward(dst, src net.Conn, mayMute bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if mayMute {
			p.mu.Lock()
			for p.isMute {
				p.changed.Wait()
			}
			p.mu.Unlock()
		}
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = dst.Close(), src.Close()
	p.mu.Lock()
	delete(p.conns, dst)
	delete(p.conns, src)
	p.mu.Unlock()
}
