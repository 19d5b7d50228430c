package admin

import (
	"net/http"
	"slices"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// labels shows what a node tells of sessions with labels in place of their ids, in the form of ids. It changes the
// records, which the node makes anew for each call.
type labels struct {
	Node
	of *sessions.Labels
}

// sessionsOf returns the node whose facts of sessions a request may see. A client that knows an id can take the
// session over, unless passwords have a secret (warren.sessionSecrets). So ids are for a request that may also have a
// snapshot, which holds the password of each session.
func (s *Server) sessionsOf(r *http.Request) Node {
	if !s.o.Node.SessionIDsOpen() {
		return s.o.Node
	}
	if r.Header.Get("Authorization") != "" {
		_, err := s.authorize(r)
		if err == nil {
			return s.o.Node
		}
		s.logRefusal("ids of sessions refused", r, zap.Error(err))
	}
	return labels{s.o.Node, s.o.Labels}
}

// aboutSessions is for commands whose answer has ids of sessions.
func aboutSessions[T any](facts func(Node) T) func(*Server, *http.Request) answer {
	return func(s *Server, r *http.Request) answer { return answer{fields: facts(s.sessionsOf(r))} }
}

func (l labels) label(id int64) int64 { return int64(l.of.Number(proto.SessionID(id))) }

// Connections implements Node.
func (l labels) Connections() (plain, secure []facts.Connection) {
	plain, secure = l.Node.Connections()
	for _, c := range slices.Concat(plain, secure) {
		if c.BoundSession != nil {
			c.ID = l.label(c.ID)
		}
	}
	return plain, secure
}

// Dump implements Node.
func (l labels) Dump() facts.Dump {
	all := l.Node.Dump()
	shown := facts.Dump{Expiry: map[int64][]int64{}, Ephemerals: map[int64][]string{}}
	for at, ids := range all.Expiry {
		for _, id := range ids {
			shown.Expiry[at] = append(shown.Expiry[at], l.label(id))
		}
	}
	for id, paths := range all.Ephemerals {
		shown.Ephemerals[l.label(id)] = paths
	}
	return shown
}

// Watches implements Node.
func (l labels) Watches() []facts.Watch {
	all := l.Node.Watches()
	for i := range all {
		all[i].Session = l.label(all[i].Session)
	}
	return all
}
