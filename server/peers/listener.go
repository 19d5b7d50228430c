package peers

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// BindError says that a port cannot be bound.
type BindError struct {
	Port string // "election" or "learner"
	Addr string
	Err  error
}

// Error names the port, the address and the reason.
func (e *BindError) Error() string {
	return "peers: cannot listen on " + e.Addr + " for the " + e.Port + " port: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *BindError) Unwrap() error { return e.Err }

// acceptPause is how long accepting rests after an error such as too many open files.
const acceptPause = 10 * time.Millisecond

// listen binds a port on the addresses of this server and gives what connects to serve. An address that cannot be bound now is
// tried again in the background: its name may not resolve yet.
func (p *Peers) listen(port string, addresses []string, serve func(net.Conn)) {
	var bound []string
	for _, address := range addresses {
		host, number, _ := net.SplitHostPort(address)
		if p.cfg.ListenAllIPs {
			host, address = "", ":"+number
		}
		if slices.Contains(bound, address) {
			continue
		}
		bound = append(bound, address)
		if host != "" && net.ParseIP(host) == nil {
			p.start(func() { // resolving may take long
				ln, err := p.cfg.Listen("tcp", address)
				p.bind(port, address, ln, err, serve)
			})
			continue
		}
		ln, err := p.cfg.Listen("tcp", address)
		if !p.start(func() { p.bind(port, address, ln, err, serve) }) && err == nil {
			_ = ln.Close()
		}
	}
}

// bind tries until the port is bound, then accepts.
func (p *Peers) bind(port, address string, ln net.Listener, err error, serve func(net.Conn)) {
	for attempt := 1; err != nil; {
		p.stats.bindFailures.Add(1)
		p.log.Warn("binding port", zap.String("port", port), zap.String("addr", address), zap.Error(err))
		if !passing(err) {
			if attempt == p.cfg.BindAttempts {
				p.fail(&BindError{Port: port, Addr: address, Err: err})
				return
			}
			attempt++
		}
		if !p.sleep(p.cfg.Timeouts.BindPause) {
			return
		}
		ln, err = p.cfg.Listen("tcp", address)
	}
	if !p.listening(ln) {
		return
	}
	p.log.Info("listening for servers", zap.String("port", port), zap.Stringer("addr", ln.Addr()))
	p.accept(ln, serve)
}

// passing reports whether binding failed because the name of this server is not, or not yet, known for its address: that is waited
// for without an end, as in a cluster where names appear later than processes.
func passing(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// accept takes connections until the listener is closed.
func (p *Peers) accept(ln net.Listener, serve func(net.Conn)) {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			tune(nc)
			if !p.track(nc) {
				return
			}
			if !p.start(func() { serve(nc) }) {
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
