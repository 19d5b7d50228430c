package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/limits"
)

// listen opens the client ports, the plain one first.
func (s *front) listen() error {
	if err := s.secure(); err != nil {
		return err
	}
	if err := s.listenOn(s.cfg.ClientPortAddress, s.cfg.ClientPort, "clientPort", s.speaksOnClientPort()); err != nil {
		return err
	}
	return s.listenOn(s.cfg.SecureClientPortAddress, s.cfg.SecureClientPort, "secureClientPort", speaksTLS)
}

// speaksOnClientPort is what clients may speak on the port that is not only for TLS.
func (s *front) speaksOnClientPort() language {
	if s.cfg.ClientPortUnification {
		return speaksEither
	}
	return speaksPlain
}

// listenOn opens one client port at the start.
func (s *front) listenOn(host string, port int, key string, speaks language) error {
	if port < 0 {
		s.log.Info(key + " is not set")
		return nil
	}
	ln, err := s.openClientPort(host, port, speaks)
	if err != nil {
		return err
	}
	s.replaceListener(nil, ln)
	return nil
}

// openClientPort opens one client port.
func (s *front) openClientPort(host string, port int, speaks language) (*clientListener, error) {
	addr := hostPort(host, port)
	listen := listenTCP
	if s.listenClient != nil {
		listen = s.listenClient
	}
	ln, err := listen("tcp", addr)
	if err != nil {
		return nil, &BindError{Addr: addr, Err: err}
	}
	if n := s.cfg.ListenBacklog; n > 0 {
		if err := setBacklog(ln, n); err != nil {
			s.log.Warn("the backlog of a client port stays the system's", zap.Stringer("addr", ln.Addr()), zap.Int("wanted", n), zap.Error(err))
		}
	}
	s.log.Info("listening for clients", zap.Stringer("addr", ln.Addr()), zap.Stringer("speaks", speaks))
	return &clientListener{ln, speaks, config.HostPort{Host: host, Port: port}}, nil
}

// listenTCP opens a port whose connections have no keep-alive probes until admit asks for them: Go's own are on. It does not speak
// Multipath TCP, as Go's do: no client of ZooKeeper does, and every connection would pay for the attempt.
func listenTCP(network, addr string) (net.Listener, error) {
	c := net.ListenConfig{KeepAlive: -1}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), network, addr)
}

// clientListener is a client port.
type clientListener struct {
	net.Listener
	speaks language
	asked  config.HostPort // where it was to be
}

// clientPorts is the client ports that are open, the plain one first.
type clientPorts struct {
	sync.Mutex
	open   []*clientListener
	closed bool // the server stops
}

// replaceListener puts ln in the place of old, which it closes; at the end if there is no old one. It reports false if the server stops.
func (s *front) replaceListener(old, ln *clientListener) bool {
	s.ports.Lock()
	defer s.ports.Unlock()
	if s.ports.closed {
		return false
	}
	if i := slices.Index(s.ports.open, old); i >= 0 {
		s.ports.open[i] = ln
		_ = old.Close()
		return true
	}
	s.ports.open = append(s.ports.open, ln)
	return true
}

// clientListeners returns the open client ports.
func (s *front) clientListeners() []*clientListener {
	s.ports.Lock()
	defer s.ports.Unlock()
	return slices.Clone(s.ports.open)
}

// clientListener returns the client port for TLS alone, or the other one; nil if it is not open.
func (s *front) clientListener(speaks language) *clientListener {
	for _, ln := range s.clientListeners() {
		if (ln.speaks == speaksTLS) == (speaks == speaksTLS) {
			return ln
		}
	}
	return nil
}

// closeClientPorts closes them for good.
func (s *front) closeClientPorts() {
	s.ports.Lock()
	defer s.ports.Unlock()
	s.ports.closed = true
	for _, ln := range s.ports.open {
		_ = ln.Close()
	}
}

// language is what the first byte of a connection may begin.
type language uint8

const (
	speaksPlain language = iota
	speaksTLS
	speaksEither
)

// String names the language for the log.
func (l language) String() string { return [...]string{"plain text", "TLS", "plain text and TLS"}[l] }

// secureAddr is the address of the TLS client port, or nil if there is none.
func (s *front) secureAddr() net.Addr {
	if ln := s.clientListener(speaksTLS); ln != nil {
		return ln.Addr()
	}
	return nil
}

// BindError is returned by Start when the client port cannot be bound. Its exit code is 14, as
// ZooKeeper's.
type BindError struct {
	Addr string
	Err  error
}

// Error names the address and the reason.
func (e *BindError) Error() string {
	return "server: cannot listen on " + e.Addr + ": " + e.Err.Error() + " (is another server running?)"
}

// Unwrap returns the reason.
func (e *BindError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *BindError) ExitCode() int { return 14 }

// acceptPause is how long accepting rests after an error such as too many open files.
const acceptPause = 10 * time.Millisecond

// accept takes connections until the listener is closed.
func (s *front) accept(ln *clientListener) {
	look := newPeek()
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil && look.gone(nc):
			_ = nc.Close()
		case err == nil:
			s.admit(nc, ln.speaks)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			s.log.Warn("accepting connections", zap.Error(err))
			sched.Sleep(s.rt, acceptPause)
		}
	}
}

// admit starts a reader for a connection, or closes it if there are too many.
func (s *front) admit(nc net.Conn, speaks language) {
	c := newConn(s, nc)
	c.securePort = speaks == speaksTLS
	if speaks != speaksPlain && !c.guard(speaks) {
		s.reject(nc)
		return
	}
	reserved, err := s.conns.add(c)
	if err != nil {
		s.metrics.connectionRejected.Inc()
		s.log.Warn("refusing connection", zap.Stringer("client_addr", c.remote), zap.Error(err))
		s.reject(nc)
		return
	}
	if speaks == speaksPlain {
		s.metrics.admitted(c.remote.Addr())
	}
	serve := c.serve
	if reserved {
		serve = c.serveWordOnly
	}
	if c.secure != nil {
		serve = c.afterHandshake(serve)
	}
	if s.cfg.TCPKeepAlive {
		if t, ok := nc.(*net.TCPConn); ok {
			_ = t.SetKeepAlive(true)
		}
	}
	if !s.start("reader", serve) {
		s.conns.remove(c)
		s.reject(nc)
	}
}

// reject closes a socket with a reset, as ZooKeeper does: the client learns at once.
func (s *front) reject(nc net.Conn) {
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = nc.Close()
}

// connSet is the open connections, and the limits on them. Source: server-semantics 11.1.
type connSet struct {
	maxPerAddr, maxTotal int // 0 is unlimited
	mu                   struct {
		sync.Mutex
		all      map[*conn]struct{}
		perAddr  map[netip.Addr]*address
		reserved int
	}
}

// address is what the connections from one address share.
type address struct {
	conns int // how many there are; guarded by connSet.mu
	rate  limits.Rate
}

// wordReserve is how many connections beyond the limits may ask a four-letter word: monitoring must
// not go blind exactly when the limits are reached.
const wordReserve = 16

var (
	errTooManyFromAddr = errors.New("too many connections from this address: maxClientCnxns is reached")
	errTooMany         = errors.New("too many connections: maxCnxns is reached")
)

func newConnSet(maxPerAddr, maxTotal int) *connSet {
	cs := &connSet{maxPerAddr: maxPerAddr, maxTotal: maxTotal}
	cs.mu.all = map[*conn]struct{}{}
	cs.mu.perAddr = map[netip.Addr]*address{}
	return cs
}

// add admits c. Reserved means that a limit is reached, and c may only ask a four-letter word.
func (cs *connSet) add(c *conn) (reserved bool, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	from := cs.mu.perAddr[c.remote.Addr()]
	switch {
	case cs.maxTotal > 0 && len(cs.mu.all)-cs.mu.reserved >= cs.maxTotal:
		err = errTooMany
	case cs.maxPerAddr > 0 && from != nil && from.conns >= cs.maxPerAddr:
		err = errTooManyFromAddr
	}
	if err != nil {
		if cs.mu.reserved >= wordReserve {
			return false, err
		}
		cs.mu.reserved++
		c.reserved = true
	} else {
		if from == nil {
			from = new(address)
			cs.mu.perAddr[c.remote.Addr()] = from
		}
		from.conns++
		c.address = from
	}
	cs.mu.all[c] = struct{}{}
	return c.reserved, nil
}

// remove forgets c. It may be called again.
func (cs *connSet) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, ok := cs.mu.all[c]; !ok {
		return
	}
	delete(cs.mu.all, c)
	if c.reserved {
		cs.mu.reserved--
		return
	}
	if c.address.conns--; c.address.conns == 0 {
		delete(cs.mu.perAddr, c.remote.Addr())
	}
}

func (cs *connSet) len() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.mu.all)
}

// each calls fn for every connection that was open when it began.
func (cs *connSet) each(fn func(*conn)) {
	cs.mu.Lock()
	all := make([]*conn, 0, len(cs.mu.all))
	for c := range cs.mu.all {
		all = append(all, c)
	}
	cs.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}
