package peers

import (
	"context"
	"io"
	"net"
	"time"
)

// Security is the functions of the host by which servers encrypt connections and prove their identity. Peers calls
// them at the right moment. A function that is nil does nothing. Each is called by the goroutine of its connection
// and may block until ctx ends or the deadline of the connection has passed. Source: quorum-protocol 13.
type Security struct {
	// Encrypt is given each accepted connection, before anything else, and returns the connection to go on with. ctx
	// has a deadline. The connection has the same deadline, and must have it again when Encrypt returns.
	Encrypt func(ctx context.Context, nc net.Conn) (net.Conn, error)
	// Secure is the other side of Encrypt: it is given each connection that this server has opened, and returns the
	// one to go on with. host is the name or address by which the configuration calls the other server. ctx has a
	// deadline. If Secure fails, Peers closes the connection.
	Secure func(ctx context.Context, nc net.Conn, host string) (net.Conn, error)
	// Initiate proves the identity of this server on a connection that it has opened: first of all on a learner port,
	// after the greeting on an election port. host is the name or address by which the configuration calls the other
	// server, the first if it has several. ctx is as for Encrypt.
	Initiate func(ctx context.Context, nc net.Conn, host string) error
	// Accept is the other side of Initiate, on an accepted connection. It returns the connection to go on with. ctx
	// is as for Encrypt.
	Accept func(ctx context.Context, nc net.Conn) (net.Conn, error)
}

// encrypt encrypts an accepted connection. On an error it returns the connection that is registered.
func (p *Peers) encrypt(nc net.Conn, deadline time.Time) (net.Conn, error) {
	_ = nc.SetDeadline(deadline)
	return p.wrap(nc, deadline, p.cfg.Security.Encrypt)
}

// wrap returns nc with what a function of Security puts around it, and nc itself if there is none. After an error it
// returns nc too.
func (p *Peers) wrap(nc net.Conn, deadline time.Time,
	around func(ctx context.Context, nc net.Conn) (net.Conn, error)) (net.Conn, error) {
	if around == nil {
		return nc, nil
	}
	ctx, cancel := p.withDeadline(p.ctx, deadline)
	defer cancel()
	wrapped, err := around(ctx, nc)
	if err != nil {
		return nc, err
	}
	p.retrack(nc, wrapped)
	return wrapped, nil
}

// authenticate lets the server that has opened a connection prove its identity. On an error it returns the connection
// that is registered.
func (p *Peers) authenticate(nc net.Conn, deadline time.Time) (net.Conn, error) {
	return p.wrap(nc, deadline, p.cfg.Security.Accept)
}

// prove proves the identity of this server on a connection that it has opened to one of the addresses of another.
func (p *Peers) prove(nc net.Conn, addresses []string, deadline time.Time) error {
	if p.cfg.Security.Initiate == nil {
		return nil
	}
	ctx, cancel := p.withDeadline(p.ctx, deadline)
	defer cancel()
	host, _ := split(addresses[0])
	return p.cfg.Security.Initiate(ctx, nc, host)
}

// halfCloser is a connection that can end its output and go on reading.
type halfCloser interface{ CloseWrite() error }

// partMax bounds the bytes that are read and dropped at the end of a connection.
const partMax = 64 << 10

// part closes a connection so that everything that was written on it arrives. A connection that is closed while it
// has unread input, which TLS may send, is reset, and bytes on their way to the peer are lost.
func (p *Peers) part(nc net.Conn) {
	if w, ok := nc.(halfCloser); ok && w.CloseWrite() == nil {
		_ = nc.SetReadDeadline(p.deadline(p.cfg.Timeouts.CallBack))
		_, _ = io.CopyN(io.Discard, nc, partMax)
	}
	p.untrack(nc)
}
