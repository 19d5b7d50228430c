package admin

import "net/http"

// The commands about the ensemble, one function each, with their answers on a standalone server.

func leader(s *Server, _ *http.Request) answer {
	e := s.o.Node.Ensemble()
	if e == nil {
		return answer{failure: "server is not initialized"}
	}
	return answer{fields: e.Leader}
}

func votingView(n Node) any {
	voters := map[string]Member{}
	if e := n.Ensemble(); e != nil {
		voters = e.Voters
	}
	return field{"current_config": voters}
}

func observers(n Node) (o Observers) {
	if e := n.Ensemble(); e != nil {
		o = e.Observers
	}
	o.Observers = list(o.Observers)
	return o
}

func zabState(n Node) ZabState {
	if e := n.Ensemble(); e != nil {
		return e.Zab
	}
	return ZabState{}
}
