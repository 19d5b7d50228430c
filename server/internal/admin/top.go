package admin

import (
	"net/http"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/facts"
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
	most, err := topUsual, error(nil)
	if text, given := argument(r, "limit"); given {
		most, err = strconv.Atoi(text)
	}
	if err != nil || most < 1 || most > topMax || !slices.Contains([]string{"requests", "bytes", "time"}, by) {
		return answer{failure: topUsage, status: http.StatusBadRequest}
	}
	all, refused := s.showsAll(r, "top")
	if refused != nil {
		return *refused
	}
	return answer{fields: topAnswer(s.o.Node.Top(by, most, all))}
}

// topAnswer is a facts.Top with the keys of admin commands.
type topAnswer struct {
	Enabled       bool             `json:"enabled"`
	Everything    bool             `json:"-"`
	By            string           `json:"by"`
	WindowSeconds int              `json:"window_s"`
	OneIn         int64            `json:"sampled_one_in"`
	Total         facts.TopSums    `json:"total"`
	Operations    []facts.TopEntry `json:"operations"`
	Paths         []facts.TopEntry `json:"paths"`
	Sessions      []facts.TopEntry `json:"sessions"`
	Addresses     []facts.TopEntry `json:"addresses"`
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
	most, err := topUsual, error(nil)
	if text, given := argument(r, "limit"); given {
		most, err = strconv.Atoi(text)
	}
	if err != nil || most < 1 || most > topMax {
		return answer{failure: slowUsage, status: http.StatusBadRequest}
	}
	all, refused := s.showsAll(r, "slow")
	if refused != nil {
		return *refused
	}
	found := s.o.Node.Slow(most, all)
	shown := slowAnswer{ThresholdMs: found.ThresholdMs, Found: found.Found, Operations: []slowOperation{}}
	for _, o := range found.Operations {
		shown.Operations = append(shown.Operations, slowOperation(o))
	}
	return answer{fields: shown}
}

// slowAnswer is a facts.Slow with the keys of admin commands.
type slowAnswer struct {
	ThresholdMs float64         `json:"threshold_ms"`
	Found       int             `json:"found"`
	Operations  []slowOperation `json:"operations"`
}

// slowOperation is a facts.SlowOperation that leaves out what is not known or not told.
type slowOperation struct {
	Began     int64             `json:"began"`
	Operation string            `json:"operation"`
	Path      string            `json:"path,omitempty"`
	Session   string            `json:"session,omitempty"`
	Zxid      string            `json:"zxid,omitempty"`
	Error     string            `json:"error,omitempty"`
	Millis    float64           `json:"ms"`
	Slowest   string            `json:"slowest"`
	Stages    facts.StageMillis `json:"stages"`
	Trace     string            `json:"trace,omitempty"`
}
