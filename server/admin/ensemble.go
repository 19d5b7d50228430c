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

func votingView(s *Server, _ *http.Request) answer {
	var voters map[string]Member
	if e := s.o.Node.Ensemble(); e != nil {
		voters = e.Voters
	}
	return answer{fields: struct {
		Config map[string]Member `json:"current_config"`
	}{dictionary(voters)}}
}

func observers(s *Server, _ *http.Request) answer {
	var o Observers
	if e := s.o.Node.Ensemble(); e != nil {
		o = e.Observers
	}
	o.Observers = list(o.Observers)
	return answer{fields: o}
}

func observerStatReset(s *Server, _ *http.Request) answer {
	s.o.Node.ResetObservers()
	return none
}

func zabState(s *Server, _ *http.Request) answer {
	if e := s.o.Node.Ensemble(); e != nil {
		return answer{fields: e.Zab}
	}
	return answer{fields: ZabState{}}
}
