package system

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// network connects processes. Every process has a place: servers those of their ids, clients others.
type network struct {
	s     *scheduler
	ways  map[[2]int]*way
	ports map[string]*listener
	hosts map[int]*process // by place, those that are on the network
	conns []*conn          // every end that may be open
	short time.Duration    // delays are at least this
	long  time.Duration    // and below this
	cuts  int              // of 100 writes and reads so many are cut into pieces
	// refuses is of how many of 100 attempts to connect the first fails.
	refuses int
	dialled int // how many connections there were
	room    int // see streamMax
}

// way is a direction between two places.
type way struct {
	name  string
	net   *network
	to    int
	cut   bool
	since time.Duration // when it was cut
	slow  time.Duration // added to every delay
	cuts  int
	held  []*stream // that had something arrive while the way was cut, once for each piece
}

// delay draws how long something takes.
func (w *way) delay(s *scheduler) time.Duration {
	if s.chance(1) {
		return w.slow + s.between(w.net.short, 20*w.net.long)
	}
	return w.slow + s.between(w.net.short, w.net.long)
}

func newNetwork(s *scheduler) *network {
	return &network{s: s, ways: map[[2]int]*way{}, ports: map[string]*listener{}, hosts: map[int]*process{},
		short: 50 * time.Microsecond, long: time.Millisecond, cuts: 5, room: streamMax}
}

// way returns the direction between two places.
func (n *network) way(from, to int) *way {
	k := [2]int{from, to}
	if n.ways[k] == nil {
		n.ways[k] = &way{name: fmt.Sprintf("net %d>%d", from, to), net: n, to: to, cuts: n.cuts}
	}
	return n.ways[k]
}

// heal opens all directions. What was held arrives.
func (n *network) heal() {
	keys := make([][2]int, 0, len(n.ways))
	for k := range n.ways {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		w := n.ways[k]
		w.slow = 0
		n.open(w)
	}
}

// close cuts a direction.
func (w *way) close() { w.cut, w.since = true, w.net.s.now }

// open ends the cut of a direction.
func (n *network) open(w *way) {
	w.cut = false
	held := w.held
	w.held = nil
	for _, st := range held {
		st.arrive()
	}
}

// plug connects a process. It takes the place of the one that was there.
func (n *network) plug(place int, p *process) *host {
	n.hosts[place] = p
	return &host{n, place, p}
}

// unplug ends the connections of a process that has died, and closes its ports. With word the other ends hear of it.
func (n *network) unplug(h *host, word bool) {
	if n.hosts[h.place] == h.p {
		delete(n.hosts, h.place)
	}
	for _, address := range slices.Sorted(maps.Keys(n.ports)) {
		if l := n.ports[address]; l.h == h {
			_ = l.Close()
		}
	}
	kept := n.conns[:0]
	for _, c := range n.conns {
		switch {
		case c.p != h.p:
			if !c.in.gone || !c.out.sealed {
				kept = append(kept, c)
			}
		case word && n.s.chance(50):
			c.out.lose()
			c.in.lose()
		case word:
			_ = c.Close()
		default:
			c.in.orphan, c.in.since = true, n.s.now
		}
	}
	clear(n.conns[len(kept):])
	n.conns = kept
}

// betweenServers returns the ends of connections between servers.
func (n *network) betweenServers() (all []*conn) {
	for _, c := range n.conns {
		if c.in.way.to < clientPlace && c.out.way.to < clientPlace {
			all = append(all, c)
		}
	}
	return all
}

// host is a process on the network.
type host struct {
	net   *network
	place int
	p     *process
}

// dialMax is how long an attempt to connect lasts while nothing answers.
const dialMax = 3 * time.Second

// dial connects to a port. While the way is cut it waits. It is called by a task of the process.
func (h *host) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n := h.net
	refused := &net.OpError{Op: "dial", Net: "sim", Err: syscall.ECONNREFUSED}
	place := placeOf(address)
	there, back := n.way(h.place, place), n.way(place, h.place)
	h.sleep(there.delay(n.s))
	for began := n.s.now; there.cut || back.cut; h.sleep(10 * time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return nil, &net.OpError{Op: "dial", Net: "sim", Err: err}
		}
		if n.s.now-began > dialMax {
			return nil, &net.OpError{Op: "dial", Net: "sim", Err: syscall.ETIMEDOUT}
		}
	}
	if n.s.chance(n.refuses) {
		return nil, refused
	}
	l := n.ports[address]
	if l == nil || len(l.backlog) >= backlogMax || n.hosts[place] == nil {
		return nil, refused
	}
	n.dialled++
	local := addrOf(fmt.Sprintf("%s:%d", hostName(h.place), 10_000+n.dialled%50_000))
	out, in := &stream{s: n.s, way: there}, &stream{s: n.s, way: back}
	out.back, in.back = in, out
	near := &conn{p: h.p, in: in, out: out, local: local, remote: l.Addr()}
	far := &conn{p: l.h.p, in: out, out: in, local: l.Addr(), remote: local}
	n.conns = append(n.conns, near, far)
	l.backlog = append(l.backlog, far)
	l.accepts.wake()
	h.sleep(back.delay(n.s))
	return near, nil
}

// sleep lets a task wait.
func (h *host) sleep(d time.Duration) {
	k := &parker{p: h.p}
	n := h.net
	n.s.plan(d, h.p, "sleep", k.Unpark)
	k.Park()
}

// listen opens a port.
func (h *host) listen(_, address string) (net.Listener, error) {
	if h.net.ports[address] != nil {
		return nil, &net.OpError{Op: "listen", Net: "sim", Err: syscall.EADDRINUSE}
	}
	l := &listener{h: h, address: address}
	h.net.ports[address] = l
	return l, nil
}

// backlogMax is how many connections wait to be accepted.
const backlogMax = 64

// listener is an open port. It implements net.Listener.
type listener struct {
	h       *host
	address string
	backlog []*conn
	closed  bool
	accepts waiter
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		switch {
		case l.closed:
			return nil, net.ErrClosed
		case len(l.backlog) > 0:
			c := l.backlog[0]
			l.backlog = l.backlog[1:]
			return c, nil
		}
		l.accepts.wait(l.h.p)
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	if l.h.net.ports[l.address] == l {
		delete(l.h.net.ports, l.address)
	}
	l.shut()
	return nil
}

func (l *listener) shut() {
	l.closed = true
	for _, c := range l.backlog {
		_ = c.Close()
	}
	l.backlog = nil
	l.accepts.wake()
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return addrOf(l.address) }

// hostName is the address of a place.
func hostName(place int) string { return fmt.Sprintf("10.0.%d.%d", place>>8, place&255) }

// placeOf is the place that an address with a port belongs to.
func placeOf(address string) int {
	a := netip.MustParseAddrPort(address).Addr().As4()
	return int(a[2])<<8 | int(a[3])
}

func addrOf(address string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
}
