package admin

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/seed94657493/warren/server/internal/limits"
)

// recordHandshake is the first byte of a TLS connection; no HTTP request begins with it.
const recordHandshake = 0x16

// unified is a listener that finds out by the first byte of a connection whether it is TLS. Source: operations 3.1.
type unified struct {
	net.Listener
	tls      *tls.Config
	shakes   *limits.Handshakes
	insecure func()    // called for each connection without TLS
	accepted chan peek // by the goroutine of Accept
	closed   chan struct{}
	once     sync.Once // of Close
	began    sync.Once // of the goroutine that accepts
}

// peek is a connection whose first byte is known, or the error that ended accepting.
type peek struct {
	nc  net.Conn
	err error
}

// Unify returns a listener whose connections are *tls.Conn or plain, depending on their first byte. shakes bounds the
// handshakes. insecure, unless it is nil, is called for each plain one, by any goroutine. Closing the listener closes
// ln.
func Unify(ln net.Listener, cfg *tls.Config, shakes *limits.Handshakes, insecure func()) net.Listener {
	return &unified{Listener: ln, tls: shakes.Config(cfg), shakes: shakes, insecure: insecure,
		accepted: make(chan peek), closed: make(chan struct{})}
}

// Accept returns the next connection that has sent its first byte: a *tls.Conn if that byte begins TLS.
func (u *unified) Accept() (net.Conn, error) {
	u.began.Do(func() { go u.accept() })
	select {
	case p := <-u.accepted:
		return p.nc, p.err
	case <-u.closed:
		return nil, net.ErrClosed
	}
}

// accept takes connections until the listener is closed. Each waits for its first byte in a goroutine of its own,
// which ends after requestTimeout at the latest.
func (u *unified) accept() {
	for {
		nc, err := u.Listener.Accept()
		if err != nil {
			if !u.hand(peek{err: err}) {
				return
			}
			continue
		}
		go u.look(nc)
	}
}

// look reads the first byte.
func (u *unified) look(nc net.Conn) {
	var first [1]byte
	_ = nc.SetReadDeadline(time.Now().Add(requestTimeout))
	if _, err := nc.Read(first[:]); err != nil {
		_ = nc.Close()
		return
	}
	_ = nc.SetReadDeadline(time.Time{})
	conn := net.Conn(&peeked{Conn: nc, first: first[:]})
	if first[0] == recordHandshake {
		conn = u.shakes.Server(conn, u.tls)
	} else if u.insecure != nil {
		u.insecure()
	}
	if !u.hand(peek{nc: conn}) {
		_ = nc.Close()
	}
}

// hand gives p to Accept, and reports false if Accept has ended.
func (u *unified) hand(p peek) bool {
	select {
	case u.accepted <- p:
		return true
	case <-u.closed:
		return false
	}
}

// Close ends Accept.
func (u *unified) Close() error {
	u.once.Do(func() { close(u.closed) })
	return u.Listener.Close()
}

// peeked is a connection whose first byte was read already.
type peeked struct {
	net.Conn
	first []byte // the part of it that is still unread
}

// NetConn returns the connection below, as that of *tls.Conn does.
func (p *peeked) NetConn() net.Conn { return p.Conn }

// Read returns the first byte first. Like every connection's, it is called by one goroutine at a time.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) > 0 && len(b) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
