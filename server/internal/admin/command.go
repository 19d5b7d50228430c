package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/facts"
)

// command is one entry of the table. Source: operations 3.4.
type command struct {
	name    string
	aliases []string
	post    bool // it is asked with POST, the others with GET
	offline bool // it needs no serving server
	auth    bool // it needs every permission on the root
	probe   bool // it gathers nothing, and waits for no other command
	run     func(*Server, *http.Request) answer
	restore func(*Server, http.ResponseWriter, *http.Request) answer // replaces run for a command with a long body
	steers  bool                                                     // it changes how the server works; see steer.go
}

// table returns the commands by every name they have, and their primary names in order.
func table() (byName map[string]*command, names []string) {
	byName = map[string]*command{}
	for _, c := range append(steering(), []*command{
		{name: "configuration", aliases: []string{"conf", "config"}, run: report(Node.Configuration)},
		{name: "connection_stat_reset", aliases: []string{"crst"}, run: reset(Node.ResetConnections)},
		{name: "connections", aliases: []string{"cons"}, run: aboutSessions(connections)},
		{name: "dirs", run: report(Node.Directories)},
		{name: "dump", run: aboutSessions(Node.Dump)},
		{name: "environment", aliases: []string{"env", "envi"}, offline: true, run: report(environment)},
		{name: "get_trace_mask", aliases: []string{"gtmk"}, offline: true, run: report(getTraceMask)},
		{name: "hash", run: report(hash)},
		{name: "initial_configuration", aliases: []string{"icfg"}, run: report(initialConfiguration)},
		{name: "is_read_only", aliases: []string{"isro"}, run: report(isReadOnly)},
		{name: "last_snapshot", aliases: []string{"lsnp"}, run: report(Node.LastSnapshot)},
		{name: "leader", aliases: []string{"lead"}, run: leader},
		{name: "monitor", aliases: []string{"mntr"}, offline: true, run: report(monitor)},
		{name: "observer_connection_stat_reset", aliases: []string{"orst"},
			run: reset(Node.ResetObservers)},
		{name: "observers", aliases: []string{"obsr"}, run: report(observers)},
		{name: "restore", aliases: []string{"rest"}, post: true, auth: true, restore: restore},
		{name: ruok, run: nothing, probe: true},
		{name: "server_stats", aliases: []string{"srvr"}, run: report(serverStats)},
		{name: "set_trace_mask", aliases: []string{"stmk"}, offline: true, run: setTraceMask},
		{name: "slow", run: slow},
		{name: "snapshot", aliases: []string{"snap"}, auth: true, run: snapshot},
		{name: "stat_reset", aliases: []string{"srst"}, run: reset(Node.ResetStats)},
		{name: "stats", aliases: []string{"stat"}, run: report(stats)},
		{name: "system_properties", aliases: []string{"sysp"}, offline: true, run: report(systemProperties)},
		{name: "top", run: top},
		{name: "voting_view", run: report(votingView)},
		{name: "watch_summary", aliases: []string{"wchs"}, run: report(Node.WatchSummary)},
		{name: "watches", aliases: []string{"wchc"}, run: aboutSessions(watches)},
		{name: "watches_by_path", aliases: []string{"wchp"}, run: aboutSessions(watchesByPath)},
		{name: "zabstate", offline: true, run: report(zabState)},
	}...) {
		names = append(names, c.name)
		for _, name := range append(c.aliases, c.name) {
			if byName[name] != nil {
				panic("admin: two commands are called " + name)
			}
			byName[name] = c
		}
	}
	slices.Sort(names)
	return byName, names
}

// report is for commands whose answer is one record.
func report[T any](facts func(Node) T) func(*Server, *http.Request) answer {
	return func(s *Server, _ *http.Request) answer { return answer{fields: facts(s.o.Node)} }
}

// reset is for commands that set counters to zero.
func reset(counters func(Node)) func(*Server, *http.Request) answer {
	return func(s *Server, _ *http.Request) answer {
		counters(s.o.Node)
		return answer{}
	}
}

// command runs the command that the client calls by name. Checks are in ZooKeeper's order.
func (s *Server) command(w http.ResponseWriter, r *http.Request, name string) {
	c := s.commands[name]
	if !isGet(r) && r.Method != http.MethodPost {
		methodNotAllowed(w, allowed(c))
		return
	}
	if c == nil {
		s.send(w, http.StatusOK, outcome(name, "Unknown command: "+name))
		return
	}
	if c.post != (r.Method == http.MethodPost) {
		methodNotAllowed(w, allowed(c))
		return
	}
	if !c.offline && !s.o.Node.Serving() {
		s.send(w, http.StatusOK, outcome(name, facts.NotServing))
		return
	}
	if c.auth {
		if status, err := s.authorize(r); err != nil {
			s.logRefusal("command refused", r, zap.String("command", c.name), zap.Error(err))
			s.send(w, status, outcome(name, err.Error()))
			return
		}
	}
	a, ok := s.gather(c, w, r)
	if !ok {
		return // the client has disconnected
	}
	if a.snapshot != nil {
		defer a.snapshot.Body.Close()
		announce(w, a.snapshot)
	}
	if a.stream {
		s.stream(w, a.snapshot)
		return
	}
	text, err := a.encode(c.name)
	if err != nil {
		s.o.Log.Error("encoding an answer", zap.String("command", c.name), zap.Error(err))
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	a.status = cmp.Or(a.status, http.StatusOK)
	if a.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((a.after+time.Second-1)/time.Second)))
	}
	s.send(w, a.status, text)
}

// gather runs a command when fewer than commandsMax commands run. It returns false if the client did not wait.
// Snapshots take long and have another limit, so they are not counted.
func (s *Server) gather(c *command, w http.ResponseWriter, r *http.Request) (answer, bool) {
	switch {
	case c.restore != nil:
		return c.restore(s, w, r), true
	case c.auth && !c.steers, c.probe:
		return c.run(s, r), true
	}
	select {
	case s.running <- struct{}{}:
	case <-r.Context().Done():
		return answer{}, false
	}
	defer func() { <-s.running }()
	return c.run(s, r), true
}

// allowed returns the header Allow for a command; unknown commands are requested with GET.
func allowed(c *command) string {
	if c != nil && c.post {
		return allowPost
	}
	return allowGet
}

// argument returns the first value of a query parameter.
func argument(r *http.Request, name string) (string, bool) {
	values, ok := r.URL.Query()[name]
	if !ok {
		return "", false
	}
	return strings.TrimSpace(values[0]), true
}
