package ensemble

import (
	"cmp"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/zab"
)

// Ensemble is a server and what it knows of its ensemble.
type Ensemble struct {
	Name        string         `json:"name" doc:"of the ensemble, warren.console.name; may be empty"`
	ServerID    int64          `json:"serverId" doc:"myid of the server that answers; 0 if it stands alone"`
	State       string         `json:"state" doc:"standalone, leader, follower, observer, looking or read-only"`
	Serving     bool           `json:"serving" doc:"it serves clients now, or leads and leaves them to the other servers"`
	Program     string         `json:"program" doc:"with its own version, such as Warren 0.2.0"`
	Version     string         `json:"version" doc:"that it tells clients, which is one of ZooKeeper"`
	UptimeMs    int64          `json:"uptimeMs" doc:"since the process began"`
	Leader      *int64         `json:"leader" doc:"myid of the leader, even if this server does not follow it; null without one, and on a server that stands alone"`
	Zxid        string         `json:"zxid" doc:"last txn that this server has applied, hexadecimal; empty if it was never known"`
	Epoch       int64          `json:"epoch" doc:"upper half of the zxid"`
	Znodes      *int           `json:"znodes" doc:"number of znodes at treeAt; null if it was never known"`
	Ephemerals  *int           `json:"ephemerals" doc:"number of ephemeral znodes at treeAt; null if it was never known"`
	DataBytes   *int64         `json:"dataBytes" doc:"bytes of paths and data at treeAt; null if it was never known"`
	Watches     *int           `json:"watches" doc:"watches at this server at treeAt; null if it was never known"`
	Sessions    *int           `json:"sessions" doc:"sessions of the ensemble at treeAt; null if it was never known"`
	TreeAt      *int64         `json:"treeAt" doc:"when the tree was as told, ms since 1970: now while the server serves; null if it never did"`
	Connections int            `json:"connections" doc:"connections to this server"`
	Refused     []RefusedConns `json:"refused" doc:"connections that this server closed instead of opening a session"`
	Outstanding int64          `json:"outstanding" doc:"requests that this server has received and not answered"`
	Latency     Latency        `json:"latency" doc:"of the requests at this server since it began, or since the word srst"`
	Members     []Member       `json:"members" doc:"servers of the configuration; empty if the server stands alone"`
	Problems    []Problem      `json:"problems" doc:"what is wrong, as far as this server knows, the most urgent first"`
	Writes      bool           `json:"writes" doc:"changes are switched on by warren.console.writes"`
}

// RefusedConns is how many connections were refused for a reason.
type RefusedConns struct {
	Reason string `json:"reason" doc:"maxClientCnxns, maxCnxns, descriptors, rate, drain, disk, ahead or read-only"`
	Count  int64  `json:"count" doc:"since the process began"`
}

// Latency is in ms.
type Latency struct {
	Min  int64   `json:"min" doc:"ms"`
	Mean float64 `json:"mean" doc:"ms"`
	Max  int64   `json:"max" doc:"ms"`
}

// Member is one server of the configuration.
type Member struct {
	ID            int64    `json:"id" doc:"myid"`
	Role          string   `json:"role" doc:"participant or observer, by the configuration"`
	State         string   `json:"state" doc:"leader, follower, observer, joining, absent, or unknown"`
	Self          bool     `json:"self" doc:"it is the server that answers"`
	Addresses     []string `json:"addresses" doc:"between servers, host:port"`
	ClientAddress string   `json:"clientAddress" doc:"for clients, host:port; empty if the configuration does not tell it"`
	Zxid          string   `json:"zxid" doc:"last txn known to be there, hexadecimal; empty if it is not known"`
	Lag           *int64   `json:"lag" doc:"txns behind the leader; null if it is not known"`
}

// Problem is something that an operator should know.
type Problem struct {
	Severity string `json:"severity" doc:"notice, warning, error or critical"`
	Check    string `json:"check" doc:"name of the finding, as warren doctor has it"`
	Server   *int64 `json:"server" doc:"myid of the server that it is about; null if it is about the ensemble"`
	Text     string `json:"text" doc:"what is wrong, with the server; the same at every server"`
	Remedy   string `json:"remedy" doc:"what helps; may be empty"`
	Since    int64  `json:"since" doc:"since when this is known, ms since 1970"`
}

// Ensemble describes this server and its ensemble.
func (f *Facts) Ensemble() *Ensemble {
	e := &Ensemble{Name: f.Config.Admin.ConsoleName, State: f.host.Mode(), Serving: f.InService(), Program: f.Program,
		Version: f.Version, UptimeMs: time.Since(f.Began).Milliseconds(), Connections: f.front.Conns.Len(),
		Outstanding: f.InProcess.Load(), Members: []Member{}, Problems: []Problem{}}
	if f.Config.Distributed() {
		e.ServerID = int64(f.host.ID)
	}
	least, mean, most := f.Env.Stats.Latency()
	e.Latency = Latency{Min: least, Mean: mean, Max: most}
	for _, r := range f.Metrics.Refusals() {
		e.Refused = append(e.Refused, RefusedConns{string(r.Why), r.Count})
	}
	f.refresh()
	f.addTree(e)
	if role, ok := f.Role(); ok {
		f.addMembers(e, &role)
	}
	for _, found := range f.Findings() {
		p := Problem{Severity: found.Severity.String(), Check: found.Check, Text: found.Text(), Remedy: found.Remedy,
			Since: found.Since.UnixMilli()}
		if found.Server != findings.NoServer {
			p.Server = &found.Server
		}
		e.Problems = append(e.Problems, p)
	}
	return e
}

// addTree adds what is known of the tree: while the server does not serve, what was known last.
func (f *Facts) addTree(e *Ensemble) {
	t := f.lastTree()
	if t == nil {
		return
	}
	e.Zxid, e.Epoch, e.TreeAt = t.Last.String(), t.Last.Epoch(), since1970(t.At)
	e.Znodes, e.Ephemerals, e.DataBytes, e.Watches, e.Sessions = &t.Znodes, &t.Ephemerals, &t.Bytes, &t.Watches,
		&t.Sessions
}

// lastTree returns what is known of the tree; nil if the server has never served.
func (f *Facts) lastTree() *facts.Tree {
	var now *facts.Tree
	if f.Serving() {
		now = f.Tree()
	}
	f.keeper.mu.Lock()
	defer f.keeper.mu.Unlock()
	f.keeper.tree = cmp.Or(now, f.keeper.tree)
	return f.keeper.tree
}

// addMembers adds the servers of the configuration, as the leader has them, and else as they were heard.
func (f *Facts) addMembers(e *Ensemble, r *host.QuorumRole) {
	heard := f.heard()
	if r.Leader >= 0 && !r.ReadOnly {
		e.Leader = new(int64(r.Leader))
	} else {
		e.Leader = leaderAmong(heard)
	}
	learners := map[int64]zab.Learner{}
	if r.Leading {
		for _, l := range r.Others {
			learners[int64(l.Peer)] = l
		}
	}
	q, last := f.Membership(), proto.Zxid(heard[int64(r.Leader)].Zxid)
	if r.Leading {
		last = f.Store.LastZxid()
	}
	for i := range q.Members {
		m := f.member(e, &q.Members[i])
		if m.Self && r.Leading {
			m.Lag = new(int64)
		} else if m.Self {
			m.behind(f.Store.LastZxid(), last)
		}
		if l, ok := learners[m.ID]; ok && !m.Self {
			f.addLearner(&m, &l)
		} else if r.Leading && !m.Self && !mayLearnFromFollower(q, &q.Members[i]) {
			m.State = "absent"
		} else if s, ok := heard[m.ID]; ok && !m.Self {
			m.addHeard(&s, last)
		}
		e.Members = append(e.Members, m)
	}
}

// leaderAmong returns the only server that says that it leads; nil if there is none.
func leaderAmong(heard map[int64]findings.Server) (leader *int64) {
	for id, s := range heard {
		switch {
		case !s.Known() || !s.Serving || s.Mode != "leader":
		case leader != nil:
			return nil
		default:
			leader = &id
		}
	}
	return leader
}

// heard returns what other servers have told last, by their ids.
func (f *Facts) heard() map[int64]findings.Server {
	f.keeper.mu.Lock()
	defer f.keeper.mu.Unlock()
	return f.keeper.byID()
}

// addHeard adds what a server has told of itself, of which no leader here knows more. leader is the last zxid of the
// leader, 0 if that is not known.
func (m *Member) addHeard(s *findings.Server, leader proto.Zxid) {
	switch {
	case s.Silent != "":
		m.State = "absent"
		return
	case !s.Known():
		return
	case s.Serving:
		m.State = s.Mode
	default:
		m.State = "joining"
	}
	if s.Zxid != 0 {
		m.Zxid = proto.Zxid(s.Zxid).String()
		m.behind(proto.Zxid(s.Zxid), leader)
	}
}

func (m *Member) behind(there, leader proto.Zxid) {
	if leader != 0 && there.Epoch() == leader.Epoch() {
		m.Lag = new(max(0, int64(leader)-int64(there)))
	}
}

// member is a server of the configuration, as this server knows it without being the leader.
func (f *Facts) member(e *Ensemble, line *config.Member) Member {
	d := facts.LineOf(line)
	m := Member{ID: line.ID, Role: line.Role.String(), State: "unknown", Self: line.ID == e.ServerID,
		Addresses: d.ServerAddresses, ClientAddress: d.ClientAddress}
	switch {
	case m.Self:
		m.State, m.Zxid = e.State, e.Zxid
	case e.Leader != nil && *e.Leader == m.ID:
		m.State = "leader"
	}
	return m
}

func (f *Facts) addLearner(m *Member, l *zab.Learner) {
	last, there := f.Store.LastZxid(), l.Acked
	m.State = "follower"
	if l.Observer {
		m.State, there = "observer", l.Sent
	}
	if !l.Synced {
		m.State = "joining"
	}
	if there == 0 {
		return
	}
	m.Zxid = there.String()
	m.behind(there, last)
}
