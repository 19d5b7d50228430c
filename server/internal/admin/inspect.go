package admin

import (
	"net/http"
	"strconv"

	"github.com/seed94657493/warren/server/internal/facts"
)

// The commands about the server itself, one function each.

// field is an answer with one field.
type field map[string]any

// nothing has no fields: ruok only says that the server answers.
func nothing(*Server, *http.Request) answer { return answer{} }

func initialConfiguration(n Node) any { return field{"initial_configuration": n.ConfigurationText()} }

func environment(n Node) any { return properties(n.Environment()) }

func systemProperties(n Node) any { return properties(n.SystemProperties()) }

func monitor(n Node) any { return numbers(n.Monitor()) }

func isReadOnly(n Node) any { return field{"read_only": n.ReadOnly()} }

func hash(n Node) any { return field{"digests": list(n.Digests())} }

func getTraceMask(n Node) any { return field{"tracemask": n.TraceMask()} }

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
	return answer{fields: getTraceMask(s.o.Node)}
}

// serverStats adds the sizes of directories.
func serverStats(n Node) facts.Stats {
	s, d := n.Stats(), n.Directories()
	s.Server.DataDirSize, s.Server.LogDirSize = d.Data, d.Log
	return s
}

func stats(n Node) any {
	fields := struct {
		facts.Stats
		bothPorts
	}{serverStats(n), connections(n)}
	for _, some := range [][]facts.Connection{fields.Plain, fields.Secure} {
		for i := range some {
			some[i].BoundSession = nil
		}
	}
	return fields
}

// list makes a nil slice an empty one, which JSON writes as "[ ]" and not as null.
func list[T any](some []T) []T {
	if some == nil {
		return []T{}
	}
	return some
}
