package limits

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Handshakes bounds the processors that TLS handshakes have: those on all ports for clients and operators together,
// and those of other servers, which do not wait for clients but for each other. To sign for a client
// takes a thousand times what it costs to ask for it, and without a bound a stranger that only asks has all
// processors. A handshake works in one of the turns of busy connections, of which there are fewer than processors.
// Waiting ones are served address by address, so that one that begins very many makes only its own wait.
//
// A handshake waits from the client's first message on, and again with each piece of the client's answer, which has a
// certificate to be verified, or a key for which the server signs. It has no turn while it waits for its socket.
type Handshakes struct {
	turns Turns
	mu    struct {
		sync.Mutex
		free    int
		waiting map[netip.Prefix][]chan struct{} // the oldest first; no entry is empty
		next    []netip.Prefix                   // keys of waiting, in the order of their turns
	}
}

// NewHandshakes returns a bound for handshakes, which share turns with busy connections.
func NewHandshakes(turns Turns) *Handshakes {
	h := &Handshakes{turns: turns}
	h.mu.free = cap(turns)
	h.mu.waiting = map[netip.Prefix][]chan struct{}{}
	return h
}

// take waits for a turn, and reports whether it had to.
func (h *Handshakes) take(from netip.Prefix) (waited bool) {
	waited = h.wait(from)
	h.turns.Take()
	return waited
}

// wait waits for a place among the handshakes that work, and reports whether it had to.
func (h *Handshakes) wait(from netip.Prefix) (waited bool) {
	h.mu.Lock()
	if h.mu.free > 0 {
		h.mu.free--
		h.mu.Unlock()
		return false
	}
	turn := make(chan struct{})
	if h.mu.waiting[from] == nil {
		h.mu.next = append(h.mu.next, from)
	}
	h.mu.waiting[from] = append(h.mu.waiting[from], turn)
	h.mu.Unlock()
	<-turn
	return true
}

// pass gives the turn to the next one.
func (h *Handshakes) pass() {
	h.turns.Pass()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.next) == 0 {
		h.mu.free++
		return
	}
	from := h.mu.next[0]
	h.mu.next = h.mu.next[1:]
	turn := h.mu.waiting[from][0]
	if rest := h.mu.waiting[from][1:]; len(rest) > 0 {
		h.mu.waiting[from] = rest
		h.mu.next = append(h.mu.next, from)
	} else {
		delete(h.mu.waiting, from)
	}
	close(turn)
}

// Handshake is the handshake of one connection. One goroutine owns it, the one that performs the handshake; after End
// its methods do nothing.
type Handshake struct {
	of    *Handshakes
	from  netip.Prefix
	stage stage
	works atomic.Bool // it has a turn
}

type stage uint8

const (
	unasked  stage = iota // the first message of the client has not arrived
	asked                 // it is being answered
	answered              // the client's answer is waited for
	settled               // nothing is left that takes long
)

// Of returns the handshake of a connection from an address.
func (h *Handshakes) Of(addr netip.Addr) Handshake { return Handshake{of: h, from: Network(addr)} }

// Begin waits for the turn to answer the first message, which has arrived. It reports whether it had to wait.
func (s *Handshake) Begin() (waited bool) {
	if s.stage != unasked {
		return false
	}
	s.stage = asked
	waited = s.of.take(s.from)
	s.works.Store(true)
	return waited
}

// Pause ends the turn, if there is one. It is called before anything that may wait for the client, and when the
// connection is closed, then by any goroutine.
func (s *Handshake) Pause() {
	if s.works.Load() && s.works.CompareAndSwap(true, false) {
		s.of.pass()
	}
}

// Sent says that a message was sent, after Pause.
func (s *Handshake) Sent() {
	if s.stage == asked {
		s.stage = answered
	}
}

// Received waits for the turn to look at what has just arrived, if that is a piece of the client's answer.
func (s *Handshake) Received() {
	if s.stage == answered {
		s.of.take(s.from)
		s.works.Store(true)
	}
}

// End ends the turn when the handshake is over.
func (s *Handshake) End() {
	s.stage = settled
	s.Pause()
}

// EndHandshake is End for a connection of Listen or Server. Who serves it calls EndHandshake when something has come
// behind the handshake, before that is looked at.
func EndHandshake(nc net.Conn) {
	if over, ok := nc.(*tls.Conn); ok {
		if below, ok := over.NetConn().(*shakingConn); ok {
			below.shake.End()
		}
	}
}

// Listen returns a listener of TLS whose handshakes have turns. cfg chooses by GetConfigForClient.
func (h *Handshakes) Listen(ln net.Listener, cfg *tls.Config) net.Listener {
	return &shakingListener{ln, h, h.Config(cfg)}
}

type shakingListener struct {
	net.Listener
	of  *Handshakes
	cfg *tls.Config
}

// Accept implements net.Listener.
func (l *shakingListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.of.Server(nc, l.cfg), nil
}

// Server is tls.Server for a connection whose handshake has turns. cfg is from Config.
func (h *Handshakes) Server(nc net.Conn, cfg *tls.Config) *tls.Conn {
	return tls.Server(h.below(nc), cfg)
}

func (h *Handshakes) below(nc net.Conn) *shakingConn {
	at, _ := netip.ParseAddrPort(nc.RemoteAddr().String())
	return &shakingConn{Conn: nc, shake: h.Of(at.Addr())}
}

// Shake performs the handshake of a connection as Server would, until ctx ends, and returns the connection to go on
// with. cfg is from Config. Who asks keeps the connection at the deadline of ctx.
func (h *Handshakes) Shake(ctx context.Context, nc net.Conn, cfg *tls.Config) (*tls.Conn, error) {
	below := h.below(nc)
	over := tls.Server(below, cfg)
	err := over.HandshakeContext(ctx)
	below.shake.End()
	return over, err
}

// Config returns cfg for connections of Server.
func (h *Handshakes) Config(cfg *tls.Config) *tls.Config {
	choose := cfg.GetConfigForClient
	turns := cfg.Clone()
	turns.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c, ok := hello.Conn.(*shakingConn); ok {
			c.shake.Begin()
			// A connection that was closed while it waited costs no more work.
			if until, ok := hello.Context().Deadline(); ok && c.SetDeadline(until) != nil {
				return nil, net.ErrClosed
			}
		}
		if choose == nil {
			return nil, nil
		}
		return choose(hello)
	}
	return turns
}

// shakingConn is the connection below TLS. Until the handshake is over only Close is called by another goroutine than
// the one that performs it.
type shakingConn struct {
	net.Conn
	shake Handshake
}

// Read implements net.Conn.
func (c *shakingConn) Read(b []byte) (int, error) {
	c.shake.Pause()
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.shake.Received()
	}
	return n, err
}

// Write implements net.Conn.
func (c *shakingConn) Write(b []byte) (int, error) {
	c.shake.Pause()
	n, err := c.Conn.Write(b)
	c.shake.Sent()
	return n, err
}

// Close implements net.Conn.
func (c *shakingConn) Close() error {
	c.shake.Pause()
	return c.Conn.Close()
}

// Pause ends the turn. Who is about to wait for anything else during the handshake, such as the lookup of a name,
// calls it first.
func (c *shakingConn) Pause() { c.shake.Pause() }

// NetConn returns the connection below, as that of *tls.Conn does.
func (c *shakingConn) NetConn() net.Conn { return c.Conn }
