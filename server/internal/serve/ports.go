package serve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/socket"
)

// clientListener is a client port.
type clientListener struct {
	net.Listener
	speaks language
	asked  config.HostPort // address in the configuration
	closed bool            // in vain, and it could not be opened again; owned by the goroutine that moves client ports
}

// clientPorts are the client ports: they open, move and close. Connections are accepted elsewhere. Any goroutine may
// use them.
type clientPorts struct {
	env    *env.Env
	listen func(network, address string) (net.Listener, error) // Options.ListenClient
	known  map[string][]string                                 // last addresses of names; set by Listen
	// tls reports whether there are certificates, and accept takes the connections of a port until it is closed.
	tls    func() bool
	accept func(ln *clientListener)

	mu struct {
		sync.Mutex
		open   []*clientListener // the plain one first
		closed bool              // for good
	}
}

// Listen opens the client ports, the plain one first. The known addresses of names are used while no name server
// answers.
func (p *clientPorts) Listen(known map[string][]string) error {
	p.known = known
	if err := p.listenOn(p.env.Config.ClientPortAddress, p.env.Config.ClientPort, p.SpeaksOnClientPort()); err != nil {
		return err
	}
	return p.listenOn(p.env.Config.SecureClientPortAddress, p.env.Config.SecureClientPort, SpeaksTLS)
}

// SpeaksOnClientPort is what clients may speak on clientPort.
func (p *clientPorts) SpeaksOnClientPort() language {
	if p.env.Config.ClientPortUnification {
		return speaksEither
	}
	return speaksPlain
}

// listenOn opens one client port at the start.
func (p *clientPorts) listenOn(host string, port int, speaks language) error {
	if port < 0 {
		p.env.Log.Info(keyOf(speaks) + " is not set")
		return nil
	}
	ln, err := p.openClientPort(host, port, speaks)
	if err != nil {
		return err
	}
	p.replaceListener(nil, ln)
	return nil
}

// answerWait is how long an answer of the name server is waited for if there are known addresses.
const answerWait = 250 * time.Millisecond

// toBind returns host, or its last known address if it is a name that does not resolve, or not soon.
func (p *clientPorts) toBind(host string) string {
	known := p.known[host]
	if len(known) == 0 {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	_, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil {
		return host
	}
	p.env.Log.Warn("host name of a client port does not resolve: listening on its last known address",
		zap.String("host", host), zap.Strings("last_known", known), zap.Error(err))
	return socket.ToBind(known)
}

func (p *clientPorts) openClientPort(host string, port int, speaks language) (*clientListener, error) {
	addr, hint := hostPort(host, port), hostPort(p.toBind(host), port)
	listen := listenTCP
	if p.listen != nil {
		listen = p.listen
	}
	ln, err := listen("tcp", hint)
	if err != nil && hint != addr { // the last known address is another machine's by now
		ln, err = listen("tcp", addr)
	}
	if err != nil {
		key, why := keyOf(speaks), inuse.Explain(err)
		var taken *inuse.Error
		if host := key + "Address"; !errors.As(why, &taken) && p.env.Config.Given(host) {
			key = host // the port is free
		}
		return nil, &BindError{Key: p.env.Config.Named(key), Addr: addr, Err: why}
	}
	if n := p.env.Config.ListenBacklog; n > 0 {
		if err := setBacklog(ln, n); err != nil {
			p.env.Log.Warn("cannot set the listen backlog of a client port: it stays at the system's default",
				zap.Stringer("addr", ln.Addr()), zap.Int("wanted", n), zap.Error(err))
		}
	}
	p.env.Log.Info("listening for clients", zap.Stringer("addr", ln.Addr()), zap.Stringer("speaks", speaks))
	return &clientListener{Listener: ln, speaks: speaks, asked: config.HostPort{Host: host, Port: port}}, nil
}

// replaceListener closes old and puts ln in its place, or at the end if there is no old one. It reports false if
// the server is stopping.
func (p *clientPorts) replaceListener(old, ln *clientListener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return false
	}
	if i := slices.Index(p.mu.open, old); i >= 0 {
		p.mu.open[i] = ln
		_ = old.Close()
		return true
	}
	p.mu.open = append(p.mu.open, ln)
	return true
}

func (p *clientPorts) clientListeners() []*clientListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mu.open)
}

// listenerFor returns the client port for TLS only, or the other one; nil if it is not open.
func (p *clientPorts) listenerFor(speaks language) *clientListener {
	for _, ln := range p.clientListeners() {
		if (ln.speaks == SpeaksTLS) == (speaks == SpeaksTLS) {
			return ln
		}
	}
	return nil
}

// CloseClientPorts closes the client ports for good.
func (p *clientPorts) CloseClientPorts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	for _, ln := range p.mu.open {
		_ = ln.Close()
	}
}

// SecureAddr is the address of the TLS client port, or nil if there is none.
func (p *clientPorts) SecureAddr() net.Addr { return p.addrOf(SpeaksTLS) }

func (p *clientPorts) addrOf(speaks language) net.Addr {
	if ln := p.listenerFor(speaks); ln != nil {
		return ln.Addr()
	}
	return nil
}

// MoveClientPort opens a client port on the address that the server line has now, and closes it on the old address.
// Existing connections go on. It reports false if the new address cannot be opened: clients are served on the old one
// then, and the log says so, unless it was tried before. Source: quorum-protocol 11.5.
func (p *clientPorts) MoveClientPort(to config.HostPort, key string, speaks language, triedBefore bool) bool {
	if to.Port == config.PortUnset || speaks == SpeaksTLS && !p.tls() {
		return true
	}
	old := p.listenerFor(speaks)
	if old != nil && !old.closed && sameAddress(old.asked, to) {
		return true
	}
	ln, err := p.openClientPort(to.Host, to.Port, speaks)
	if err != nil && triedBefore {
		if old != nil && old.closed {
			p.reopen(old, key)
		}
		return false
	}
	if err != nil && old != nil && old.asked.Port == to.Port { // the old listener may block the port
		_ = old.Close()
		if ln, err = p.openClientPort(to.Host, to.Port, speaks); err != nil {
			p.reopen(old, key)
		}
	}
	if err != nil {
		p.env.Log.Error("cannot open the configured client port: clients are served on the old address until it opens",
			zap.String("port", key), zap.Error(err))
		return false
	}
	p.use(old, ln)
	return true
}

// reopen opens a client port again that was closed in vain.
func (p *clientPorts) reopen(old *clientListener, key string) {
	ln, err := p.openClientPort(old.asked.Host, old.asked.Port, old.speaks)
	if old.closed = err != nil; old.closed {
		p.env.Log.Error("cannot reopen the client port: no client can connect to it", zap.String("port", key),
			zap.Error(err))
		return
	}
	p.use(old, ln)
}

// use serves clients on ln, in the place of old.
func (p *clientPorts) use(old, ln *clientListener) {
	if !p.replaceListener(old, ln) || !p.env.Spawn("accept", func() { p.accept(ln) }) {
		_ = ln.Close()
	}
}

// Addr is the address of the plain client port, or nil if there is none.
func (p *clientPorts) Addr() net.Addr { return p.addrOf(speaksPlain) }

// PortNumbers returns the ports to which clients connect.
func (p *clientPorts) PortNumbers() (plain, secure int) {
	return portOf(p.Addr(), p.env.Config.ClientPort), portOf(p.SecureAddr(), p.env.Config.SecureClientPort)
}

// listenTCP opens a port. Its connections have no keep-alive probes until admit asks for them, while Go's default
// has probes. The port does not offer Multipath TCP, which is Go's default: no client of ZooKeeper uses it, and
// every connection would pay for the attempt.
func listenTCP(network, addr string) (net.Listener, error) {
	c := net.ListenConfig{KeepAlive: -1}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), network, addr)
}

// keyOf is the key of the configuration that has the port where clients speak so.
func keyOf(speaks language) string {
	if speaks == SpeaksTLS {
		return "secureClientPort"
	}
	return "clientPort"
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

// portOf is the port of an address, or the configured one if there is none.
func portOf(addr net.Addr, configured int) int {
	if a, ok := addr.(*net.TCPAddr); ok {
		return a.Port
	}
	return configured
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
