package admin

import (
	"net/http"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/answers"
)

// The parameters of top.
const (
	topUsual, topMax = 20, 1000
	topUsage         = "top takes by=requests, by=bytes or by=time, and limit=1 to limit=1000"
)

// top tells what causes most of the work. Paths, sessions and addresses may be secret: they are for a request that may
// also have a snapshot. Others see operations.
func top(s *Server, r *http.Request) answer {
	by, given := argument(r, "by")
	if !given {
		by = "requests"
	}
	most, ok := limitOf(r)
	if !ok || !slices.Contains([]string{"requests", "bytes", "time"}, by) {
		return answer{failure: topUsage, status: http.StatusBadRequest}
	}
	all, refused := s.showsAll(r, "top")
	if refused != nil {
		return *refused
	}
	return answer{fields: answers.Top(s.o.Node.Top(by, most, all))}
}

// limitOf returns how many entries a request wants, and reports whether it may.
func limitOf(r *http.Request) (most int, ok bool) {
	text, given := argument(r, "limit")
	if !given {
		return topUsual, true
	}
	most, err := strconv.Atoi(text)
	return most, err == nil && most >= 1 && most <= topMax
}

// showsAll reports whether a request gets what may be secret: it has credentials that may have a snapshot. refused is
// the answer to a request with other credentials.
func (s *Server) showsAll(r *http.Request, command string) (all bool, refused *answer) {
	if r.Header.Get("Authorization") == "" {
		return false, nil
	}
	if status, err := s.authorize(r); err != nil {
		s.logRefusal("command refused", r, zap.String("command", command), zap.Error(err))
		return false, &answer{failure: err.Error(), status: status}
	}
	return true, nil
}

// slowUsage is the answer to a request for slow operations with a wrong parameter.
const slowUsage = "slow takes limit=1 to limit=1000"

// slow tells which operations were slow and why. Paths, sessions and traces may be secret, as those of top.
func slow(s *Server, r *http.Request) answer {
	most, ok := limitOf(r)
	if !ok {
		return answer{failure: slowUsage, status: http.StatusBadRequest}
	}
	all, refused := s.showsAll(r, "slow")
	if refused != nil {
		return *refused
	}
	found := s.o.Node.Slow(most, all)
	shown := answers.Slow{ThresholdMs: found.ThresholdMs, Found: found.Found, Operations: []answers.SlowOperation{}}
	for _, o := range found.Operations {
		shown.Operations = append(shown.Operations, answers.SlowOperation(o))
	}
	return answer{fields: shown}
}
