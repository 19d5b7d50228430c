package findings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// NoServer is the Server of a finding about the ensemble as a whole, and the ID of a server whose id is not known.
const NoServer int64 = -1

// Server is what is known of one server. Times are by the clock of the one who has collected the facts, except Clock.
type Server struct {
	ID      int64  `json:"id"`                // myid, or NoServer
	Address string `json:"address,omitempty"` // where it was asked; empty if that is not known
	Voter   bool   `json:"voter,omitempty"`   // by the configuration

	// Named says that an operator has asked for this server: it ought to answer.
	Named bool `json:"-"`
	// Nameless says that it could not be asked, because its name does not resolve: it may answer all the same.
	Nameless bool `json:"-"`
	// Heard is when it said what is here; zero if it never did. While it is silent, the facts are the last ones.
	Heard time.Time `json:"heard"`
	// Silent is why it does not answer now; empty if it answers or is not asked. SilentSince is when that began.
	Silent      string    `json:"silent,omitempty"`
	SilentSince time.Time `json:"silentSince,omitzero"`
	// Drained is when it was last seen drained; zero if it has served clients since.
	Drained time.Time `json:"drained,omitzero"`

	Instance uint64    `json:"instance,omitempty"` // a number that each process chooses; 0 if it does not tell
	Key      []byte    `json:"key,omitempty"`      // public, of X25519, that each process makes for what is for it only
	Tasks    bool      `json:"tasks,omitempty"`    // it carries out what visitors of other servers want of it
	Began    time.Time `json:"began,omitzero"`     // of the process
	Clock    time.Time `json:"clock,omitzero"`     // its own, when it answered
	Version  string    `json:"version,omitempty"`  // that it tells clients, which is one of ZooKeeper
	Program  string    `json:"program,omitempty"`  // with its own version, such as Warren 0.2.0; empty if it tells none
	// AdminPort is the port of its admin server; 0 if it has none or has not reported it.
	AdminPort int `json:"adminPort,omitempty"`
	// Mode is as the word srvr tells it: leader, follower, observer, standalone, read-only or looking; empty if it
	// does not serve and tells no more. Since is when it got it; zero if that is not known.
	Mode     string    `json:"mode,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Serving  bool      `json:"serving,omitempty"`
	Draining bool      `json:"draining,omitempty"`
	Zxid     uint64    `json:"zxid,omitempty"`   // last txn that it has applied
	Answer   string    `json:"answer,omitempty"` // its words while it does not serve

	// Of a leader: the voters, how many followers are in sync, and the servers of the configuration that are not
	// connected to it.
	Voters int     `json:"voters,omitempty"`
	Synced int     `json:"synced,omitempty"`
	Absent []int64 `json:"absent,omitempty"`

	WaitsFor  string    `json:"waitsFor,omitempty"` // of a member without a leader
	Stuck     bool      `json:"stuck,omitempty"`    // no election can end, because databases are missing
	WayOut    string    `json:"wayOut,omitempty"`   // of that
	Blank     bool      `json:"blank,omitempty"`    // its database was missing, and no leader has synchronized it
	Outside   *History  `json:"outside,omitempty"`
	Strangers []History `json:"strangers,omitempty"`
	Rivals    []Rival   `json:"rivals,omitempty"`

	// Members is the configuration that it has, one line a server, and ConfigVersion the version of that; empty if it
	// does not tell.
	Members       string            `json:"members,omitempty"`
	ConfigVersion int64             `json:"configVersion,omitempty"`
	Settings      map[string]string `json:"settings,omitempty"` // those that should be alike everywhere

	Connections int64   `json:"connections"`
	Outstanding int64   `json:"outstanding"`
	MeanMs      float64 `json:"meanMs"`
	DiskFree    int64   `json:"diskFree,omitempty"` // bytes, of the disk with the least room; 0 if it does not tell

	// DiskFullIn is in how many seconds a disk has no room, at the growth of the last hour; nil if it is not foreseen.
	DiskFullIn *int64 `json:"diskFullIn,omitempty"`

	// Own is what it finds of itself by its own numbers.
	Own []Finding `json:"own,omitempty"`
}

// History is a history that differs from another one.
type History struct {
	Server int64  `json:"server"` // that has the other one: the leader, for a server that stays outside
	Reason string `json:"reason"`
	Own    string `json:"own,omitempty"`    // of the server that tells it
	Theirs string `json:"theirs,omitempty"` // of the other server; empty if that does not tell it
}

// Rival is a server that goes by the id of a member, from another host.
type Rival struct {
	Server int64     `json:"server"` // the id
	Host   string    `json:"host"`
	Heard  time.Time `json:"heard"` // last
	// Away says that the leader has turned it away, because the member follows. Otherwise it was heard to look for a
	// leader, and is another server only if the member served at that time.
	Away bool `json:"away,omitempty"`
}

// Record is what one server tells of itself and of the others.
type Record struct {
	Self   Server   `json:"self"`
	Others []Server `json:"others"`
}

// ParseRecord reads a record. It reports false for an answer that is none, as that of ZooKeeper to a word that it does
// not know.
func ParseRecord(text string) (r Record, ok bool) {
	if json.Unmarshal([]byte(text), &r) != nil || r.Self.Instance == 0 {
		return Record{}, false
	}
	r.Self.Program = cmp.Or(r.Self.Program, "Warren") // 0.1 does not tell its version
	return r, true
}

// Known reports whether the facts are those of a server that answers.
func (s *Server) Known() bool { return s.Silent == "" && !s.Heard.IsZero() }

// name is how a text calls the server.
func (s *Server) name() string {
	if s.ID == NoServer {
		return s.Address
	}
	return fmt.Sprintf("server %d", s.ID)
}

// Merge returns the facts of all servers that somebody has asked, or that a server which was asked knows: those of a
// server that answers as it told them, and of the others the last ones that anybody has. asked are the servers as the
// caller has found them, told what each of them told of others.
func Merge(asked []Server, told ...[]Server) []Server {
	all := slices.Clone(asked)
	last := map[int64]Server{} // of servers that were not asked, or not heard
	for _, others := range told {
		for _, s := range others {
			if old, found := last[s.ID]; !found || old.Heard.Before(s.Heard) || old.Silent == "" && s.Silent != "" &&
				old.Heard.IsZero() {
				last[s.ID] = s
			}
		}
	}
	for i := range all {
		if all[i].ID != NoServer {
			delete(last, all[i].ID)
		}
	}
	var nameless []*Server // that do not answer: nothing tells their ids
	for i := range all {
		s := &all[i]
		if s.ID != NoServer || s.Known() {
			continue
		}
		nameless = append(nameless, s)
		for id, l := range last {
			if l.Address == s.Address {
				s.adopt(&l)
				delete(last, id)
				nameless = nameless[:len(nameless)-1]
				break
			}
		}
	}
	rest := make([]Server, 0, len(last))
	for _, s := range last {
		rest = append(rest, s)
	}
	slices.SortFunc(rest, func(a, b Server) int { return cmp.Compare(a.ID, b.ID) })
	heard := func(s Server) bool { return s.Known() }
	if missing := slices.DeleteFunc(slices.Clone(rest), heard); len(missing) == 1 && len(nameless) == 1 {
		nameless[0].adopt(&missing[0])
	} else if len(nameless) == 0 {
		return append(all, rest...)
	}
	for _, s := range rest {
		if s.Known() { // the others are the nameless ones
			all = append(all, s)
		}
	}
	return all
}

// adopt takes what somebody else knows of a server that has not answered the caller, who keeps the reason why.
func (s *Server) adopt(known *Server) {
	address, silent, named, nameless := s.Address, s.Silent, s.Named, s.Nameless
	if known.Known() {
		silent += "; other servers hear it"
	}
	*s = *known
	s.Address, s.Silent, s.Named, s.Nameless = address, silent, named, nameless
}
