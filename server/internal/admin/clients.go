package admin

import "github.com/seed94657493/warren/server/internal/facts"

// The commands about clients, sessions and watches, one function each.

// bothPorts is the answer of connections.
type bothPorts struct {
	Plain  []facts.Connection `json:"connections"`
	Secure []facts.Connection `json:"secure_connections"`
}

func connections(n Node) bothPorts {
	plain, secure := n.Connections()
	return bothPorts{list(plain), list(secure)}
}

func watches(n Node) any {
	paths := map[int64][]string{}
	for _, w := range n.Watches() {
		paths[w.Session] = append(paths[w.Session], w.Path)
	}
	return field{"session_id_to_watched_paths": paths}
}

func watchesByPath(n Node) any {
	sessions := map[string][]int64{}
	for _, w := range n.Watches() {
		sessions[w.Path] = append(sessions[w.Path], w.Session)
	}
	return field{"path_to_session_ids": sessions}
}
