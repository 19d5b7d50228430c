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

// port is one of the ports of this server.
type port struct {
	name  string // "election" or "learner"
	lobby lobby
	serve func(net.Conn) // a connection that somebody has opened, and that is in the lobby
}

// listen binds a port on the addresses of this server. An address that cannot be bound now is tried again in the background: its
// name may not resolve yet.
func (p *Peers) listen(at *port, addresses []string) {
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
				p.bind(at, address, ln, err)
			})
			continue
		}
		ln, err := p.cfg.Listen("tcp", address)
		if !p.start(func() { p.bind(at, address, ln, err) }) && err == nil {
			_ = ln.Close()
		}
	}
}

// bind tries until the port is bound, then accepts.
func (p *Peers) bind(at *port, address string, ln net.Listener, err error) {
	attempt := 1
	for failures := 1; err != nil; failures++ {
		p.stats.bindFailures.Add(1)
		if failures&(failures-1) == 0 { // more and more seldom
			p.log.Warn("binding port", zap.String("port", at.name), zap.String("addr", address), zap.Int("failures", failures), zap.Error(err))
		}
		if !passing(err) {
			if attempt == p.cfg.BindAttempts {
				p.fail(&BindError{Port: at.name, Addr: address, Err: err})
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
	p.log.Info("listening for servers", zap.String("port", at.name), zap.Stringer("addr", ln.Addr()))
	p.accept(ln, at)
}

// passing reports whether binding failed because the name of this server is not, or not yet, known for its address: that is waited
// for without an end, as in a cluster where names appear later than processes.
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
			p.tune(nc)
			if !p.track(nc) {
				return
			}
			at.lobby.enter(nc)
			if !p.start(func() { at.serve(nc) }) {
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
