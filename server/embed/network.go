package embed

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// network is the network between the servers.
type network struct {
	mu    sync.Mutex
	hosts map[int]*host
	ports map[string]*port // by address
	conns map[*conn]way    // open ends, with the way of the data that they write
	cuts  map[way]bool
	lags  map[way]time.Duration
	// changed is closed, and replaced, when ports, hosts or cuts have changed.
	changed chan struct{}
}

// way is a direction between two servers.
type way struct{ from, to int }

func (w way) back() way { return way{w.to, w.from} }

// port is an address on which a server may listen.
type port struct {
	owner    int
	listener *listener // nil if no server listens
}

func newNetwork(servers int) *network {
	n := &network{hosts: map[int]*host{}, ports: map[string]*port{}, conns: map[*conn]way{}, cuts: map[way]bool{},
		lags: map[way]time.Duration{}, changed: make(chan struct{})}
	for id := 1; id <= servers; id++ {
		for _, a := range addressesOf(id) {
			n.ports[a] = &port{owner: id}
		}
	}
	return n
}

// note wakes all goroutines that wait for a change. REQUIRES: n.mu.
func (n *network) note() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// plug connects a server, from its start to unplug.
func (n *network) plug(id int) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &host{net: n, id: id}
	n.hosts[id] = h
	n.note()
	return h
}

// change applies fn to the cuts and lags, and both to all connections.
func (n *network) change(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn()
	for c, w := range n.conns {
		c.out.route(n.cuts[w], n.lags[w])
		c.in.route(n.cuts[w.back()], n.lags[w.back()])
	}
	n.note()
}

// host is one server on the network, for one of its lives.
type host struct {
	net *network
	id  int
}

// alive reports whether this life goes on. REQUIRES: net.mu.
func (h *host) alive() bool { return h.net.hosts[h.id] == h }

// unplug ends this life: ports are closed, connections end as those of a process that was killed.
func (h *host) unplug() {
	n := h.net
	n.mu.Lock()
	if !h.alive() {
		n.mu.Unlock()
		return
	}
	delete(n.hosts, h.id)
	var open []*listener
	for _, p := range n.ports {
		if p.owner == h.id && p.listener != nil {
			open = append(open, p.listener)
			p.listener = nil
		}
	}
	var mine []*conn
	for c, w := range n.conns {
		if w.from == h.id {
			mine = append(mine, c)
		}
	}
	n.note()
	n.mu.Unlock()
	for _, l := range open {
		l.shut()
	}
	for _, c := range mine {
		_ = c.Close()
	}
}

// dial connects to a port of another server. It waits while the way is cut, and while that server is starting.
func (h *host) dial(ctx context.Context, _, address string) (net.Conn, error) {
	for {
		c, changed, err := h.try(address)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		}
	}
}

// try connects if that is possible now. If it may be possible later, it returns the channel to wait for.
func (h *host) try(address string) (net.Conn, <-chan struct{}, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.ports[address]
	if p == nil {
		return nil, nil, fmt.Errorf("embed: dialling %s: no server has this address", address)
	}
	w := way{h.id, p.owner}
	switch {
	case !h.alive():
		return nil, nil, net.ErrClosed
	case n.cuts[w] || n.cuts[w.back()]:
		return nil, n.changed, nil
	case n.hosts[p.owner] == nil, p.listener != nil && len(p.listener.waiting) == cap(p.listener.waiting):
		return nil, nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case p.listener == nil:
		return nil, n.changed, nil
	}
	there := newStream(n.lags[w])
	back := newStream(n.lags[w.back()])
	local, remote := addrOf(net.JoinHostPort(hostOf(h.id), "0")), addrOf(address)
	near := &conn{in: back, out: there, local: local, remote: remote}
	far := &conn{in: there, out: back, local: remote, remote: local}
	for c, w := range map[*conn]way{near: w, far: w.back()} {
		n.conns[c] = w
		c.closed = func() {
			n.mu.Lock()
			delete(n.conns, c)
			n.mu.Unlock()
		}
	}
	p.listener.waiting <- far
	return near, nil, nil
}

// addrOf returns an address in the form of package net.
func addrOf(address string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
}

// listen opens a port.
func (h *host) listen(_, address string) (net.Listener, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.ports[address]
	switch {
	case p == nil || p.owner != h.id:
		return nil, fmt.Errorf("embed: listening on %s: it is not an address of server %d", address, h.id)
	case !h.alive():
		return nil, net.ErrClosed
	case p.listener != nil:
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	p.listener = &listener{arrivals: newArrivals(64), addr: addrOf(address), host: h, port: p}
	n.note()
	return p.listener, nil
}

// listener is an open port.
type listener struct {
	arrivals
	addr net.Addr
	host *host
	port *port
}

// Close implements net.Listener.
func (l *listener) Close() error {
	n := l.host.net
	n.mu.Lock()
	if l.port.listener == l {
		l.port.listener = nil
		n.note()
	}
	n.mu.Unlock()
	l.shut()
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }
