package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// Options configure an admin server.
type Options struct {
	// Node is the server that the commands are about.
	Node Node
	// Log receives errors and every refusal: it should bound how much a client can make it write. nil drops them.
	Log *zap.Logger
	// CommandURL is the prefix of the commands, with a slash at its begin and none at its end; empty is /commands.
	CommandURL string
	// IdleTimeout closes connections without a request; 0 is 30 s.
	IdleTimeout time.Duration
	// Metrics is served at /metrics, unless it is nil.
	Metrics http.Handler
	// PProf serves Go's profiles at /debug/pprof/.
	PProf bool
	// SnapshotEnabled offers the command snapshot.
	SnapshotEnabled bool
	// SnapshotLacksZxid says that snapshots have no last zxid section: the command snapshot then fails, as
	// ZooKeeper's does.
	SnapshotLacksZxid bool
	// RestoreEnabled offers the command restore.
	RestoreEnabled bool
	// RestoreInterval is the least time between two restores; 0 is no limit.
	RestoreInterval time.Duration
	// Orders carries out the commands that steer, and limits snapshots; nil refuses the former and limits nothing.
	Orders *orders.Executor
	// Labels stand for the ids of sessions; nil makes some.
	Labels *sessions.Labels
	// TLS is for the connections of clients; nil for none.
	TLS *tls.Config
	// Handshakes bounds the work of TLS; nil makes a bound of its own.
	Handshakes *limits.Handshakes
	// Plain accepts connections without TLS on the same port. It has no meaning without TLS.
	Plain bool
	// ForwardedFor takes the address of a client from the header X-Forwarded-For.
	ForwardedFor bool
	// Console is served at /, /console and /api, unless it is nil. It bounds the bodies of its requests.
	Console http.Handler
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Server answers requests. Its methods may be called by any number of goroutines.
type Server struct {
	o        Options
	http     *http.Server
	places   *Places
	commands map[string]*command // by name and alias
	names    []string            // of the commands, sorted
	running  chan struct{}       // a token for each command that gathers its answer
	restores orders.Interval
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	o.Log = cmp.Or(o.Log, zap.NewNop())
	o.CommandURL = cmp.Or(o.CommandURL, "/commands")
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Labels = cmp.Or(o.Labels, sessions.NewLabels())
	o.Handshakes = cmp.Or(o.Handshakes, limits.NewHandshakes(limits.NewTurns()))
	if o.Orders == nil {
		o.Orders = orders.New(orders.Options{Log: o.Log, Now: o.Now})
	}
	s := &Server{o: o, running: make(chan struct{}, commandsMax), restores: orders.Interval{Every: o.RestoreInterval}}
	s.commands, s.names = table()
	errorLog, _ := zap.NewStdLogAt(o.Log, zap.DebugLevel) // fails only for unknown levels
	s.http = &http.Server{
		Handler:           Fatal(s),
		ReadHeaderTimeout: requestTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    headerBytesMax,
		ErrorLog:          errorLog,
	}
	s.places = NewPlaces(s.http, s.isProbe)
	return s
}

// Serve answers requests on ln until Close. It returns nil after Close, and the error otherwise.
func (s *Server) Serve(ln net.Listener) error {
	ln = s.places.Listen(ln)
	switch {
	case s.o.TLS != nil && s.o.Plain:
		ln = Unify(ln, s.o.TLS, s.o.Handshakes, s.o.Node.InsecureConnection)
	case s.o.TLS != nil:
		ln = s.o.Handshakes.Listen(ln, s.o.TLS)
	}
	err := s.http.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends Serve. Running requests have until ctx is done; then their connections are cut.
func (s *Server) Close(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.extend(w)
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=86400; includeSubDomains")
	}
	isConsole := s.o.Console != nil && isConsolePath(r.URL.Path)
	if !s.takesBody(r) && !isConsole {
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytesMax)
	}
	if r.Method == http.MethodTrace {
		http.Error(w, "TRACE is refused", http.StatusForbidden)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, s.o.CommandURL); ok && (name == "" || name[0] == '/') {
		if name = strings.TrimPrefix(name, "/"); name == "" {
			onlyGet(w, r, s.list)
		} else {
			s.command(w, r, name)
		}
		return
	}
	switch path := r.URL.Path; {
	case isConsole:
		s.o.Console.ServeHTTP(w, r)
	case path == "/metrics" && s.o.Metrics != nil:
		onlyGet(w, r, s.o.Metrics.ServeHTTP)
	case path == "/healthz":
		onlyGet(w, r, s.alive)
	case path == "/readyz":
		onlyGet(w, r, s.ready)
	case s.o.PProf && strings.HasPrefix(path, "/debug/pprof/"):
		onlyGet(w, r, profile)
	default:
		http.NotFound(w, r)
	}
}

// isProbe reports whether a request asks whether the process or its server is well. It is answered at once, and
// whatever else is going on.
func (s *Server) isProbe(r *http.Request) bool {
	return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || r.URL.Path == s.o.CommandURL+"/"+ruok
}

// ruok is the command that every server answers.
const ruok = "ruok"

// isConsolePath reports whether the console answers a path. The commands come first, if they have such a path.
func isConsolePath(path string) bool {
	return path == "/" || path == "/console" || strings.HasPrefix(path, "/console/") ||
		strings.HasPrefix(path, "/api/") || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// takesBody reports whether a request is for a command that reads a body, however large.
func (s *Server) takesBody(r *http.Request) bool {
	name, ok := strings.CutPrefix(r.URL.Path, s.o.CommandURL+"/")
	c := s.commands[name]
	return ok && c != nil && c.restore != nil && r.Method == http.MethodPost
}

// extend gives the client answerTimeout from now to read the answer. Every answer begins with it: a client that
// does not read must not keep its connection.
func (s *Server) extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // some writers have no deadline
}

// onlyGet runs serve for the methods GET and HEAD, and refuses other methods.
func onlyGet(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	if !isGet(r) {
		methodNotAllowed(w, allowGet)
		return
	}
	serve(w, r)
}

// Values of the header Allow.
const (
	allowGet  = "GET, HEAD"
	allowPost = "POST"
)

func isGet(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

func sendText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// alive reports by its status whether the process is good for anything: a server that stands is restarted.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	if !s.stands(w) {
		sendText(w, http.StatusOK, "ok\n")
	}
}

// stands answers, and returns true, if clients cannot be served because the server itself does not go on.
func (s *Server) stands(w http.ResponseWriter) bool {
	stalled := s.o.Node.Stalled()
	if stalled > 0 {
		sendText(w, http.StatusServiceUnavailable, fmt.Sprintf(
			"this server is stuck: clients have been waiting for its locks for %v\n", stalled.Round(time.Second)))
	}
	return stalled > 0
}

// ready answers readiness probes. Unlike the command ruok, its status says whether the server does its part; its text
// says what is wrong with the ensemble. A leader that leaves clients to the other servers does its part, so a rolling
// update continues. Load balancers add the query "clients", which asks whether the server accepts clients.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stands(w) {
		return
	}
	status, text := http.StatusOK, "ok\n"
	switch {
	case !s.o.Node.Serving():
		status, text = http.StatusServiceUnavailable, facts.NotServing+"\n"
	case s.o.Node.Draining():
		status, text = http.StatusServiceUnavailable, "this server is being drained: it takes no clients\n"
	case !s.o.Node.TakesClients():
		text = "this server leads, and leaves clients to the other servers\n"
		if r.URL.Query().Has("clients") {
			status = http.StatusServiceUnavailable
		}
	}
	for _, f := range s.o.Node.Findings() {
		text += f.Severity.String() + ": " + f.Text() + "\n"
		if f.Remedy != "" {
			text += "  do: " + f.Remedy + "\n"
		}
	}
	sendText(w, status, text)
}

// list names the commands. Source: operations 3.2.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var page strings.Builder
	for _, name := range s.names {
		fmt.Fprintf(&page, "<a href=\"%s/%s\">%s</a>\n<br/>\n", html.EscapeString(s.o.CommandURL), name, name)
	}
	_, _ = w.Write([]byte(page.String()))
}

// profile serves Go's profiles. It has no deadline: a profile takes the requested time.
func profile(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	switch strings.TrimPrefix(r.URL.Path, "/debug/pprof/") {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}
