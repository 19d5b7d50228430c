package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// link is the session that commands use.
type link struct {
	servers string
	o       *Options
	client  *client.Client
	watches *heldWatches
	out     *output
	printed *atomic.Bool // printwatches

	isMuted  atomic.Bool            // events are not printed: the shell is going
	followed atomic.Pointer[string] // subtree that a command shows itself
	state    atomic.Int32           // client.State, as of the last event
	excuses  excuses                // why servers have not taken the session
	life     context.Context        // ends with the link, for watches
	end      context.CancelFunc
	first    chan struct{} // closed after the event of the first connection was queued
	once     sync.Once
}

// dial begins a session. It does not wait for a server.
func dial(servers string, o *Options, out *output, printed *atomic.Bool) (*link, error) {
	l := &link{servers: servers, o: o, out: out, printed: printed, first: make(chan struct{}),
		watches: &heldWatches{byPath: map[string]map[client.WatcherType]*client.Watch{}}}
	options := []client.Option{
		client.WithSessionTimeout(o.Timeout),
		client.WithHooks(client.Hooks{State: l.stateChanged, Event: l.eventCame}),
		client.WithLogger(slog.New(&l.excuses)),
	}
	if o.ReadOnly {
		options = append(options, client.WithReadOnly())
	}
	if o.TLS != nil {
		options = append(options, client.WithTLS(o.TLS.Clone()))
	}
	if o.SASL != nil {
		options = append(options, client.WithSASL(o.SASL))
	}
	for _, a := range o.Auth {
		options = append(options, client.WithAuth(a.Scheme, []byte(a.Auth)))
	}
	c, err := client.New(servers, options...)
	if err != nil {
		return nil, &failure{text: wording.Text(err),
			hint: "servers are given as host:port,host:port/chroot", code: codeFailed, err: err, isOwn: true}
	}
	l.client = c
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

// close ends the session; what it says is printed unless isQuiet.
func (l *link) close(isQuiet bool) {
	l.isMuted.Store(isQuiet)
	_ = l.client.Close() // a session that could not be told ends by itself
	l.end()
}

// stateChanged is called by the goroutines of the client.
func (l *link) stateChanged(c client.StateChange) {
	l.state.Store(int32(c.State))
	switch {
	case c.State == client.Disconnected && c.Err != nil:
		l.excuses.note(c.Server, wording.About(c.Server, c.Err))
	case c.State.IsConnected():
		l.excuses.forget()
	}
	if l.printed.Load() && !l.isMuted.Load() {
		l.postState(c.State)
	}
	if c.State.IsConnected() {
		l.once.Do(func() { close(l.first) })
	}
}

// postState prints a state of the session: as an event where zkCli.sh is expected and in JSON, as a line for who types
// commands, and not at all in scripts.
func (l *link) postState(st client.State) {
	switch name := stateName(st); {
	case name == "":
	case l.o.ZkCli, l.o.JSON:
		l.out.post(newEvent(name, "None", "", -1))
	case l.o.Typed:
		l.out.post(stateLine(st))
	}
}

// eventCame is called by the client's reader, once for every event of the server. That a watch ends with its session
// is not printed when it was asked for, as in zkCli.sh.
func (l *link) eventCame(e client.Event) {
	if !l.printed.Load() || l.isMuted.Load() || e.Type == client.WatchLost && errors.Is(e.Err, client.ErrClosed) {
		return
	}
	if root := l.followed.Load(); root != nil && isWithin(*root, e.Path) {
		return
	}
	l.out.post(newEvent(l.stateName(), e.Type.String(), e.Path, e.Zxid))
}

func (l *link) stateName() string {
	if name := stateName(client.State(l.state.Load())); name != "" {
		return name
	}
	return stateName(client.Disconnected)
}

func isWithin(root, path string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root+"/")
}

// isOver reports whether the session is no more.
func (l *link) isOver() bool {
	switch l.client.State().State {
	case client.Expired, client.AuthFailed, client.Closed:
		return true
	}
	return false
}

// guard waits for a connection, and returns a context that ends with ErrConnectionLoss when none was there for as
// long as commands wait.
func (l *link) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	lose := func() { cancel(client.ErrConnectionLoss) }
	timer := time.AfterFunc(l.o.ConnectWait, lose)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for st := range l.client.States(ctx) {
			switch {
			case st.State.IsConnected():
				timer.Stop()
			case st.State == client.Disconnected, st.State == client.Connecting:
				timer.Reset(max(l.o.ConnectWait-time.Since(st.At), 0))
			case st.State == client.Expired:
				cancel(client.ErrSessionExpired)
			case st.State == client.AuthFailed:
				cancel(client.ErrAuthFailed)
			}
		}
	}()
	select {
	case <-l.first:
	case <-ctx.Done():
	}
	return ctx, func() {
		cancel(context.Canceled)
		<-done
		timer.Stop()
	}
}

// watch sets a persistent watch that lives as long as the session. Ctx bounds the call.
func (l *link) watch(ctx context.Context, path string, mode client.WatchMode) (*client.Watch, error) {
	life, cancel := context.WithCancel(l.life)
	stop := context.AfterFunc(ctx, cancel)
	w, err := l.client.Watch(life, path, mode)
	stop()
	if err != nil {
		cancel()
	}
	return w, err
}

// whyNot says why there is no connection and what to do.
func (l *link) whyNot() string {
	reason, closed := l.excuses.text()
	switch {
	case reason == "":
		return fmt.Sprintf("no server of %s has answered; check that a server runs there", l.servers)
	case closed:
		return reason + "; servers without a leader close connections, and so do servers that want TLS: " +
			"`warren status` shows what they do"
	}
	return fmt.Sprintf("%s; check that a server runs at %s", reason, l.servers)
}

// excuses is a log handler that keeps the last reason why each server did not take the session.
type excuses struct {
	mu   sync.Mutex
	last map[string]string // by server, which is empty if it is not known
}

func (e *excuses) note(server, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		e.last = map[string]string{}
	}
	e.last[server] = reason
}

// forget is called when a server has taken the session.
func (e *excuses) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = nil
}

// text has all reasons, each with its servers. closed says that a server has closed the connection without an answer.
func (e *excuses) text() (text string, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	servers := map[string][]string{}
	for _, server := range slices.Sorted(maps.Keys(e.last)) {
		servers[e.last[server]] = append(servers[e.last[server]], server)
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(servers)) {
		closed = closed || strings.Contains(reason, wording.ClosedEarly)
		all = append(all, strings.TrimPrefix(strings.Join(servers[reason], ", ")+": "+reason, ": "))
	}
	return strings.Join(all, "; "), closed
}

// Enabled accepts everything.
func (*excuses) Enabled(context.Context, slog.Level) bool { return true }

// Handle keeps the server and the error of a record.
func (e *excuses) Handle(_ context.Context, r slog.Record) error {
	server := ""
	var reason error
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "server":
			server = a.Value.String()
		case "error":
			reason, _ = a.Value.Any().(error)
		}
		return true
	})
	if reason != nil {
		e.note(server, wording.About(server, reason))
	}
	return nil
}

// WithAttrs and WithGroup are not used by the client.
func (e *excuses) WithAttrs([]slog.Attr) slog.Handler { return e }
func (e *excuses) WithGroup(string) slog.Handler      { return e }
