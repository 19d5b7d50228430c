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

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/socket"
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
		ln     net.Listener // nil before it is bound
		relies string       // the last known address of the name, if ln is bound to it and no lookup has confirmed it
		over   bool         // the address was given up
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
func (b *binding) holds(ln net.Listener, relies string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.ln, b.mu.relies = ln, relies
	return !b.mu.over
}

// refuted returns the listener if it is bound to a last known address that the answer for its name does not have.
func (b *binding) refuted(answer []string) (ln net.Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.relies != "" && !slices.Contains(answer, b.mu.relies) {
		ln = b.mu.ln
	}
	b.mu.relies = ""
	return ln
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
		if host, _ := split(b.address); isName(host) {
			p.group.Go(at.name+" acceptor", func() { // to resolve the name may take long
				ln, relies, err := p.listenAt(b.address)
				p.bind(at, b, ln, relies, err)
			})
			continue
		}
		ln, _, err := p.listenAt(b.address)
		if !p.group.Go(at.name+" acceptor", func() { p.bind(at, b, ln, "", err) }) && err == nil {
			_ = ln.Close()
		}
	}
}

// listenAt opens a port. A name is resolved; its last known address is taken (relies) if the lookup fails or has
// taken Timeouts.Resolve.
func (p *Peers) listenAt(address string) (ln net.Listener, relies string, err error) {
	host, number := split(address)
	if !isName(host) {
		ln, err = p.cfg.Listen("tcp", address)
		return ln, "", err
	}
	var answer []string
	var failure error
	told := sched.NewGate(p.rt)
	known, late := p.names.ask(host, func(ips []string, err error) {
		answer, failure = ips, err
		told.Open()
	})
	if len(known) == 0 {
		told.Wait()
	}
	switch {
	case told.WaitFor(p.cfg.Timeouts.Resolve-late) && failure == nil:
		known = answer
	case len(known) > 0:
		relies = socket.ToBind(known)
	default:
		return nil, "", failure
	}
	ln, err = p.cfg.Listen("tcp", net.JoinHostPort(socket.ToBind(known), number))
	return ln, relies, err
}

// rebind closes the listeners at last known addresses that the answer for their name does not bear out. Their
// acceptors bind the port anew.
func (p *Peers) rebind(host string, answer []string) {
	for _, at := range []*port{&p.election.port, &p.learner, &p.master} {
		at.mu.Lock()
		bound := maps.Clone(at.mu.bound)
		at.mu.Unlock()
		for _, address := range slices.Sorted(maps.Keys(bound)) {
			if of, _ := split(address); of == host {
				if ln := bound[address].refuted(answer); ln != nil {
					p.unlisten(ln)
				}
			}
		}
	}
}

// bind tries until the port is bound, then accepts. It ends when the port is closed, unless rebind has closed it.
func (p *Peers) bind(at *port, b *binding, ln net.Listener, relies string, err error) {
	for p.bound(at, b, ln, relies, err) {
		ln, relies, err = p.listenAt(b.address)
	}
}

// bound is one round of bind. It reports whether there is another one.
func (p *Peers) bound(at *port, b *binding, ln net.Listener, relies string, err error) bool {
	attempt := 1
	for failures := 1; err != nil; failures++ {
		p.stats.bindFailures.Add(1)
		if failures&(failures-1) == 0 { // less and less often
			p.log.Warn("cannot bind port", zap.String("port", at.name), zap.String("addr", b.address),
				zap.Int("failures", failures), zap.Error(err))
		}
		if !passing(err) {
			if attempt == b.attempts {
				p.fail(&BindError{Port: at.name, Addr: b.address, Err: err})
				return false
			}
			attempt++
		}
		if !p.sleep(p.cfg.Timeouts.BindPause) || b.over() {
			return false
		}
		ln, relies, err = p.listenAt(b.address)
	}
	if !p.listening(ln) {
		return false
	}
	if !b.holds(ln, relies) {
		p.unlisten(ln)
		return false
	}
	p.log.Info("listening for servers", zap.String("port", at.name), zap.Stringer("addr", ln.Addr()))
	p.accept(ln, at)
	return relies != "" && !b.over() && p.ctx.Err() == nil
}

// passing reports whether binding failed because the name of this server does not resolve yet, or because the address
// does not belong to this machine yet. Such a failure does not count as an attempt: in some clusters names appear
// later than processes.
func passing(err error) bool {
	var name *nameError
	var dns *net.DNSError // of Config.Listen
	return errors.As(err, &name) || errors.As(err, &dns) || errors.Is(err, syscall.EADDRNOTAVAIL)
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
			at.lobby.enter(nc, socket.TakesLast(nc))
			if !p.group.Go(at.name+" connection", func() { at.serve(nc) }) {
				at.lobby.leave(nc)
				p.untrack(nc)
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			p.log.Warn("cannot accept connections from other servers", zap.Error(err))
			if !p.sleep(acceptPause) {
				return
			}
		}
	}
}
