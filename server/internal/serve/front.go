package serve

import (
	"bytes"
	"errors"
	"net"
	"slices"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Front is the part of a server that clients see: client ports and connections, reads, watches, and the applier,
// which answers writes. Package server makes it; the host knows it as clients, the facts read it, and the orders end
// connections through it. Any goroutine may call its methods. What is set does not change after Listen; the parts that
// change have locks of their own, or are atomic.
type Front struct {
	*env.Env
	clientSecurity
	clientPorts
	*watchers
	draining
	host  hosts
	words reporter

	Conns    *connSet
	Throttle *limits.Tokens
	budget   limits.WriteBudget
	turns    limits.Turns
	// Handshakes are those of TLS on all ports for clients, the admin server and the exporter.
	Handshakes *limits.Handshakes
	// between are those of other servers.
	between     *limits.Handshakes
	Top         *topk.Recorder // nil if warren.top.enabled is false
	undelivered undelivered
	inputs      inputs
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
		Env: e, turns: limits.NewTurns(), watchers: newWatchers(e),
		Conns:    newConnSet(e.Config.MaxClientCnxns, e.Config.MaxCnxns, e.Clock.Now),
		Throttle: limits.NewTokens(e.Config.ConnectionThrottle, e.Config.LocalSessionsEnabled),
	}
	f.undelivered.bound(env.Memory())
	f.inputs.most = env.Memory() / 4
	f.clientSecurity = clientSecurity{env: e, Guesses: limits.NewGuesses(), Labels: new(sessions.Labels)}
	f.clientPorts.env, f.listen, f.accept = e, listen, f.acceptFrom
	f.clientPorts.tls = func() bool { return f.clientSecurity.tls != nil }
	f.draining.env, f.conns = e, f.Conns
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
