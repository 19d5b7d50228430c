package serve

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Front is the part of a server that clients see: client ports and connections, reads, watches, and the applier,
// which answers writes.
type Front struct {
	*env.Env
	host         hosts
	words        answers
	listenClient func(network, address string) (net.Listener, error) // Options.ListenClient

	known    map[string][]string // addresses that names had when the server ran last; set by Listen
	ports    clientPorts
	Conns    *connSet
	Throttle *limits.Tokens
	Budget   limits.WriteBudget
	Turns    limits.Turns
	// Handshakes are those of TLS on all ports for clients, the admin server and the exporter.
	Handshakes *limits.Handshakes
	// between are those of other servers.
	between  *limits.Handshakes
	Guesses  *limits.Attempts // of passwords, at every door of the server: wrong ones
	Watchers *watchers
	Security clientSecurity
	enforced []string       // if not empty: a connection must have authenticated with one of these schemes
	Top      *topk.Recorder // nil if warren.top.enabled is false
	// Labels name sessions for readers that must not know their ids, in all answers of the server alike.
	Labels      *sessions.Labels
	Undelivered undelivered
	drained     atomic.Pointer[drain] // nil unless the server is being drained
}

// hosts is the host, as connections need it: it takes the requests of clients. Any goroutine may call the methods.
type hosts interface {
	// Submit hands over requests. It reports false if the host has ended.
	Submit(b *flow.Batch) bool
	// Add is Submit without waking the host: the caller calls Came afterwards.
	Add(b *flow.Batch) bool
	// Came lets requests that were added be handled. REQUIRES: no lock.
	Came()
	// Resume answers a client that comes back with its session: by flow.Client.Resumed, or by the end of its
	// connection.
	Resume(r *flow.Resumption)
	// Generation is the number of the present time of service.
	Generation() int64
	// Position is the zxid up to which this server serves the history.
	Position() proto.Zxid
}

// answers is the reporter: it answers the four-letter words.
type answers interface {
	// Has reports whether there is a word with this name.
	Has(word string) bool
	// Answer writes the answer to a word that came on the connection asking.
	Answer(word string, asking *Conn, out *bytes.Buffer)
}

func New(e *env.Env, listen func(network, address string) (net.Listener, error)) *Front {
	f := &Front{
		Env: e, listenClient: listen, Turns: limits.NewTurns(), Watchers: newWatchers(&e.Config.Limits),
		Conns:    newConnSet(e.Config.MaxClientCnxns, e.Config.MaxCnxns),
		Throttle: limits.NewTokens(e.Config.ConnectionThrottle, e.Config.LocalSessionsEnabled),
		Guesses:  limits.NewGuesses(),
		Labels:   new(sessions.Labels),
	}
	f.Handshakes, f.between = limits.NewHandshakes(f.Turns), limits.NewHandshakes(f.Turns)
	if e.Runtime == sched.OS() { // two runs of a simulation must not differ
		f.Labels = sessions.NewLabels()
	}
	if e.Config.Admin.Top {
		f.Top = topk.New(e.Clock.Now())
	}
	if e.Config.EnforceAuth.Enabled {
		f.enforced = slices.Clone(e.Config.EnforceAuth.Schemes)
	}
	return f
}

// ServerHandshakes are the handshakes that other servers begin, which share the turns of busy connections.
func (s *Front) ServerHandshakes() *limits.Handshakes { return s.between }

// Attach sets the host, which takes the requests of clients, and the reporter, which answers the four-letter words.
func (s *Front) Attach(h hosts, w answers) { s.host, s.words = h, w }

// AcceptAll begins to take connections on the ports that are open.
func (s *Front) AcceptAll() {
	for _, ln := range s.clientListeners() {
		s.Spawn("accept", func() { s.accept(ln) })
	}
}

// ShutAll ends every connection that has a session and is not held, as soon as the output added so far is sent. It
// returns how many connections it ends.
func (s *Front) ShutAll() (n int) {
	s.Conns.Each(func(c *Conn) {
		if c.Session.Load() == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.mu.out.held {
			n++
			c.shut()
		}
	})
	return n
}

// HoldAll lets the connections of the sessions that wanted accepts take no more requests, until Conn.Release, and
// returns them. Requests that were taken before are submitted when it returns.
func (s *Front) HoldAll(wanted func(*sessions.Session) bool) (held []flow.Held) {
	s.Conns.Each(func(c *Conn) {
		session := c.Session.Load()
		if session == nil || !wanted(session) || c.Superseded() {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.mu.out.open() {
			c.mu.out.held = true
			held = append(held, flow.Held{Client: c, Session: session})
		}
	})
	return held
}

// Release implements flow.Client.
func (c *Conn) Release(generation int64, goesOn bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A connection that has ended meanwhile may have lost a request that the former role had taken. So none of those
	// that wait behind it may be taken, and they are not, because they are of the former time of service.
	if goesOn && c.mu.out.open() {
		c.generation.Store(generation)
	}
	c.mu.out.held = false
	if !goesOn {
		c.shut()
	}
	c.wakeReader()
	c.help()
	return c.mu.out.open()
}

// AbortAll closes every connection that has a session at once.
func (s *Front) AbortAll() {
	s.Conns.Each(func(c *Conn) {
		if c.Session.Load() != nil {
			c.Abort()
		}
	})
}

// Addr is the address of the plain client port, or nil if there is none.
func (s *Front) Addr() net.Addr { return s.addrOf(SpeaksPlain) }

// WaitForConns waits until every connection has ended, but no longer than timeout.
func (s *Front) WaitForConns(timeout time.Duration) {
	for end := s.Clock.Now() + int64(timeout); s.Conns.Len() > 0 && s.Clock.Now() < end; {
		sched.Sleep(s.Runtime, time.Millisecond)
	}
}

// clampTimeout negotiates a session timeout, in ms. Source: client-protocol 3.3.
func (s *Front) clampTimeout(ms int32) int32 {
	lo, hi := s.Config.MinSessionTimeout.Milliseconds(), s.Config.MaxSessionTimeout.Milliseconds()
	return int32(min(max(int64(ms), lo), hi))
}

// countRefused counts a connection that got no session.
func (s *Front) countRefused(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.Metrics.Sessionless.Inc()
	case errors.Is(err, errNotServing):
		s.Metrics.NotRunning.Inc()
	}
}

// countLost counts a connection that the client has ended without closing its session.
func (s *Front) countLost(c *Conn, err error) {
	if !c.ended && !errors.Is(err, net.ErrClosed) {
		s.Metrics.ConnectionDropped.Inc()
	}
}

// PortNumbers returns the ports to which clients connect.
func (s *Front) PortNumbers() (plain, secure int) {
	return portOf(s.Addr(), s.Config.ClientPort), portOf(s.SecureAddr(), s.Config.SecureClientPort)
}

// portOf is the port of an address, or the configured one if there is none.
func portOf(addr net.Addr, configured int) int {
	if a, ok := addr.(*net.TCPAddr); ok {
		return a.Port
	}
	return configured
}

// AuditLink notes in the audit log, if there is one, that a link to a path was made.
func (s *Front) AuditLink(ids []auth.Identity, addr netip.Addr, path string) {
	if log := s.Security.Audit; log != nil {
		log.Link(ids, addr, path)
	}
}
