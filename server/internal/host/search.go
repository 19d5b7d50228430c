package host

import (
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// leaderlessAfter is how long a server must have looked for a leader before the log says so: a hundred elections. The
// servers of a new ensemble have that time to start.
const leaderlessAfter = 10 * time.Second

// leaderlessEvery is how often the log repeats it.
const leaderlessEvery = time.Minute

// Search is what a server that looks for a leader knows of the voters, for operators.
type Search struct {
	zab.Search
	Reason string // what the server waits for
	WayOut string // of an election that is stuck; empty otherwise
}

// noLeader begins each Reason.
const noLeader = "no leader is elected"

// newSearch describes s, which may be nil: then so is the result.
func newSearch(s *zab.Search) *Search {
	if s == nil {
		return nil
	}
	d := &Search{Search: *s}
	var parts []string
	say := func(servers []proto.ServerID, what string) {
		if len(servers) > 0 {
			parts = append(parts, list(servers)+" "+what)
		}
	}
	if s.Stuck {
		parts = append(parts, "the voters that have a database are no quorum")
	}
	if s.Stuck {
		say(s.Holding, "with data")
	}
	say(s.Blank, "without a database")
	say(s.Empty, "with an empty tree")
	say(s.Silent, "not heard of")
	d.Reason = noLeader
	if len(parts) > 0 {
		d.Reason += ": " + strings.Join(parts, "; ")
	}
	if s.Stuck {
		d.WayOut = wayOut(s)
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

// list names servers: "server 1", or "servers 1, 2".
func list(servers []proto.ServerID) string {
	if len(servers) == 1 {
		return fmt.Sprintf("server %d", servers[0])
	}
	text := make([]string, len(servers))
	for i, id := range servers {
		text[i] = fmt.Sprint(int64(id))
	}
	return "servers " + strings.Join(text, ", ")
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

// warnLeaderless logs now and then that this server has no leader, why, and what to do.
func (m *Host) warnLeaderless(now time.Time, s *Search) {
	if !m.leaderless.warns(s != nil, now) {
		return
	}
	if s.Stuck {
		m.Log.Warn("no leader can be elected: the voters that have a database are no quorum",
			zap.String("reason", s.Reason), zap.String("way_out", s.WayOut))
		return
	}
	m.Log.Warn(fmt.Sprintf("no leader for %v%s; no client can write",
		now.Sub(m.leaderless.since).Round(time.Second), strings.TrimPrefix(s.Reason, noLeader)))
}
