package recovery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// State is what is known of the data of a server.
type State int

// The states.
const (
	Silent  State = iota // it does not answer
	Unknown              // it answers, and does not say what it has: ZooKeeper, or its admin port is not reached
	Blank                // it has no database and does not vote
	Holding              // it has a database, and no leader
	Serving              // it serves clients
)

// Member is what is known of one server of the configuration.
type Member struct {
	ID       int64
	Votes    bool
	Address  string // at which it was asked
	State    State
	Detail   string // Silent, Unknown: why; Serving: its role
	Ensemble string // identity of its history; "" if it is not known for certain
	Accepted int64  // the highest epoch that it has promised
	Current  int64  // the epoch of its history
	Last     proto.Zxid
}

// String is one line for operators.
func (m *Member) String() string {
	role := "server"
	if !m.Votes {
		role = "observer"
	}
	text := fmt.Sprintf("%s %d", role, m.ID)
	if m.Address != "" {
		text += " at " + m.Address
	}
	switch m.State {
	case Silent:
		return text + " does not answer: " + m.Detail
	case Unknown:
		return text + " does not say what it has: " + m.Detail
	case Blank:
		return text + " has no database and does not vote"
	case Holding:
		return fmt.Sprintf("%s has data up to %v, of epoch %d", text, m.Last, m.Current)
	}
	return text + " serves clients: " + m.Detail
}

// ahead reports whether a server may have txns that come after a state: by the rule of an election.
func (m *Member) ahead(current int64, last proto.Zxid) bool {
	return m.Current > current || m.Current == current && m.Last > last
}

// Situation is what is known before a directory is changed.
type Situation struct {
	Own     Member // the server whose directory it is, by its files
	Others  []Member
	Decides func(voters []int64) bool // the quorum rule of the configuration
	GiveUp  []int64                   // servers whose data an operator gives up
}

func (s *Situation) givenUp(id int64) bool { return slices.Contains(s.GiveUp, id) }

// problems are why a step must not be done.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// common returns what forbids both steps.
func (s *Situation) common() (found problems) {
	for _, id := range s.GiveUp {
		if id != s.Own.ID && !slices.ContainsFunc(s.Others, func(m Member) bool { return m.ID == id }) {
			found.add("--give-up %d: the configuration has no such server", id)
		}
	}
	for i := range s.Others {
		if m := &s.Others[i]; m.State == Serving {
			found.add("%v: the ensemble has a quorum, and there is nothing to recover. The leader brings a server "+
				"without a database up to date; for one with another history there is warren adopt", m)
		}
	}
	return found
}

// AgainstBegin returns why the data of Own must not become the beginning of a new history; nothing if it may.
func (s *Situation) AgainstBegin() []string {
	found := s.common()
	if s.Own.State != Holding {
		found.add("%v: begin on a server that has data", &s.Own)
	}
	if s.givenUp(s.Own.ID) {
		found.add("--give-up %d is this server, whose data is to be kept", s.Own.ID)
	}
	able := s.votes(&s.Own, nil)
	for i := range s.Others {
		m := &s.Others[i]
		if m.State == Blank || m.State == Serving || s.givenUp(m.ID) {
			continue
		}
		able = s.votes(m, able)
		switch {
		case m.State != Holding:
			found.add("%v: it may have data that this server does not have. Start it with its data; if that is lost "+
				"for good, --give-up %d", m, m.ID)
		case s.Own.Ensemble != "" && m.Ensemble != "" && m.Ensemble != s.Own.Ensemble:
			found.add("%v, and has another history than this server. Find out which is right; --give-up %d gives "+
				"that one up", m, m.ID)
		case m.ahead(s.Own.Current, s.Own.Last):
			found.add("%v: that is later than this server's %v, of epoch %d. Begin there; --give-up %d gives up what "+
				"only that server has", m, s.Own.Last, s.Own.Current, m.ID)
		}
	}
	if slices.Sort(able); s.Decides(able) {
		found.add("%s may have their data and would be a quorum: with all of them running and connected they elect "+
			"a leader, and nothing is lost", Names(able))
	}
	return found
}

// votes adds m to voters if it is one.
func (s *Situation) votes(m *Member, voters []int64) []int64 {
	if m.Votes {
		voters = append(voters, m.ID)
	}
	return voters
}

// AgainstJoin returns why Own must not be restored from the backup of a record; nothing if it may.
func (s *Situation) AgainstJoin(r *Record) []string {
	found := s.common()
	if !slices.Equal(r.Voters, s.Voters()) {
		found.add("the backup is of an ensemble whose voters are %s, and the configuration has %s", Names(r.Voters),
			Names(s.Voters()))
	}
	if m := &s.Own; m.State == Holding && !s.givenUp(m.ID) && (m.ahead(r.Current, proto.Zxid(r.Last)) ||
		m.Ensemble != r.Ensemble) {
		found.add("%v: the backup ends with %v, of epoch %d. --give-up %d sets aside what only this server has", m,
			r.Last, r.Current, m.ID)
	}
	for i := range s.Others {
		m := &s.Others[i]
		if m.State == Serving || s.givenUp(m.ID) {
			continue
		}
		switch {
		case m.State == Holding && m.Ensemble == r.Identity && m.Current == r.Epoch: // it was restored, too
		case m.State == Holding && m.Ensemble == r.Identity:
			found.add("%v: it has gone on with the new history since the backup. Begin anew there; --give-up %d "+
				"gives up what only that server has", m, m.ID)
		case m.ID == r.Server:
			found.add("%v: it is the server with which the recovery began, and may have gone on since. Start it, so "+
				"that it says; --give-up %d gives up what it has besides the backup", m, m.ID)
		case m.State != Holding: // known when the backup was made
		case m.Ensemble != "" && r.Ensemble != "" && m.Ensemble != r.Ensemble:
			found.add("%v, and has another history than the backup: it may have been recovered from another one. "+
				"--give-up %d if this backup is the right one", m, m.ID)
		case slices.Contains(r.GivenUp, m.ID): // known when the backup was made
		case m.ahead(r.Current, proto.Zxid(r.Last)):
			found.add("%v: it has come back since the backup, and that ends with %v, of epoch %d. Begin anew there; "+
				"--give-up %d gives up what only that server has", m, r.Last, r.Current, m.ID)
		}
	}
	return found
}

// Voters are the ids of all voters of the configuration, sorted.
func (s *Situation) Voters() (all []int64) {
	for _, m := range append(slices.Clone(s.Others), s.Own) {
		all = s.votes(&m, all)
	}
	slices.Sort(all)
	return all
}

// Missing returns other voters that are to be restored, no more than are needed to be a quorum with Own and those that
// have the history of a record already. Those that are blank or given up come before others, whose data would be set
// aside.
func (s *Situation) Missing(r *Record) (restore []int64) {
	able := s.votes(&s.Own, nil)
	var rest []int64
	for i := range s.Others {
		switch m := &s.Others[i]; {
		case m.ID == r.Server, m.Ensemble != "" && m.Ensemble == r.Identity:
			able = s.votes(m, able)
		case m.State == Blank || s.givenUp(m.ID):
			restore = s.votes(m, restore)
		default:
			rest = s.votes(m, rest)
		}
	}
	restore = append(restore, rest...)
	for i := len(restore) - 1; i >= 0; i-- {
		without := slices.Delete(slices.Clone(restore), i, i+1)
		if s.Decides(slices.Concat(able, without)) {
			restore = without
		}
	}
	return restore
}

// Names names servers: "server 1", or "servers 1, 2".
func Names(servers []int64) string {
	text := make([]string, len(servers))
	for i, id := range servers {
		text[i] = strconv.FormatInt(id, 10)
	}
	if len(text) == 1 {
		return "server " + text[0]
	}
	return "servers " + strings.Join(text, ", ")
}
