package visible

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Sessions is a page of the sessions of the ensemble.
type Sessions struct {
	Total    int       `json:"total" doc:"sessions of the ensemble"`
	Found    int       `json:"found" doc:"those that find looks for, on all pages; all without it"`
	Sessions []Session `json:"sessions" doc:"those of clients of this server first, then those of each other server, each with the oldest connection first, then the others"`
	After    uint64    `json:"after" doc:"parameter after of the next page; 0 if this is the last one"`
	Servers  []Held    `json:"servers" doc:"how many sessions each server holds, in the order of their ids; only this one if it stands alone"`
}

// Held is how many sessions a server holds.
type Held struct {
	ID       int64  `json:"id" doc:"myid; -1 for a server that stands alone"`
	Sessions *int   `json:"sessions" doc:"of clients that are connected to it; null if that is not known"`
	Trouble  string `json:"trouble" doc:"why it is not known; empty if it is"`
}

// Session is one session. What only the server knows to which the client is connected is null, or empty, if no server
// has told it.
type Session struct {
	Label       string   `json:"label" doc:"the id of the session if warren.sessionSecrets makes ids harmless; else a name for it that opens nothing, and that other servers do not know"`
	State       string   `json:"state" doc:"connected; disconnected: it ends with its timeout, if the client does not come back; or unknown: a server that has not answered may hold it"`
	Server      *int64   `json:"server" doc:"myid of the server to which the client is connected, -1 for one that stands alone; null if it is connected to none, or that is not known"`
	TimeoutMs   int32    `json:"timeoutMs" doc:"of the session"`
	Ephemerals  int      `json:"ephemerals" doc:"number of its ephemeral znodes"`
	Paths       []string `json:"paths" doc:"of up to 100 ephemeral znodes that the visitor could find by reading"`
	Address     string   `json:"address" doc:"of the client, host:port"`
	Connected   *int64   `json:"connected" doc:"ms since 1970"`
	Secure      *bool    `json:"secure" doc:"the client has connected to the port for TLS"`
	Received    *int64   `json:"received" doc:"packets from the client"`
	Sent        *int64   `json:"sent" doc:"packets to the client"`
	Outstanding *int     `json:"outstanding" doc:"requests that wait"`
	LastOp      string   `json:"lastOp" doc:"last operation that was answered"`
	MeanMs      *int64   `json:"meanMs" doc:"mean latency"`
	MaxMs       *int64   `json:"maxMs" doc:"greatest latency"`
	Watches     *int     `json:"watches" doc:"paths that it watches"`
}

// The states of sessions.
const (
	sessionConnected    = "connected"
	sessionDisconnected = "disconnected"
	sessionUnknown      = "unknown"
)

// sight is where a session was seen.
type sight struct {
	place  uint64 // in the order of pages
	id     proto.SessionID
	server int64
	conn   *serve.Conn       // of this server
	told   *ensemble.Holding // by another server
}

// Places are in the order of servers: this one, the others by their ids, and sessions that no server has told. They
// are less than 2^53, which JavaScript knows.
const (
	placeOfServer = 1 << 40                 // more than connections have numbers
	placeOfNone   = 1 << 11 * placeOfServer // more than there are servers
)

// placeAt is the place of a connection of another server, the i-th of them by its id. The ids themselves may be too
// large.
func placeAt(i int, connection uint64) uint64 { return uint64(i+1)*placeOfServer + connection }

// Sessions returns a page of up to limit sessions of the ensemble, which follow a place, and whose label or address
// contains a text. Other servers are asked which sessions they hold. The locks of connections and of the tree are held
// for one connection at a time, and once for the ids of all sessions.
func (n *Shown) Sessions(a Actor, find string, after uint64, limit int) (*Sessions, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	page := &Sessions{Sessions: []Session{}}
	held := n.Holders()
	all := n.sights(held, page)
	if find = strings.ToLower(find); find != "" {
		all = slices.DeleteFunc(all, func(s sight) bool {
			return !strings.Contains(n.front.Label(s.id), find) && !strings.Contains(s.address(), find)
		})
	}
	page.Found = len(all)
	slices.SortFunc(all, func(a, b sight) int { return cmp.Compare(a.place, b.place) })
	from, _ := slices.BinarySearchFunc(all, after+1, func(s sight, at uint64) int { return cmp.Compare(s.place, at) })
	all = all[from:]
	if len(all) > limit {
		all = all[:limit]
		page.After = all[limit-1].place
	}
	for i := range all {
		page.Sessions = append(page.Sessions, n.session(&all[i], held, a))
	}
	return page, nil
}

// sights returns all sessions, each once, and notes how many each server holds.
func (n *Shown) sights(held *ensemble.HeldBy, page *Sessions) (all []sight) {
	own := n.ID()
	seen := map[proto.SessionID]bool{}
	n.front.Conns.Each(func(c *serve.Conn) {
		if s := c.Session.Load(); s != nil && !seen[s.ID] {
			seen[s.ID] = true
			all = append(all, sight{place: c.Number(), id: s.ID, server: own, conn: c})
		}
	})
	page.Servers = []Held{{ID: own, Sessions: new(len(all))}}
	for i := range held.Servers {
		s := &held.Servers[i]
		one := Held{ID: s.ID, Trouble: s.Trouble}
		if s.Trouble == "" {
			one.Sessions = &s.It.Total
		}
		page.Servers = append(page.Servers, one)
		for k := range s.It.Sessions {
			told := &s.It.Sessions[k]
			if seen[told.ID] { // it has moved meanwhile
				continue
			}
			seen[told.ID] = true
			all = append(all, sight{place: placeAt(i, told.Number), id: told.ID, server: s.ID, told: told})
		}
	}
	slices.SortFunc(page.Servers, func(a, b Held) int { return cmp.Compare(a.ID, b.ID) })
	n.Store.Mu.RLock()
	table := n.Store.State.SessionIDs()
	n.Store.Mu.RUnlock()
	slices.Sort(table)
	page.Total = len(table)
	for i, id := range table {
		if !seen[id] {
			all = append(all, sight{place: placeOfNone + 1 + uint64(i), id: id})
		}
	}
	return all
}

func (s *sight) address() string {
	switch {
	case s.conn != nil:
		return s.conn.Remote.String()
	case s.told != nil:
		return s.told.Address
	}
	return ""
}

// pathsShown is how many ephemerals of a session are listed.
const pathsShown = 100

func (n *Shown) session(s *sight, held *ensemble.HeldBy, a Actor) Session {
	one := Session{Label: n.front.Label(s.id), State: sessionUnknown}
	told := s.told
	if s.conn != nil && s.conn.Session.Load() != nil {
		of := n.HoldingOf(s.conn)
		told = &of
	}
	if told != nil {
		one.State, one.Server, one.TimeoutMs, one.Address, one.LastOp = sessionConnected, &s.server, told.TimeoutMs,
			told.Address, told.LastOp
		one.Connected, one.Secure, one.Received, one.Sent, one.Outstanding = &told.Connected, &told.Secure,
			&told.Received, &told.Sent, &told.Outstanding
		one.MeanMs, one.MaxMs, one.Watches = &told.MeanMs, &told.MaxMs, &told.Watches
	} else if _, old := slices.BinarySearch(held.Table, s.id); old && held.IsWhole() {
		one.State = sessionDisconnected
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	if told == nil {
		one.TimeoutMs, _ = n.Store.State.Session(s.id)
	}
	one.Ephemerals, one.Paths = n.ephemerals(s.id, a.IDs)
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
