package admin

import (
	"net/http"
	"strconv"

	"github.com/seed94657493/warren/server/internal/facts"
)

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
