package admin

import (
	"net/http"

	"github.com/seed94657493/warren/server/internal/facts"
)

// The commands about the ensemble, one function each, with their answers on a standalone server.

func leader(s *Server, _ *http.Request) answer {
	e := s.o.Node.Quorum()
	if e == nil {
		return answer{failure: "server is not initialized"}
	}
	return answer{fields: e.Leader}
}

func votingView(n Node) any {
	voters := map[string]facts.ServerLine{}
	if e := n.Quorum(); e != nil {
		voters = e.Voters
	}
	return field{"current_config": voters}
}

func observers(n Node) (o facts.Observers) {
	if e := n.Quorum(); e != nil {
		o = e.Observers
	}
	o.Observers = list(o.Observers)
	return o
}

func zabState(n Node) facts.ZabState {
	if e := n.Quorum(); e != nil {
		return e.Zab
	}
	return facts.ZabState{}
}
