package visible

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// Reconfiguration is what a change of the ensemble would do.
type Reconfiguration struct {
	Version string         `json:"version" doc:"of the configuration that is in force, hexadecimal"`
	Now     Voting         `json:"now" doc:"by the configuration that is in force"`
	After   Voting         `json:"after" doc:"by the one that would be"`
	Servers []ServerChange `json:"servers" doc:"of both, in the order of their ids"`
}

// Voting is who votes by a configuration.
type Voting struct {
	Voters    int      `json:"voters" doc:"servers that vote"`
	Observers int      `json:"observers" doc:"servers that do not"`
	Quorum    *int     `json:"quorum" doc:"how many voters must be up; null if groups and weights decide"`
	MayFail   *int     `json:"mayFail" doc:"how many voters may fail; null if groups and weights decide"`
	Lines     []string `json:"lines" doc:"of the configuration"`
}

// ServerChange is one server in both configurations.
type ServerChange struct {
	ID     int64  `json:"id" doc:"myid"`
	Before string `json:"before" doc:"its line, without the part up to =; empty if it is in none"`
	After  string `json:"after" doc:"as before"`
	Voted  bool   `json:"voted" doc:"it votes now"`
	Votes  bool   `json:"votes" doc:"it would vote"`
}

// Change of the ensemble that is asked for, in the words of the command reconfig.
type EnsembleChange struct {
	Join    string `json:"join" doc:"server.N=... of servers that join or get another line, separated by commas"`
	Leave   string `json:"leave" doc:"ids of servers that leave, separated by commas"`
	Version string `json:"version" doc:"of the configuration that it replaces, hexadecimal, as its plan tells it; a plan needs none"`
}

// ReconfigRequest returns the change in the protocol of clients.
func (c *EnsembleChange) ReconfigRequest() (*proto.ReconfigRequest, error) {
	version, err := strconv.ParseUint(c.Version, 0, 63)
	if err != nil {
		return nil, refusal(http.StatusBadRequest, "version is needed: that of the configuration which is replaced")
	}
	r := &proto.ReconfigRequest{CurConfigID: int64(version)}
	if c.Join != "" {
		r.JoiningServers = proto.Text(c.Join)
	}
	if c.Leave != "" {
		r.LeavingServers = proto.Text(c.Leave)
	}
	return r, nil
}

// PlanReconfiguration returns what a change of the ensemble would do, for those who may steer. The leader decides when
// it is done: it also refuses a configuration of which no quorum is connected and up to date.
func (n *Shown) PlanReconfiguration(a Actor, c EnsembleChange) (*Reconfiguration, error) {
	if err := n.MaySteer(a); err != nil {
		return nil, err
	}
	switch {
	case !n.Config.Distributed():
		return nil, refusal(http.StatusConflict, "this server is standalone: it has no ensemble to change")
	case !n.Config.Quorum.ReconfigEnabled:
		return nil, refusal(http.StatusConflict, "reconfigEnabled is false: change the lists by restarts")
	}
	now := n.Membership()
	next, err := now.Changed(c.Join, c.Leave)
	if err == nil {
		err = n.Config.Quorum.Permits(next)
	}
	if err != nil {
		return nil, refusal(http.StatusBadRequest, err.Error())
	}
	return reconfigurationOf(now, next), nil
}

func reconfigurationOf(now, next *config.Quorum) *Reconfiguration {
	r := &Reconfiguration{Version: proto.Zxid(now.ConfigVersion).String(), Now: votingOf(now), After: votingOf(next)}
	for _, m := range now.Members {
		r.Servers = append(r.Servers,
			ServerChange{ID: m.ID, Before: m.String(), Voted: m.Role == config.Participant})
	}
	for _, m := range next.Members {
		i, found := slices.BinarySearchFunc(r.Servers, m.ID,
			func(s ServerChange, id int64) int { return cmp.Compare(s.ID, id) })
		if !found {
			r.Servers = slices.Insert(r.Servers, i, ServerChange{ID: m.ID})
		}
		r.Servers[i].After, r.Servers[i].Votes = m.String(), m.Role == config.Participant
	}
	return r
}

func votingOf(q *config.Quorum) Voting {
	v := Voting{Voters: q.Voters(), Lines: q.Lines()}
	v.Observers = len(q.Members) - v.Voters
	if !q.Hierarchical {
		quorum := v.Voters/2 + 1
		v.Quorum, v.MayFail = new(quorum), new(v.Voters-quorum)
	}
	return v
}
