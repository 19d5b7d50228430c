package admin

import (
	"net/http"
	"strconv"
)

// The commands about the server itself, one function each.

// none is an answer without fields.
var none = answer{}

func ruok(*Server, *http.Request) answer { return none }

func configuration(s *Server, _ *http.Request) answer {
	return answer{fields: s.o.Node.Configuration()}
}

func initialConfiguration(s *Server, _ *http.Request) answer {
	return answer{fields: struct {
		Text string `json:"initial_configuration"`
	}{s.o.Node.ConfigurationText()}}
}

func environment(s *Server, _ *http.Request) answer {
	return answer{fields: properties(s.o.Node.Environment())}
}

func systemProperties(s *Server, _ *http.Request) answer {
	return answer{fields: properties(s.o.Node.SystemProperties())}
}

func dirs(s *Server, _ *http.Request) answer { return answer{fields: s.o.Node.Directories()} }

func lastSnapshot(s *Server, _ *http.Request) answer { return answer{fields: s.o.Node.LastSnapshot()} }

func monitor(s *Server, _ *http.Request) answer { return answer{fields: numbers(s.o.Node.Monitor())} }

func isReadOnly(s *Server, _ *http.Request) answer {
	return answer{fields: struct {
		ReadOnly bool `json:"read_only"`
	}{s.o.Node.ReadOnly()}}
}

func hash(s *Server, _ *http.Request) answer {
	return answer{fields: struct {
		Digests []Digest `json:"digests"`
	}{list(s.o.Node.Digests())}}
}

// traceMask is the answer of the two commands about it.
type traceMask struct {
	Mask int64 `json:"tracemask"`
}

func getTraceMask(s *Server, _ *http.Request) answer {
	return answer{fields: traceMask{s.o.Node.TraceMask()}}
}

func setTraceMask(s *Server, r *http.Request) answer {
	const usage = "setTraceMask requires long traceMask argument"
	text, given := argument(r, "traceMask")
	if !given {
		return answer{failure: usage}
	}
	mask, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return answer{failure: usage + ", got " + text}
	}
	s.o.Node.SetTraceMask(mask)
	return answer{fields: traceMask{mask}}
}

// summary is the answer of server_stats, and of stats with the connections behind it.
type summary struct {
	Version   string      `json:"version"`
	ReadOnly  bool        `json:"read_only"`
	Server    ServerStats `json:"server_stats"`
	Responses Sizes       `json:"client_response"`
	Proposals *Sizes      `json:"proposal_stats,omitempty"`
	Znodes    int         `json:"node_count"`
}

func summarize(s *Server) summary {
	st := s.o.Node.Stats()
	return summary{
		Version: s.o.Node.Version(), ReadOnly: s.o.Node.ReadOnly(), Server: st.Server,
		Responses: st.Responses, Proposals: st.Proposals, Znodes: st.Znodes,
	}
}

func serverStats(s *Server, _ *http.Request) answer { return answer{fields: summarize(s)} }

func stats(s *Server, _ *http.Request) answer {
	var fields struct {
		summary
		bothPorts
	}
	fields.summary = summarize(s)
	fields.bothPorts = clients(s)
	for _, some := range [][]Connection{fields.Plain, fields.Secure} {
		for i := range some {
			some[i].BoundSession = nil
		}
	}
	return answer{fields: fields}
}

func statReset(s *Server, _ *http.Request) answer {
	s.o.Node.ResetStats()
	return none
}

// list makes a nil slice an empty one, which JSON writes as "[ ]" and not as null.
func list[T any](some []T) []T {
	if some == nil {
		return []T{}
	}
	return some
}
