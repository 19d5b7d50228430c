package host

import (
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// leaderlessAfter is how long a server must have looked for a leader before the log says at level debug what it waits
// for: a hundred elections. The findings tell the same at higher levels.
const leaderlessAfter = 10 * time.Second

// leaderlessEvery is how often the log repeats it.
const leaderlessEvery = time.Minute

// Search is what a server that looks for a leader knows of the voters, for operators.
type Search struct {
	zab.Search
	Reason string // what the server waits for
	WayOut string // of an election that is stuck; empty otherwise
}

// How each Reason begins.
const (
	noLeader = "no leader has been elected"
	stuck    = "no leader can be elected: the voters that have a database do not form a quorum"
)

// newSearch describes s, which may be nil: then so is the result.
func newSearch(s *zab.Search) *Search {
	if s == nil {
		return nil
	}
	d := &Search{Search: *s}
	var parts []string
	say := func(servers []proto.ServerID, one, more string) {
		switch len(servers) {
		case 0:
		case 1:
			parts = append(parts, list(servers)+" "+one)
		default:
			parts = append(parts, list(servers)+" "+more)
		}
	}
	if s.Stuck {
		say(s.Holding, "has a database", "have a database")
	}
	say(s.Blank, "has no database", "have no database")
	say(s.Empty, "has an empty tree", "have empty trees")
	say(s.Silent, "has not been heard from", "have not been heard from")
	said := strings.Join(parts, ", ")
	switch {
	case s.Stuck:
		d.Reason, d.WayOut = stuck+"; "+said, wayOut(s)
	case said != "":
		d.Reason = noLeader + ": " + said
	default:
		d.Reason = noLeader
	}
	return d
}

// wayOut says what to do about an election that is stuck.
func wayOut(s *zab.Search) string {
	var steps []string
	if len(s.Silent) > 0 {
		steps = append(steps, "start "+list(s.Silent)+", with its data if it has any")
	}
	if len(s.Empty) > 0 {
		steps = append(steps,
			"if the ensemble is new and has ZooKeeper servers, put a file initialize into dataDir of "+
				list(s.Blank)+" and restart them")
	}
	switch {
	case len(s.Holding) > 0:
		steps = append(steps,
			"bring the disks of "+list(s.Blank)+" back; if they are lost for good, run warren recover "+
				"on a server that has data")
	case len(s.Empty) > 0:
	case len(s.Silent) > 0:
		steps = append(steps, "if disks are lost for good, run warren recover on a server that has data")
	default:
		steps = append(steps,
			"bring the disks of a majority back; if all of them are lost for good, restore a backup on "+
				"all servers")
	}
	return strings.Join(steps, "; ")
}

// list names servers, of which there is at least one: "server 1", or "servers 1, 2 and 3".
func list(servers []proto.ServerID) string {
	text := make([]string, len(servers))
	for i, id := range servers {
		text[i] = fmt.Sprint(int64(id))
	}
	last := len(text) - 1
	if last == 0 {
		return "server " + text[0]
	}
	return "servers " + strings.Join(text[:last], ", ") + " and " + text[last]
}

// leaderless is when the log was told that there is no leader. Owned by the host goroutine.
type leaderless struct {
	since  time.Time // when this server began to look for a leader; zero while it has one
	warned time.Time
}

// warns reports whether the log is to say now that this server has no leader.
func (s *leaderless) warns(looks bool, now time.Time) bool {
	switch {
	case !looks:
		*s = leaderless{}
		return false
	case s.since.IsZero():
		s.since = now
	}
	if now.Sub(s.since) < leaderlessAfter || !s.warned.IsZero() && now.Sub(s.warned) < leaderlessEvery {
		return false
	}
	s.warned = now
	return true
}

// warnLeaderless logs now and then how long this server has looked for a leader, and why there is none.
func (n *notices) warnLeaderless(now time.Time, s *Search) {
	if n.leaderless.warns(s != nil, now) {
		n.Log.Debug("looking for a leader", zap.String("reason", s.Reason), zap.String("way_out", s.WayOut),
			zap.Duration("for", now.Sub(n.leaderless.since).Round(time.Second)))
	}
}
