package peers

import (
	"context"
	"io"
	"net"
	"time"
)

// Security is how the servers make sure of each other. Peers knows when, and the host knows how; what is dialled is encrypted by
// Config.Dial. A function that is nil does nothing. Each is called by the goroutine of its connection and may block until
// ctx ends or the deadline that the connection has. Source: quorum-protocol 13.
type Security struct {
	// Encrypt is given each connection that somebody has opened, before anything else, and returns the one to go on with. ctx has a
	// deadline, which the connection has too and must have again afterwards.
	Encrypt func(ctx context.Context, nc net.Conn) (net.Conn, error)
	// Initiate says who this server is, on a connection that it has opened: at the very beginning on a learner port, after the
	// greeting on an election port.
	Initiate func(nc net.Conn) error
	// Accept hears the same, on a connection that somebody has opened, and returns the one to go on with. ctx is as for Encrypt.
	Accept func(ctx context.Context, nc net.Conn) (net.Conn, error)
}

// encrypt makes a connection safe that somebody has opened. On an error the connection is still the one that Stop knows.
func (p *Peers) encrypt(nc net.Conn, deadline time.Time) (net.Conn, error) {
	_ = nc.SetDeadline(deadline)
	if p.cfg.Security.Encrypt == nil {
		return nc, nil
	}
	ctx, cancel := context.WithDeadline(p.ctx, deadline)
	defer cancel()
	safe, err := p.cfg.Security.Encrypt(ctx, nc)
	if err != nil {
		return nc, err
	}
	p.retrack(nc, safe)
	return safe, nil
}

// authenticate lets whoever has opened a connection prove who it is. On an error the connection is still the one that Stop knows.
func (p *Peers) authenticate(nc net.Conn, deadline time.Time) (net.Conn, error) {
	if p.cfg.Security.Accept == nil {
		return nc, nil
	}
	ctx, cancel := context.WithDeadline(p.ctx, deadline)
	defer cancel()
	sure, err := p.cfg.Security.Accept(ctx, nc)
	if err != nil {
		return nc, err
	}
	p.retrack(nc, sure)
	return sure, nil
}

// prove says on a connection that this server has opened who it is.
func (p *Peers) prove(nc net.Conn) error {
	if p.cfg.Security.Initiate == nil {
		return nil
	}
	return p.cfg.Security.Initiate(nc)
}

// dialLearner connects to the learner port of a member and says who this server is.
func (p *Peers) dialLearner(ctx context.Context, addresses []string) (net.Conn, error) {
	nc, err := p.dialAny(ctx, addresses, p.cfg.NagleDialled)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	_ = nc.SetDeadline(time.Now().Add(p.cfg.Timeouts.FirstPacket))
	if err := p.prove(nc); err != nil {
		_ = nc.Close()
		return nil, err
	}
	_ = nc.SetDeadline(time.Time{})
	return nc, nil
}

// halfCloser is a connection that can say that nothing follows and go on reading.
type halfCloser interface{ CloseWrite() error }

// partMax bounds what is read of a connection on which nothing is awaited any more.
const partMax = 64 << 10

// part ends a connection so that what was said on it arrives: to close one on which something has come that nobody has read, as TLS
// may send it, is a reset.
func (p *Peers) part(nc net.Conn) {
	if w, ok := nc.(halfCloser); ok && w.CloseWrite() == nil {
		_ = nc.SetReadDeadline(time.Now().Add(p.cfg.Timeouts.CallBack))
		_, _ = io.CopyN(io.Discard, nc, partMax)
	}
	p.untrack(nc)
}
