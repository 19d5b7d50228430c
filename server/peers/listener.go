package peers

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// BindError says that a port cannot be bound.
type BindError struct {
	Port string // "election", "learner" or "observer master"
	Addr string
	Err  error
}

// Error names the port, the address and the reason.
func (e *BindError) Error() string {
	return "peers: cannot listen on " + e.Addr + " for the " + e.Port + " port: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *BindError) Unwrap() error { return e.Err }

// acceptPause is the pause after an error of accepting, such as too many open files.
const acceptPause = 10 * time.Millisecond

// port is one of the ports of this server.
type port struct {
	name    string // "election", "learner" or "observer master"
	lobby   lobby
	serve   func(net.Conn) // serves an accepted connection, which is in the lobby
	gathers bool           // see tune
	mu      struct {
		sync.Mutex
		bound map[string]*binding // by address; an address may not be bound yet
	}
}

// binding is an address of a port.
type binding struct {
	address  string
	attempts int // to bind it; 0 is no limit
	mu       struct {
		sync.Mutex
		ln   net.Listener // nil before it is bound
		over bool         // the address was given up
	}
}

// end gives up the address.
func (b *binding) end(p *Peers) {
	b.mu.Lock()
	ln := b.mu.ln
	b.mu.over = true
	b.mu.Unlock()
	if ln != nil {
		p.unlisten(ln)
	}
}

// holds sets the listener. It returns false if the address was given up meanwhile.
func (b *binding) holds(ln net.Listener) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.ln = ln
	return !b.mu.over
}

// over reports whether the address was given up.
func (b *binding) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.over
}

// listen binds a port on the given addresses of this server, and gives up its other addresses. An address that cannot
// be bound now is tried again in the background: its name may not resolve yet.
func (p *Peers) listen(at *port, addresses []string, attempts int) {
	wanted := map[string]*binding{}
	var added []*binding
	at.mu.Lock()
	for _, address := range addresses {
		if _, number, _ := net.SplitHostPort(address); p.cfg.ListenAllIPs {
			address = ":" + number
		}
		if wanted[address] != nil {
			continue
		}
		b := at.mu.bound[address]
		if b == nil {
			b = &binding{address: address, attempts: attempts}
			added = append(added, b)
		}
		wanted[address] = b
		delete(at.mu.bound, address)
	}
	gone := at.mu.bound
	at.mu.bound = wanted
	at.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(gone)) {
		gone[address].end(p)
	}
	for _, b := range added {
		if host, _, _ := net.SplitHostPort(b.address); host != "" && net.ParseIP(host) == nil {
			p.start(at.name+" acceptor", func() { // to resolve the name may take long
				ln, err := p.cfg.Listen("tcp", b.address)
				p.bind(at, b, ln, err)
			})
			continue
		}
		ln, err := p.cfg.Listen("tcp", b.address)
		if !p.start(at.name+" acceptor", func() { p.bind(at, b, ln, err) }) && err == nil {
			_ = ln.Close()
		}
	}
}

// bind tries until the port is bound, then accepts.
func (p *Peers) bind(at *port, b *binding, ln net.Listener, err error) {
	attempt := 1
	for failures := 1; err != nil; failures++ {
		p.stats.bindFailures.Add(1)
		if failures&(failures-1) == 0 { // less and less often
			p.log.Warn("binding port", zap.String("port", at.name), zap.String("addr", b.address),
				zap.Int("failures", failures), zap.Error(err))
		}
		if !passing(err) {
			if attempt == b.attempts {
				p.fail(&BindError{Port: at.name, Addr: b.address, Err: err})
				return
			}
			attempt++
		}
		if !p.sleep(p.cfg.Timeouts.BindPause) || b.over() {
			return
		}
		ln, err = p.cfg.Listen("tcp", b.address)
	}
	if !p.listening(ln) {
		return
	}
	if !b.holds(ln) {
		p.unlisten(ln)
		return
	}
	p.log.Info("listening for servers", zap.String("port", at.name), zap.Stringer("addr", ln.Addr()))
	p.accept(ln, at)
}

// passing reports whether binding failed because the name of this server does not resolve yet, or because the address
// does not belong to this machine yet. Such a failure does not count as an attempt: in some clusters names appear
// later than processes.
func passing(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// accept takes connections until the listener is closed.
func (p *Peers) accept(ln net.Listener, at *port) {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			p.tune(nc, at.gathers)
			if !p.track(nc) {
				return
			}
			at.lobby.enter(nc)
			if !p.start(at.name+" connection", func() { at.serve(nc) }) {
				at.lobby.leave(nc)
				p.untrack(nc)
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			p.log.Warn("accepting connections of servers", zap.Error(err))
			if !p.sleep(acceptPause) {
				return
			}
		}
	}
}
