package admin

import "net/http"

// The commands about clients, sessions and watches, one function each.

// bothPorts is the answer of connections.
type bothPorts struct {
	Plain  []Connection `json:"connections"`
	Secure []Connection `json:"secure_connections"`
}

func clients(s *Server) bothPorts {
	plain, secure := s.o.Node.Connections()
	return bothPorts{list(plain), list(secure)}
}

func connections(s *Server, _ *http.Request) answer { return answer{fields: clients(s)} }

func connectionStatReset(s *Server, _ *http.Request) answer {
	s.o.Node.ResetConnections()
	return none
}

func dump(s *Server, _ *http.Request) answer {
	d := s.o.Node.Sessions()
	return answer{fields: Sessions{dictionary(d.Expiry), dictionary(d.Ephemerals)}}
}

func watchSummary(s *Server, _ *http.Request) answer { return answer{fields: s.o.Node.WatchSummary()} }

func watches(s *Server, _ *http.Request) answer {
	paths := map[int64][]string{}
	for _, w := range s.o.Node.Watches() {
		paths[w.Session] = append(paths[w.Session], w.Path)
	}
	return answer{fields: struct {
		Paths map[int64][]string `json:"session_id_to_watched_paths"`
	}{paths}}
}

func watchesByPath(s *Server, _ *http.Request) answer {
	sessions := map[string][]int64{}
	for _, w := range s.o.Node.Watches() {
		sessions[w.Path] = append(sessions[w.Path], w.Session)
	}
	return answer{fields: struct {
		Sessions map[string][]int64 `json:"path_to_session_ids"`
	}{sessions}}
}

// dictionary turns a nil map into an empty one, which JSON writes as "{ }" and not as null.
func dictionary[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}
