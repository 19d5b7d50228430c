package server

import (
	"bytes"
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
)

// front is the side of a server that clients see: their ports and connections, what they may ask, and the applier, which answers them.
type front struct {
	*env
	host         hosts
	words        answers
	listenClient func(network, address string) (net.Listener, error) // Options.ListenClient

	ports    clientPorts
	conns    *connSet
	throttle *limits.Tokens
	budget   limits.WriteBudget
	turns    limits.Turns
	security clientSecurity
	enforced []string // schemes of which a connection must have authenticated one
	// undelivered is how many bytes wait for clients that take less than they are sent; see undeliveredMax.
	undelivered atomic.Int64
}

// hosts is what takes the requests of clients. Any goroutine may call the methods.
type hosts interface {
	// submit hands over requests. It reports false if none are taken any more.
	submit(b *flow.Batch) bool
	// add is submit without waking the host: the caller calls came afterwards.
	add(b *flow.Batch) bool
	// came sees to requests that were added. REQUIRES: no lock.
	came()
	// resume answers a client that comes back with its session, by flow.Client.Resumed or by the end of its connection.
	resume(r *flow.Resumption)
	// Generation is the number of the present time of service.
	Generation() int64
	// position is up to where the history that this server serves reaches.
	position() proto.Zxid
}

// answers is what answers the four-letter words.
type answers interface {
	// has reports whether there is a word of this name.
	has(word string) bool
	// answer writes the answer to a word that asking has sent.
	answer(word string, asking *conn, out *bytes.Buffer)
}

func newFront(e *env, listen func(network, address string) (net.Listener, error)) *front {
	f := &front{
		env: e, listenClient: listen, turns: limits.NewTurns(),
		conns:    newConnSet(e.cfg.MaxClientCnxns, e.cfg.MaxCnxns),
		throttle: limits.NewTokens(e.cfg.ConnectionThrottle, e.cfg.LocalSessionsEnabled),
	}
	if e.cfg.EnforceAuth.Enabled {
		f.enforced = slices.Clone(e.cfg.EnforceAuth.Schemes)
	}
	return f
}

// acceptAll begins to take connections on the ports that are open.
func (s *front) acceptAll() {
	for _, ln := range s.clientListeners() {
		s.start("accept", func() { s.accept(ln) })
	}
}

// shutAll implements clients.
func (s *front) shutAll() (n int) {
	s.conns.each(func(c *conn) {
		if c.session.Load() != nil {
			n++
			c.shut()
		}
	})
	return n
}

// abortAll implements clients.
func (s *front) abortAll() {
	s.conns.each(func(c *conn) {
		if c.session.Load() != nil {
			c.Abort()
		}
	})
}

// addr is the address of the plain client port, or nil if there is none.
func (s *front) addr() net.Addr {
	all := s.clientListeners()
	if len(all) == 0 {
		return nil
	}
	return all[0].Addr()
}

// waitForConns waits until every connection has ended, but no longer than timeout.
func (s *front) waitForConns(timeout time.Duration) {
	for end := s.clock.now() + int64(timeout); s.conns.len() > 0 && s.clock.now() < end; {
		sched.Sleep(s.rt, time.Millisecond)
	}
}

// clampTimeout negotiates a session timeout, in ms. Source: client-protocol 3.3.
func (s *front) clampTimeout(ms int32) int32 {
	lo, hi := s.cfg.MinSessionTimeout.Milliseconds(), s.cfg.MaxSessionTimeout.Milliseconds()
	return int32(min(max(int64(ms), lo), hi))
}

// countRefused counts a connection that got no session.
func (s *front) countRefused(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.metrics.sessionless.Inc()
	case errors.Is(err, errNotServing):
		s.metrics.notRunning.Inc()
	}
}

// countLost counts a connection that the client has ended, unless it had closed its session before.
func (s *front) countLost(c *conn, err error) {
	if !c.ended && !errors.Is(err, net.ErrClosed) {
		s.metrics.connectionDropped.Inc()
	}
}

// portNumbers implements clients.
func (s *front) portNumbers() (plain, secure int) {
	return portOf(s.addr(), s.cfg.ClientPort), portOf(s.secureAddr(), s.cfg.SecureClientPort)
}

// portOf is the port of an address, or the configured one if there is none.
func portOf(addr net.Addr, configured int) int {
	if a, ok := addr.(*net.TCPAddr); ok {
		return a.Port
	}
	return configured
}
