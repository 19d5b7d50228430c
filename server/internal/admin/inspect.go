package admin

import (
	"net/http"
	"strconv"
)

// The commands about the server itself, one function each.

// field is an answer with one field.
type field map[string]any

// nothing has no fields: ruok only says that the server answers, and there are no figures of observers to reset.
func nothing(*Server, *http.Request) answer { return answer{} }

func initialConfiguration(n Node) any { return field{"initial_configuration": n.ConfigurationText()} }

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

func stats(n Node) any {
	fields := struct {
		Stats
		bothPorts
	}{n.Stats(), connections(n)}
	for _, some := range [][]Connection{fields.Plain, fields.Secure} {
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
