package facts

import (
	"time"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/zab"
)

// Ensemble is a server and what it knows of its ensemble.
type Ensemble struct {
	ServerID    int64     `json:"serverId" doc:"myid of the server that answers; 0 if it stands alone"`
	State       string    `json:"state" doc:"standalone, leader, follower, observer, looking or read-only"`
	Serving     bool      `json:"serving" doc:"clients are served now"`
	Version     string    `json:"version" doc:"of the program"`
	UptimeMs    int64     `json:"uptimeMs" doc:"since the process began"`
	Leader      *int64    `json:"leader" doc:"myid of the leader; null without one, and on a server that stands alone"`
	Zxid        string    `json:"zxid" doc:"last txn that this server has applied, hexadecimal"`
	Epoch       int64     `json:"epoch" doc:"upper half of the zxid"`
	Znodes      int       `json:"znodes" doc:"number of znodes"`
	Ephemerals  int       `json:"ephemerals" doc:"number of ephemeral znodes"`
	DataBytes   int64     `json:"dataBytes" doc:"bytes of paths and data"`
	Watches     int       `json:"watches" doc:"watches at this server"`
	Sessions    int       `json:"sessions" doc:"sessions of the ensemble"`
	Connections int       `json:"connections" doc:"connections to this server"`
	Outstanding int64     `json:"outstanding" doc:"requests that this server has received and not answered"`
	Latency     Latency   `json:"latency" doc:"of the requests of the last minutes at this server"`
	Members     []Member  `json:"members" doc:"servers of the configuration; empty if the server stands alone"`
	Problems    []Problem `json:"problems" doc:"what is wrong, as far as this server knows, the most urgent first"`
	Writes      bool      `json:"writes" doc:"changes are switched on by warren.console.writes"`
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
	State         string   `json:"state" doc:"leader, follower, observer, joining, absent, or unknown: a leader alone knows the others"`
	Self          bool     `json:"self" doc:"it is the server that answers"`
	Addresses     []string `json:"addresses" doc:"between servers, host:port"`
	ClientAddress string   `json:"clientAddress" doc:"for clients, host:port; empty if the configuration does not tell it"`
	Zxid          string   `json:"zxid" doc:"last txn known to be there, hexadecimal; empty if it is not known"`
	Lag           *int64   `json:"lag" doc:"txns behind the server that answers; null if it is not known"`
}

// Problem is something that an operator should know.
type Problem struct {
	Severity string `json:"severity" doc:"notice, warning, error or critical"`
	Check    string `json:"check" doc:"name of the finding, as warren doctor has it"`
	Text     string `json:"text" doc:"what is wrong with the server that answers, or with its ensemble"`
	Remedy   string `json:"remedy" doc:"what helps; may be empty"`
}

// Ensemble describes this server and its ensemble.
func (f *Facts) Ensemble() *Ensemble {
	e := &Ensemble{State: f.host.Mode(), Serving: f.IsServing(), Version: f.Version,
		UptimeMs: time.Since(f.Began).Milliseconds(), Connections: f.front.Conns.Len(),
		Outstanding: f.InProcess.Load(), Members: []Member{}, Problems: []Problem{}}
	if f.Config.Distributed() {
		e.ServerID = int64(f.host.ID)
	}
	least, mean, most := f.Env.Stats.Latency()
	e.Latency = Latency{Min: least, Mean: mean, Max: most}
	if f.Serving() {
		f.addTree(e)
		e.Watches = f.front.CountWatches()
	}
	var absent []int64
	if role, ok := f.Role(); ok {
		absent = f.addMembers(e, &role)
	}
	for _, found := range f.findings(e.ServerID, e.State, e.Serving, absent) {
		e.Problems = append(e.Problems, Problem{Severity: found.Severity.String(), Check: found.Check,
			Text: found.What, Remedy: found.Remedy})
	}
	return e
}

// addTree adds what is known of the tree. REQUIRES: the server has recovered.
func (f *Facts) addTree(e *Ensemble) {
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	state := f.Store.State
	last := state.LastZxid()
	e.Zxid, e.Epoch = last.String(), last.Epoch()
	e.Znodes, e.Ephemerals, e.DataBytes, e.Sessions = state.NumNodes(), state.NumEphemerals(), state.DataSize(),
		state.NumSessions()
}

// addMembers adds the servers of the configuration. It returns those that a leader does not hear.
func (f *Facts) addMembers(e *Ensemble, r *host.QuorumRole) (absent []int64) {
	if r.Leader >= 0 && !r.ReadOnly {
		leader := int64(r.Leader)
		e.Leader = &leader
	}
	learners := map[int64]zab.Learner{}
	if r.Leading {
		for _, l := range r.Others {
			learners[int64(l.Peer)] = l
		}
	}
	q := f.Membership()
	for i := range q.Members {
		m := f.member(e, &q.Members[i])
		if l, ok := learners[m.ID]; ok && !m.Self {
			f.addLearner(&m, &l)
		} else if r.Leading && !m.Self {
			m.State, absent = "absent", append(absent, m.ID)
		}
		e.Members = append(e.Members, m)
	}
	return absent
}

// member is a server of the configuration, as this server knows it without being the leader.
func (f *Facts) member(e *Ensemble, line *config.Member) Member {
	d := lineOf(line)
	m := Member{ID: line.ID, Role: line.Role.String(), State: "unknown", Self: line.ID == e.ServerID,
		Addresses: d.ServerAddresses, ClientAddress: d.ClientAddress}
	switch {
	case m.Self:
		m.State, m.Zxid, m.Lag = e.State, e.Zxid, new(int64)
	case e.Leader != nil && *e.Leader == m.ID:
		m.State = "leader"
	}
	return m
}

// addLearner adds what the leader knows of a learner.
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
	if there.Epoch() == last.Epoch() {
		lag := max(0, int64(last)-int64(there))
		m.Lag = &lag
	}
}
