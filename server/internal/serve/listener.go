package serve

import (
	"errors"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/socket"
)

// AcceptAll begins to take connections on the ports that are open.
func (s *Front) AcceptAll() {
	for _, ln := range s.clientListeners() {
		s.Spawn("accept", func() { s.acceptFrom(ln) })
	}
}

// acceptPause is how long accept pauses after an error such as too many open files.
const acceptPause = 10 * time.Millisecond

// accept takes connections until the listener is closed.
func (s *Front) acceptFrom(ln *clientListener) {
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
		serve = greeting{&r.feed}.serveWordOnly
	}
	if c.secure != nil {
		serve = greeting{&r.feed}.afterHandshake(serve)
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
