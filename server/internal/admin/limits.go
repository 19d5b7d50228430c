package admin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/socket"
)

// Bounds for one client, and for all of them together.
const (
	// connectionsMax is how many connections are open: one more takes the place of another one. connectionsScarce is
	// the same while the process has few file descriptors left.
	connectionsMax    = 256
	connectionsScarce = 16
	// requestsMax is how many requests are answered at once; others are refused, but for those of probes. It is
	// smaller than connectionsMax, so that there always is a connection whose place another one can take.
	requestsMax = 192
	// commandsMax is how many commands gather their answer at once; others wait.
	commandsMax = 4
	// headerBytesMax bounds the header of a request. net/http adds 4 KiB.
	headerBytesMax = 16 << 10
	// bodyBytesMax bounds the body of a request that no command reads.
	bodyBytesMax = 64 << 10
	// requestTimeout is how long a client may take to send a request.
	requestTimeout = 5 * time.Second
	// answerTimeout is how long a client may take for an answer, or for one piece of a snapshot.
	answerTimeout = 30 * time.Second
	// pieceBytes is the size of such a piece.
	pieceBytes = 256 << 10
)

// Places bound the connections and requests of an HTTP server, so that a new connection is served however many there
// are. When all places are taken, the new one gets that of a connection that is not being answered: of the address
// that has most, the one that has waited longest. That is an idle connection, or one whose request has not arrived.
//
// Invariant: no more than connectionsMax connections are open.
type Places struct {
	probe   func(*http.Request) bool // requests that are never refused; nil is none
	running chan struct{}            // a token for each other request that is being answered
	mu      struct {
		sync.Mutex
		open []*place // those that wait in the order in which they began to wait
	}
}

// NewPlaces bounds web, before it serves: it replaces its handler, and takes its ConnContext and its ConnState. probe
// says which requests are never refused; nil is none.
func NewPlaces(web *http.Server, probe func(*http.Request) bool) *Places {
	p := &Places{probe: probe, running: make(chan struct{}, requestsMax)}
	web.Handler = p.handler(web.Handler)
	web.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
		return context.WithValue(ctx, placeKey{}, placeOf(nc))
	}
	web.ConnState = func(nc net.Conn, state http.ConnState) {
		if state == http.StateActive { // its first request was read
			limits.EndHandshake(nc)
		}
	}
	return p
}

// placeKey is the key of the place of a request's connection in its context.
type placeKey struct{}

// placeOf finds the place below what was made of the connection.
func placeOf(nc net.Conn) *place {
	for {
		switch c := nc.(type) {
		case *place:
			return c
		case interface{ NetConn() net.Conn }: // *tls.Conn
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// handler answers by next, as many requests at once as there may be.
func (p *Places) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(placeKey{}).(*place)
		if p.probe != nil && p.probe(r) {
			at.answers(0)
			next.ServeHTTP(w, r)
			return
		}
		select {
		case p.running <- struct{}{}:
			defer func() { <-p.running }()
		default:
			w.Header().Set("Connection", "close")
			http.Error(w, "too many requests at once: try again", http.StatusServiceUnavailable)
			return
		}
		at.answers(1)
		defer at.answers(-1)
		next.ServeHTTP(w, r)
	})
}

// Listen returns a listener whose connections have places.
func (p *Places) Listen(ln net.Listener) net.Listener { return &placed{ln, p} }

// placed is such a listener.
type placed struct {
	net.Listener
	in *Places
}

// Accept implements net.Listener.
func (l *placed) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.in.enter(nc), nil
}

// enter gives a connection a place.
func (p *Places) enter(nc net.Conn) *place {
	most := connectionsMax
	if socket.TakesReserved(nc) {
		most = connectionsScarce
	}
	at := &place{Conn: nc, in: p, from: limits.Network(socket.AddrPort(nc.RemoteAddr()).Addr())}
	p.mu.Lock()
	var leaves *place
	if len(p.mu.open) >= most {
		leaves = p.last()
	}
	p.mu.open = append(p.mu.open, at)
	p.mu.Unlock()
	if leaves != nil {
		_ = leaves.Close()
	}
	return at
}

// last returns the place that is taken next; nil if there is none, which is while fewer than connectionsMax are open.
// REQUIRES: mu.
func (p *Places) last() (found *place) {
	count := map[netip.Prefix]int{}
	for _, at := range p.mu.open {
		count[at.from]++
	}
	for _, at := range p.mu.open {
		if at.running == 0 && (found == nil || count[at.from] > count[found.from]) {
			found = at
		}
	}
	return found
}

// place is a connection that has a place.
type place struct {
	net.Conn
	in      *Places
	from    netip.Prefix
	running int // requests that are being answered; guarded by Places.mu
}

// answers counts requests that are being answered, other than probes. A connection without any begins to wait anew.
func (at *place) answers(more int) {
	if at == nil {
		return // not of a listener with places
	}
	p := at.in
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.running += more; at.running == 0 && p.leave(at) {
		p.mu.open = append(p.mu.open, at)
	}
}

// Close closes the connection. It may be called again.
func (at *place) Close() error {
	at.in.mu.Lock()
	at.in.leave(at)
	at.in.mu.Unlock()
	return at.Conn.Close()
}

// leave takes a place out of the list, and reports whether it was there. REQUIRES: mu.
func (p *Places) leave(at *place) bool {
	i := slices.Index(p.mu.open, at)
	if i >= 0 {
		p.mu.open = slices.Delete(p.mu.open, i, i+1)
	}
	return i >= 0
}
