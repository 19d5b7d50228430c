package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Front is the part of a server that clients see: client ports and connections, reads, watches, and the applier,
// which answers writes. Package server makes it; the host knows it as clients, the facts read it, and the orders end
// connections through it. Any goroutine may call its methods. What is set does not change after Listen; the parts that
// change have locks of their own, or are atomic.
type Front struct {
	*env.Env
	host         hosts
	words        reporter
	listenClient func(network, address string) (net.Listener, error) // Options.ListenClient

	known    map[string][]string // addresses that names had when the server ran last; set by Listen
	ports    clientPorts
	Conns    *connSet
	Throttle *limits.Tokens
	budget   limits.WriteBudget
	turns    limits.Turns
	// Handshakes are those of TLS on all ports for clients, the admin server and the exporter.
	Handshakes *limits.Handshakes
	// between are those of other servers.
	between  *limits.Handshakes
	Guesses  *limits.Attempts // of passwords, at every door of the server: wrong ones
	watchers *watchers
	security clientSecurity
	enforced []string       // if not empty: a connection must have authenticated with one of these schemes
	Top      *topk.Recorder // nil if warren.top.enabled is false
	// Labels name sessions for readers that must not know their ids, in all answers of the server alike.
	Labels      *sessions.Labels
	undelivered undelivered
	drained     atomic.Pointer[drain] // nil unless the server is being drained
	// Outcomes finds what has become of requests that were not answered. Set before Listen.
	Outcomes interface {
		Find(session proto.SessionID, asked *proto.OutcomesRequest) ([]proto.Outcome, error)
	}
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

// reporter answers the four-letter words.
type reporter interface {
	// Has reports whether there is a word with this name.
	Has(word string) bool
	// Answer writes the answer to a word that came on the connection asking. behind returns the first n bytes that the
	// client has sent behind the word, nil if it sends fewer.
	Answer(word string, asking *Conn, behind func(n int) []byte, out *bytes.Buffer)
}

// errNotServing is why a client gets no session while the server does not serve.
var errNotServing = errors.New("server is not serving")

func New(e *env.Env, listen func(network, address string) (net.Listener, error)) *Front {
	f := &Front{
		Env: e, listenClient: listen, turns: limits.NewTurns(), watchers: newWatchers(&e.Config.Limits),
		Conns:    newConnSet(e.Config.MaxClientCnxns, e.Config.MaxCnxns),
		Throttle: limits.NewTokens(e.Config.ConnectionThrottle, e.Config.LocalSessionsEnabled),
		Guesses:  limits.NewGuesses(),
		Labels:   new(sessions.Labels),
	}
	f.Handshakes, f.between = limits.NewHandshakes(f.turns), limits.NewHandshakes(f.turns)
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
func (s *Front) Attach(h hosts, w reporter) { s.host, s.words = h, w }

// drain is the draining of a server.
type drain struct {
	rate int         // connections that end per second, at most
	over *sched.Gate // open when the draining has ended
}

// clientListener is a client port.
type clientListener struct {
	net.Listener
	speaks language
	asked  config.HostPort // address in the configuration
}

// clientPorts are the open client ports, the plain one first.
type clientPorts struct {
	sync.Mutex
	open   []*clientListener
	closed bool // the server stops
}

// clientSecurity is TLS, SASL and the audit log of the client ports. It is made before the first port is opened.
// The zero value is a server without them.
type clientSecurity struct {
	keys  *keystore.Keys      // nil without TLS
	tls   *tls.Config         // for every handshake: Keys.Server() with a count of handshakes
	sasl  *sasl.Acceptor      // nil without SASL
	names *security.CertNames // which part of a certificate is an id
	audit *audit.Log          // nil without an audit log

	secrets sessions.Secrets // which password a session has
}
