package serve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/socket"
)

// Listen opens the client ports, the plain one first. The known addresses of names are used while no name server
// answers.
func (s *Front) Listen(known map[string][]string) error {
	s.known = known
	if err := s.listenOn(s.Config.ClientPortAddress, s.Config.ClientPort, s.SpeaksOnClientPort()); err != nil {
		return err
	}
	return s.listenOn(s.Config.SecureClientPortAddress, s.Config.SecureClientPort, SpeaksTLS)
}

// SpeaksOnClientPort is what clients may speak on clientPort.
func (s *Front) SpeaksOnClientPort() language {
	if s.Config.ClientPortUnification {
		return speaksEither
	}
	return speaksPlain
}

// listenOn opens one client port at the start.
func (s *Front) listenOn(host string, port int, speaks language) error {
	if port < 0 {
		s.Log.Info(keyOf(speaks) + " is not set")
		return nil
	}
	ln, err := s.openClientPort(host, port, speaks)
	if err != nil {
		return err
	}
	s.replaceListener(nil, ln)
	return nil
}

// answerWait is how long an answer of the name server is waited for if there are known addresses.
const answerWait = 250 * time.Millisecond

// toBind returns host, or its last known address if it is a name that does not resolve, or not soon.
func (s *Front) toBind(host string) string {
	known := s.known[host]
	if len(known) == 0 {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	_, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil {
		return host
	}
	s.Log.Warn("host name of a client port does not resolve: listening on its last known address",
		zap.String("host", host), zap.Strings("last_known", known), zap.Error(err))
	return socket.ToBind(known)
}

// openClientPort opens one client port.
func (s *Front) openClientPort(host string, port int, speaks language) (*clientListener, error) {
	addr, hint := hostPort(host, port), hostPort(s.toBind(host), port)
	listen := listenTCP
	if s.listenClient != nil {
		listen = s.listenClient
	}
	ln, err := listen("tcp", hint)
	if err != nil && hint != addr { // the last known address is another machine's by now
		ln, err = listen("tcp", addr)
	}
	if err != nil {
		key, why := keyOf(speaks), inuse.Explain(err)
		var taken *inuse.Error
		if host := key + "Address"; !errors.As(why, &taken) && s.Config.Given(host) {
			key = host // the port is free
		}
		return nil, &BindError{Key: s.Config.Named(key), Addr: addr, Err: why}
	}
	if n := s.Config.ListenBacklog; n > 0 {
		if err := setBacklog(ln, n); err != nil {
			s.Log.Warn("cannot set the listen backlog of a client port: it stays at the system's default",
				zap.Stringer("addr", ln.Addr()), zap.Int("wanted", n), zap.Error(err))
		}
	}
	s.Log.Info("listening for clients", zap.Stringer("addr", ln.Addr()), zap.Stringer("speaks", speaks))
	return &clientListener{ln, speaks, config.HostPort{Host: host, Port: port}}, nil
}

// listenTCP opens a port. Its connections have no keep-alive probes until admit asks for them, while Go's default
// has probes. The port does not offer Multipath TCP, which is Go's default: no client of ZooKeeper uses it, and
// every connection would pay for the attempt.
func listenTCP(network, addr string) (net.Listener, error) {
	c := net.ListenConfig{KeepAlive: -1}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), network, addr)
}

// replaceListener closes old and puts ln in its place, or at the end if there is no old one. It reports false if
// the server is stopping.
func (s *Front) replaceListener(old, ln *clientListener) bool {
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
func (s *Front) clientListeners() []*clientListener {
	s.ports.Lock()
	defer s.ports.Unlock()
	return slices.Clone(s.ports.open)
}

// listenerFor returns the client port for TLS only, or the other one; nil if it is not open.
func (s *Front) listenerFor(speaks language) *clientListener {
	for _, ln := range s.clientListeners() {
		if (ln.speaks == SpeaksTLS) == (speaks == SpeaksTLS) {
			return ln
		}
	}
	return nil
}

// CloseClientPorts closes the client ports for good.
func (s *Front) CloseClientPorts() {
	s.ports.Lock()
	defer s.ports.Unlock()
	s.ports.closed = true
	for _, ln := range s.ports.open {
		_ = ln.Close()
	}
}

// SecureAddr is the address of the TLS client port, or nil if there is none.
func (s *Front) SecureAddr() net.Addr { return s.addrOf(SpeaksTLS) }

func (s *Front) addrOf(speaks language) net.Addr {
	if ln := s.listenerFor(speaks); ln != nil {
		return ln.Addr()
	}
	return nil
}

// keyOf is the key of the configuration that has the port where clients speak so.
func keyOf(speaks language) string {
	if speaks == SpeaksTLS {
		return "secureClientPort"
	}
	return "clientPort"
}

// BindError is returned by Start when a client port cannot be bound. Its exit code is 14, as ZooKeeper's.
type BindError struct {
	Key  string // of the configuration, which has the port, with its place, as of config.Config.Named
	Addr string
	Err  error
}

// Error names the address, the key and the reason.
func (e *BindError) Error() string {
	return "server: cannot listen on " + e.Addr + " (" + e.Key + "): " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *BindError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *BindError) ExitCode() int { return 14 }

// AcceptAll begins to take connections on the ports that are open.
func (s *Front) AcceptAll() {
	for _, ln := range s.clientListeners() {
		s.Spawn("accept", func() { s.accept(ln) })
	}
}

// acceptPause is how long accept pauses after an error such as too many open files.
const acceptPause = 10 * time.Millisecond

// accept takes connections until the listener is closed.
func (s *Front) accept(ln *clientListener) {
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
			s.Log.Warn("cannot accept client connections: trying again", zap.Error(err))
			sched.Sleep(s.Runtime, acceptPause)
		}
	}
}

// admit starts a reader for a connection, or closes it if there are too many.
func (s *Front) admit(nc net.Conn, speaks language) {
	c := newConn(s, nc)
	r := newReader(c)
	c.SecurePort = speaks == SpeaksTLS
	if speaks != speaksPlain && !c.guard(speaks) {
		s.reject(nc)
		return
	}
	reserved, err := s.Conns.add(c, socket.TakesReserved(nc))
	if err != nil {
		c.refused(err)
		s.reject(nc)
		return
	}
	if speaks == speaksPlain {
		s.Metrics.Admitted(c.Remote.Addr())
	}
	serve := r.serve
	if reserved {
		serve = r.serveWordOnly
	}
	if c.secure != nil {
		serve = r.afterHandshake(serve)
	}
	if s.Config.TCPKeepAlive {
		if t, ok := nc.(*net.TCPConn); ok {
			_ = t.SetKeepAlive(true)
		}
	}
	if !s.Spawn("reader", serve) {
		s.Conns.remove(c)
		s.reject(nc)
	}
}

// reject closes a socket with a reset, as ZooKeeper does: the client notices it at once.
func (s *Front) reject(nc net.Conn) {
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = nc.Close()
}

// MoveClientPort opens a client port on the address that the server line has now, and closes it on the old address.
// Existing connections go on. It reports false if the new address cannot be opened: clients are served on the old one
// then, and the log says so, unless it was tried before. Source: quorum-protocol 11.5.
func (s *Front) MoveClientPort(to config.HostPort, key string, speaks language, triedBefore bool) bool {
	if to.Port == config.PortUnset || speaks == SpeaksTLS && s.security.tls == nil {
		return true
	}
	old := s.listenerFor(speaks)
	if old != nil && sameAddress(old.asked, to) {
		return true
	}
	ln, err := s.openClientPort(to.Host, to.Port, speaks)
	if err != nil && triedBefore {
		return false
	}
	if err != nil && old != nil && old.asked.Port == to.Port { // the old listener may block the port
		_ = old.Close()
		if ln, err = s.openClientPort(to.Host, to.Port, speaks); err != nil {
			s.reopen(old, key)
		}
	}
	if err != nil {
		s.Log.Error("cannot open the configured client port: clients are served on the old address until it opens",
			zap.String("port", key), zap.Error(err))
		return false
	}
	s.use(old, ln)
	return true
}

// reopen opens a client port again that was closed in vain.
func (s *Front) reopen(old *clientListener, key string) {
	ln, err := s.openClientPort(old.asked.Host, old.asked.Port, old.speaks)
	if err != nil {
		s.Log.Error("cannot reopen the client port: no client can connect to it", zap.String("port", key),
			zap.Error(err))
		return
	}
	s.use(old, ln)
}

// use serves clients on ln, in the place of old.
func (s *Front) use(old, ln *clientListener) {
	if !s.replaceListener(old, ln) || !s.Spawn("accept", func() { s.accept(ln) }) {
		_ = ln.Close()
	}
}

// sameAddress reports whether two client addresses are the same. An empty host means all addresses.
func sameAddress(a, b config.HostPort) bool {
	return a.Port == b.Port && (a.Host == b.Host || anyHost(a.Host) && anyHost(b.Host))
}

func anyHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

// hostPort is the address in the form that net.Listen takes.
func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// Addr is the address of the plain client port, or nil if there is none.
func (s *Front) Addr() net.Addr { return s.addrOf(speaksPlain) }

// PortNumbers returns the ports to which clients connect.
func (s *Front) PortNumbers() (plain, secure int) {
	return portOf(s.Addr(), s.Config.ClientPort), portOf(s.SecureAddr(), s.Config.SecureClientPort)
}

// portOf is the port of an address, or the configured one if there is none.
func portOf(addr net.Addr, configured int) int {
	if a, ok := addr.(*net.TCPAddr); ok {
		return a.Port
	}
	return configured
}
