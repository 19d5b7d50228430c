package ensemble

import (
	"cmp"
	"net"
	"strconv"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
)

// Servers are the servers of the configuration, as each of them was heard last.
type Servers struct {
	Servers  []ServerState `json:"servers" doc:"in the order of their ids; empty if the server stands alone"`
	Weighted bool          `json:"weighted" doc:"groups and weights decide, not a majority of voters"`
}

// ServerState is what one server has said of itself. What is not known is null or empty, never zero.
type ServerState struct {
	ID          int64    `json:"id" doc:"myid"`
	Trouble     string   `json:"trouble" doc:"why it is not known how it is now; empty if it has answered. The other fields are the last that were known"`
	HeardAt     *int64   `json:"heardAt" doc:"when it said what the other fields tell, ms since 1970; null if it never did"`
	SilentSince *int64   `json:"silentSince" doc:"since when it does not answer, ms since 1970; null if it answers or is not asked"`
	RoundTripMs *float64 `json:"roundTripMs" doc:"for a connection and an answer; null for the server that was asked, and for one that does not answer"`
	State       string   `json:"state" doc:"leader, follower, observer or standalone; empty if it is not known now"`
	LastState   string   `json:"lastState" doc:"the state when it was last heard; empty if it never was"`
	Program     string   `json:"program" doc:"with its own version, such as Warren 0.2.0; empty if it does not tell, as ZooKeeper does not"`
	Version     string   `json:"version" doc:"that it tells clients, which is one of ZooKeeper"`
	Zxid        string   `json:"zxid" doc:"last txn that it has applied, hexadecimal; empty if it never told"`
	Connections *int64   `json:"connections" doc:"of clients; null if it never told"`
	Outstanding *int64   `json:"outstanding" doc:"requests that it has received and not answered; null if it never told"`
	MeanMs      *float64 `json:"meanMs" doc:"mean latency of requests; null if it never told"`
	UptimeMs    *int64   `json:"uptimeMs" doc:"since the process began, when it was heard; null if it does not tell"`
	DiskFree    *int64   `json:"diskFree" doc:"bytes, of the disk with the least room; null if it does not tell"`
	Draining    bool     `json:"draining" doc:"it takes no clients, because an operator drains it"`
	Admin       string   `json:"admin" doc:"host:port of its admin server, at which its console is; empty if it has told none"`
	Unasked     string   `json:"unasked" doc:"why no request can be passed on to it, as the parameter server wants; empty if that can be done"`
}

// Servers is for the API.
func (f *Facts) Servers() *Servers {
	q := f.Membership()
	all := &Servers{Servers: []ServerState{}, Weighted: len(q.Groups) > 0}
	if !f.Config.Distributed() {
		return all
	}
	f.refresh()
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	known := map[int64]findings.Server{}
	for _, s := range append([]findings.Server{f.self(f.Runtime.Now())}, k.others...) {
		// Of two with one id, it is the one that serves.
		if first, twice := known[s.ID]; !twice || s.Known() && s.Serving && !(first.Known() && first.Serving) {
			known[s.ID] = s
		}
	}
	for i := range q.Members {
		s, ok := known[q.Members[i].ID]
		if !ok {
			s = findings.Server{ID: q.Members[i].ID}
		}
		state := stateOf(&s)
		if took, asked := k.times[s.ID]; asked && s.Known() && s.ID != int64(f.host.ID) {
			state.RoundTripMs = &took
		}
		if err := f.untasked(&s); err != nil && s.ID != int64(f.host.ID) {
			state.Unasked = err.Error()
		}
		all.Servers = append(all.Servers, state)
	}
	return all
}

// stateOf is what the API tells of a server.
func stateOf(s *findings.Server) ServerState {
	d := ServerState{ID: s.ID, Trouble: s.Silent, Program: s.Program, Version: s.Version, LastState: s.Mode,
		Draining: s.Draining, HeardAt: since1970(s.Heard), SilentSince: since1970(s.SilentSince)}
	if s.Heard.IsZero() {
		d.Trouble = cmp.Or(d.Trouble, "the configuration does not tell its client port, or it was not asked yet")
		return d
	}
	if s.Known() {
		d.State = s.Mode
		if !s.Serving {
			d.State, d.Trouble = "", "it is running, but does not serve clients"
		}
	}
	if host, _, err := net.SplitHostPort(s.Address); err == nil && s.AdminPort > 0 {
		d.Admin = net.JoinHostPort(host, strconv.Itoa(s.AdminPort))
	}
	d.Connections, d.Outstanding, d.MeanMs = &s.Connections, &s.Outstanding, &s.MeanMs
	if s.Zxid != 0 {
		d.Zxid = proto.Zxid(s.Zxid).String()
	}
	if s.DiskFree != 0 {
		d.DiskFree = &s.DiskFree
	}
	if !s.Began.IsZero() {
		d.UptimeMs = new(s.Heard.Sub(s.Began).Milliseconds())
	}
	return d
}

// since1970 is a time in ms since 1970, nil for none.
func since1970(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}
