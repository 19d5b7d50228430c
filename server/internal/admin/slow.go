package admin

import (
	"net/http"
	"strconv"
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
	return answer{fields: s.o.Node.Slow(most, all)}
}
