package facts

import (
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Sessions is a page of the sessions of this server.
type Sessions struct {
	Total    int       `json:"total" doc:"sessions of the ensemble"`
	Sessions []Session `json:"sessions" doc:"of clients that are connected to this server, the oldest connection first"`
	After    uint64    `json:"after" doc:"parameter after of the next page; 0 if this is the last one"`
}

// Session is the session of a client that is connected to this server.
type Session struct {
	Label       string   `json:"label" doc:"the id of the session if warren.sessionSecrets makes ids harmless; else a name for it that opens nothing"`
	Address     string   `json:"address" doc:"of the client, host:port"`
	Connected   int64    `json:"connected" doc:"ms since 1970"`
	TimeoutMs   int32    `json:"timeoutMs" doc:"of the session"`
	Secure      bool     `json:"secure" doc:"the client has connected to the port for TLS"`
	Received    int64    `json:"received" doc:"packets from the client"`
	Sent        int64    `json:"sent" doc:"packets to the client"`
	Outstanding int      `json:"outstanding" doc:"requests that wait"`
	LastOp      string   `json:"lastOp" doc:"last operation that was answered"`
	MeanMs      int64    `json:"meanMs" doc:"mean latency"`
	MaxMs       int64    `json:"maxMs" doc:"greatest latency"`
	Watches     int      `json:"watches" doc:"paths that it watches"`
	Ephemerals  int      `json:"ephemerals" doc:"number of its ephemeral znodes"`
	Paths       []string `json:"paths" doc:"of up to 100 ephemeral znodes that the visitor could find by reading"`
}

// Sessions returns a page of up to limit sessions of this server, whose connections follow the one numbered after. The
// locks of connections and of the tree are held for one connection at a time.
func (n *Shown) Sessions(a Actor, after uint64, limit int) (*Sessions, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	page := &Sessions{Sessions: []Session{}}
	n.Store.Mu.RLock()
	page.Total = n.Store.State.NumSessions()
	n.Store.Mu.RUnlock()
	last := uint64(0)
	n.front.Conns.Each(func(c *serve.Conn) {
		if c.Number() <= after || page.After != 0 || c.Session.Load() == nil {
			return
		}
		if len(page.Sessions) == limit {
			page.After = last
			return
		}
		page.Sessions, last = append(page.Sessions, n.session(c, a)), c.Number()
	})
	return page, nil
}

// pathsShown is how many ephemerals of a session are listed.
const pathsShown = 100

// session describes the session of a connection that has one.
func (n *Shown) session(c *serve.Conn, a Actor) Session {
	of := ConnectionOf(c)
	one := Session{Label: n.front.Label(proto.SessionID(of.ID)), Address: of.Remote, Connected: of.Established,
		TimeoutMs: of.TimeoutMs, Secure: c.SecurePort, Received: of.Received, Sent: of.Sent,
		Outstanding: of.Outstanding, LastOp: of.LastOperation, MeanMs: of.AvgLatency, MaxMs: of.MaxLatency,
		Watches: n.front.WatchedPaths(c)}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	one.Ephemerals, one.Paths = n.ephemerals(proto.SessionID(of.ID), a.IDs)
	return one
}

// ephemerals returns how many ephemerals a session has, and the first of those that a visitor could find by reading
// from the root on. REQUIRES: Store.Mu, at least for reading.
func (n *Shown) ephemerals(session proto.SessionID, ids []auth.Identity) (count int, paths []string) {
	state := n.Store.State
	paths = []string{}
	count = state.FirstEphemerals(session, pathsShown, func(id datatree.NodeID) {
		for up := state.Parent(id); up != 0; up = state.Parent(up) {
			if !n.MayRead(up, ids) {
				return
			}
		}
		paths = append(paths, string(state.AppendPath(nil, id)))
	})
	return count, paths
}
