package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Times after which what usually ends by itself is more than a notice.
const (
	// settles is how long an election takes at most, and a follower until it is in sync after one.
	settles = 5 * time.Second
	// starts is how long a process may take until it serves, while a leader is there.
	starts = 30 * time.Second
	// changed is how long a change of the list of servers may take, from one restart to the next.
	changed = 10 * time.Minute
	// stopped is how long a server that was drained may be away.
	stopped = 5 * time.Minute
)

// LagMax is how many txns a server may be behind its leader without a finding, unless the asker says otherwise.
const LagMax = 10_000

// Ensemble returns what is wrong with the servers of which all are known facts, the most urgent first. A finding of an
// unknown age has no Since.
func Ensemble(all []Server, now time.Time, lagMax int64) []Finding {
	j := &judge{all: all, now: now}
	for i := range all {
		s := &all[i]
		switch {
		case !s.Known():
			continue
		case s.Mode == "leader" && s.Serving:
			j.leaders = append(j.leaders, s)
		case s.Mode == "standalone":
			j.alone = append(j.alone, s)
		case (s.Mode == "follower" || s.Mode == "observer") && s.Serving:
			j.learners = append(j.learners, s)
		}
	}
	j.led = len(j.leaders)+len(j.learners) > 0
	j.quorum() // first, because an election excuses servers
	ofAll := j.found
	j.found = nil
	for i := range all {
		j.server(&all[i])
	}
	j.found = append(j.found, ofAll...)
	j.histories()
	j.members()
	j.ids()
	j.settings()
	j.lag(lagMax)
	j.clocks()
	slices.SortStableFunc(j.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return j.found
}

type judge struct {
	all                      []Server
	now                      time.Time
	leaders, learners, alone []*Server // that serve
	led                      bool      // there is a leader, or will be in a moment
	electing                 bool      // there will be
	found                    []Finding
}

// add adds a finding about a server, or about the ensemble if that is nil.
func (j *judge) add(s *Server, f Finding, since time.Time) {
	f.Server, f.Since, f.alone = NoServer, since, len(j.all) == 1
	if s != nil {
		f.Server, f.Address = s.ID, s.Address
	}
	j.found = append(j.found, f)
}

// young reports whether something began a short while ago.
func (j *judge) young(since time.Time, short time.Duration) bool {
	return !since.IsZero() && j.now.Sub(since) < short
}

// excused reports whether a server that does not serve is expected to do so soon: it was drained and is being
// restarted, or it has just begun.
func (j *judge) excused(s *Server) bool {
	return j.young(s.Drained, stopped) ||
		s.Known() && (j.led || s.Mode == "standalone") && (j.young(s.Began, starts) || j.young(s.Since, settles))
}

func (j *judge) server(s *Server) {
	switch {
	case s.Silent != "" && !s.Named && j.unlisted(s.ID):
		return // some list has it, but not that of the ensemble: members tells so
	case s.Silent != "" && j.young(s.Drained, stopped):
		j.add(s, ended.with(s.Silent), s.SilentSince)
		return
	case s.Silent != "" && s.Heard.IsZero() && !s.Named && j.mayRun(s.ID):
		j.add(s, unheard.with(s.Silent), s.SilentSince)
		return
	case s.Nameless:
		j.add(s, nameless.with(s.Silent), s.SilentSince)
		return
	case s.Silent != "":
		f := silent.with(s.Silent)
		if j.electing && s.Heard.IsZero() { // it may be about to start
			f.Severity = Notice
		}
		j.add(s, f, s.SilentSince)
		return
	case s.Heard.IsZero():
		if len(j.leaders) == 1 && slices.Contains(j.leaders[0].Absent, s.ID) {
			j.add(s, absent.with(j.leaders[0].ID), time.Time{})
		} else if len(j.leaders) == 0 {
			j.add(s, notKnown.with(), time.Time{})
		}
		return
	}
	switch {
	case s.Outside != nil:
		j.add(s, outside(s.Outside), time.Time{})
	case s.Mode == "read-only":
		j.add(s, readOnly.with(), s.Since)
	case s.Serving, s.Stuck, j.isTwin(s):
	default:
		f := notServing.with(cmp.Or(s.Answer, s.Mode, "it tells no reason"))
		if s.WaitsFor != "" {
			f = waits.with(s.WaitsFor)
			if len(j.leaders) == 1 {
				f.Remedy = j.leaders[0].name() + " leads, but does not hear from it: both ports of the server.N " +
					"lines must be open between all servers, in both directions, and the lines and certificates " +
					"must be right"
			}
		}
		if j.excused(s) || j.mayLead(s) {
			f.Severity = Notice
		}
		j.add(s, f, s.Since)
	}
	if s.Blank && !s.Serving && !j.young(s.Since, settles) && !j.isTwin(s) { // a new ensemble begins so
		j.add(s, blank.with(), s.Since)
	}
	if s.Draining {
		j.add(s, drained.with(), time.Time{})
	}
	for _, f := range s.Own {
		j.add(s, f, f.Since)
	}
}

// isTwin reports whether a server waits in vain because another one serves under its id.
func (j *judge) isTwin(s *Server) bool {
	return s.Known() && !s.Serving && s.ID != NoServer && slices.ContainsFunc(j.all, func(other Server) bool {
		return other.ID == s.ID && other.Known() && other.Serving && other.Instance != s.Instance
	})
}

// mayLead reports whether a server that says no more than that it does not serve may be the leader that others follow:
// with leaderServes=no the leader of an ensemble of ZooKeeper says so to clients.
func (j *judge) mayLead(s *Server) bool {
	return s.Mode == "" && s.WaitsFor == "" && len(j.leaders) == 0 && len(j.learners) > 0 &&
		!slices.ContainsFunc(j.all, func(other Server) bool {
			return other.Known() && !other.Serving && other.ID != s.ID
		})
}

// unlisted reports whether the leader's list of servers is known and lacks a server.
func (j *judge) unlisted(id int64) bool {
	if len(j.leaders) != 1 || j.leaders[0].Members == "" || id == NoServer {
		return false
	}
	for line := range strings.Lines(j.leaders[0].Members) {
		if strings.HasPrefix(line, fmt.Sprintf("server.%d=", id)) {
			return false
		}
	}
	return true
}

// mayRun reports whether a member that nobody has heard may be there all the same: the leader is connected with it, or
// others follow a leader that nobody has heard either. A firewall may keep servers from each other's client ports.
func (j *judge) mayRun(id int64) bool {
	if id == NoServer {
		return false
	}
	if len(j.leaders) == 1 {
		return j.leaders[0].Instance != 0 && !slices.Contains(j.leaders[0].Absent, id)
	}
	return len(j.leaders) == 0 && len(j.learners) > 0
}

// quorum looks whether exactly one leads, and how many voters may fail.
func (j *judge) quorum() {
	switch {
	case len(j.leaders) > 1:
		f := find(Critical, "several-leaders", "compare server.N on all of them, and correct it if it differs; "+
			"otherwise find out which one the others follow, and stop the one that is cut off",
			"%d servers lead: %s", len(j.leaders), names(j.leaders))
		if slices.ContainsFunc(j.leaders, func(s *Server) bool { return j.young(s.Since, settles) }) {
			f.Severity = Notice // one of them has replaced the other this moment
		}
		j.add(nil, f, time.Time{})
	case len(j.leaders) == 1:
		j.spare(j.leaders[0])
	case len(j.learners) > 0:
		j.add(nil, find(Notice, "leader-not-asked", "name the leader too",
			"follows a leader that was not asked or did not answer: %s", names(j.learners)), time.Time{})
	case len(j.alone) == 0 && len(j.all) > 0:
		j.leaderless()
	}
	if len(j.alone) > 0 && len(j.alone)+len(j.leaders)+len(j.learners) > 1 {
		for _, s := range j.alone {
			j.add(s, find(Critical, "not-in-ensemble", "correct its zoo.cfg: give it the same server.N lines as the "+
				"others; what was written to it stays there alone",
				"runs alone beside others: its clients see another tree"), time.Time{})
		}
	}
}

// leaderless tells that no server leads, and why.
func (j *judge) leaderless() {
	var reasons []string
	var missing []*Server
	var since time.Time
	known, asked := false, false
	for i := range j.all {
		s := &j.all[i]
		if s.Known() && s.Stuck {
			j.add(nil, find(Critical, "databases-missing", s.WayOut, "%s", s.WaitsFor), s.Since)
			return // the others say the same
		}
		if s.Known() && !s.Since.IsZero() && (since.IsZero() || s.Since.Before(since)) {
			since = s.Since
		}
		known, asked = known || s.Known(), asked || !s.Nameless
		if s.Silent != "" {
			missing = append(missing, s)
			reasons = append(reasons, strings.TrimPrefix(s.Address+": "+s.Silent, ": "))
		}
	}
	differs := func(s *Server) bool { return s.ID != NoServer || s.Silent != missing[0].Silent }
	if len(missing) > 0 && !slices.ContainsFunc(missing, differs) {
		reasons = []string{missing[0].Silent} // their addresses are their names
	}
	voters, gone := j.voters()
	switch {
	case voters > 0 && voters-gone > voters/2 && j.young(since, settles):
		j.led, j.electing = true, true
		j.add(nil, find(Notice, "election", "nothing, if it ends soon",
			"there is no leader: an election is under way"), since)
	case len(missing) == 0:
		j.add(nil, find(Critical, "no-quorum",
			"find out what the servers wait for: in their logs, at /readyz, or with warren status",
			"there is no leader, although all servers that were asked are running: no client can write"), since)
	case !asked:
		j.add(nil, find(Error, "not-known", "correct the names, repair the name server that this machine uses, or "+
			"name the servers by their IP addresses", "whether clients are served is not known: no server could be "+
			"asked, because this machine cannot resolve their names"), since)
	case !known:
		j.add(nil, find(Critical, "no-quorum", "start servers until more than half of the voters run; if they "+
			"do run, look at the network between this machine and them",
			"no answer from %s (%s): no client can write, unless other machines reach them", names(missing),
			strings.Join(reasons, "; ")), since)
	default:
		j.add(nil, find(Critical, "no-quorum", "start the missing servers, until more than half of the "+
			"voters run; the ports between the servers must be open in both directions",
			"there is no leader, and no client can write; no answer from %s (%s)",
			names(missing), strings.Join(reasons, "; ")), since)
	}
}

// voters returns how many there are, and how many of them have answered and do so no more. One that was never heard
// may be about to start.
func (j *judge) voters() (all, gone int) {
	for i := range j.all {
		if s := &j.all[i]; s.Voter {
			all++
			if s.Silent != "" && !s.Heard.IsZero() {
				gone++
			}
		}
	}
	return all, gone
}

// spare tells how many more voters may fail, by what the leader says. Where groups and weights decide, a number of
// voters tells nothing: that the leader serves says that there is a quorum.
func (j *judge) spare(leader *Server) {
	if leader.Voters == 0 || strings.Contains(leader.Members, "\ngroup.") ||
		strings.Contains(leader.Members, "\nweight.") {
		return
	}
	missing, excused := []string{}, j.young(leader.Since, settles)
	away, fresh, known := 0, 0, true
	for i := range j.all {
		s := &j.all[i]
		switch {
		case !s.Voter || s == leader || s.ID == NoServer || j.isTwin(s) || j.unlisted(s.ID):
		case s.Known() && s.Serving:
			if s.Draining || j.excused(s) { // it has come back, or is away, since it or the leader was asked
				fresh++
			}
		default:
			if s.Heard.IsZero() && (s.Silent == "" || j.mayRun(s.ID)) && !slices.Contains(leader.Absent, s.ID) {
				continue // the leader is connected with it
			}
			away++
			missing, known = append(missing, fmt.Sprint(s.ID)), known && j.excused(s)
		}
	}
	in, least := leader.Synced+1, leader.Voters/2+1
	which := ""
	switch n := len(missing); {
	case n == 1:
		which = ", and server " + missing[0] + " is missing"
	case n > 1:
		which = ", and servers " + strings.Join(missing[:n-1], ", ") + " and " + missing[n-1] + " are missing"
	}
	switch {
	case in < least:
		j.add(nil, find(Critical, "no-quorum", "start the missing servers",
			"fewer than a majority of the voters are in sync, %d of %d%s: no client can write", in, leader.Voters,
			which), time.Time{})
	case in == least && leader.Voters > 2:
		f := find(Error, "no-spare", "start the missing servers, or find out why they do not serve",
			"only %d of %d voters are in sync%s: if one more fails, no client will be able to write", in,
			leader.Voters, which)
		if excused || known && away+fresh >= leader.Voters-in && away+fresh > 0 {
			f.Severity = Notice
		}
		j.add(nil, f, time.Time{})
	}
}

func names(some []*Server) string {
	all := make([]string, len(some))
	for i, s := range some {
		all[i] = s.name()
	}
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// histories tells of members whose histories differ, each once, and not of those that stay outside. One that the
// leader is connected with, and does not take for a stranger, has the ensemble's history by now: the others hear so
// later.
func (j *judge) histories() {
	told := map[int64]bool{}
	for i := range j.all {
		if s := &j.all[i]; s.Known() && s.Outside != nil {
			told[s.ID] = true
		}
	}
	for i := range j.all {
		s := &j.all[i]
		if !s.Known() || s.Outside != nil {
			continue
		}
		for k := range s.Strangers {
			if h := &s.Strangers[k]; !told[h.Server] && !j.follows(h.Server) {
				told[h.Server] = true
				j.add(s, otherHistory.with(h.Server, h.Reason, h.Theirs), time.Time{})
			}
		}
	}
}

// follows reports whether the leader says that a member is connected and has its history.
func (j *judge) follows(id int64) bool {
	if len(j.leaders) != 1 || !slices.ContainsFunc(j.all, func(s Server) bool { return s.ID == id }) {
		return false
	}
	l := j.leaders[0]
	return l.ID != id && l.Voters > 0 && !slices.Contains(l.Absent, id) &&
		!slices.ContainsFunc(l.Strangers, func(h History) bool { return h.Server == id })
}

// members compares the lists of servers. One that is not of the same version is on its way, and so is one that a
// server got by its restart, as long as all of them have the same leader. That of a twin is its own matter.
func (j *judge) members() {
	lists := map[string][]*Server{}
	versions := map[int64]bool{}
	for i := range j.all {
		s := &j.all[i]
		if s.Known() && s.Members != "" && (s.Serving || s.Mode == "looking") && !j.isTwin(s) {
			lists[s.Members] = append(lists[s.Members], s)
			versions[s.ConfigVersion] = true
		}
	}
	if len(lists) < 2 || len(versions) > 1 {
		return
	}
	severity := Notice
	restarted := false
	for _, some := range lists {
		for _, s := range some {
			restarted = restarted || j.young(s.Began, changed)
			if len(j.leaders) != 1 || !s.Serving {
				severity = Error
			}
		}
	}
	if !restarted {
		severity = Error
	}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		for _, s := range lists[list] {
			j.add(s, find(severity, "different-members",
				"compare server.N in their zoo.cfg, or zoo.cfg.dynamic.*, and make them the same",
				"its list of servers differs from that of the others: %s", strings.ReplaceAll(list, "\n", " ")),
				time.Time{})
		}
	}
}

// ids checks whether two servers have the same id. The finding is about the one that isn't serving. If its address is
// in no list but its own, only the servers that have heard from it know of it.
func (j *judge) ids() {
	first := map[int64]*Server{}
	twice := map[int64]bool{}
	for i := range j.all {
		s := &j.all[i]
		if !s.Known() || s.ID == NoServer || s.Mode == "standalone" {
			continue
		}
		other := first[s.ID]
		if other == nil {
			first[s.ID] = s
		} else if s.Instance == 0 || s.Instance != other.Instance {
			if s.Serving && !other.Serving {
				s, other = other, s
			}
			j.add(s, sameID(s.ID, other.Address, s.Address), time.Time{})
			twice[s.ID] = true
		}
	}
	for i := range j.all {
		if !j.all[i].Known() {
			continue
		}
		for _, r := range j.all[i].Rivals {
			if holder := first[r.Server]; holder != nil && !twice[r.Server] && proves(&r, holder) {
				twice[r.Server] = true
				j.add(&Server{ID: r.Server, Address: r.Host}, sameID(r.Server, holder.Address, r.Host), time.Time{})
			}
		}
	}
}

// proves reports whether a rival is not the member itself, which may have looked for a leader a moment ago.
func proves(r *Rival, member *Server) bool {
	return r.Away || member.Serving && !member.Since.IsZero() && r.Heard.Sub(member.Since) >= settles
}

// settings compares what should be the same everywhere, and the versions: those of the programs if all tell them, else
// those that clients are told.
func (j *judge) settings() {
	values := map[string]map[string][]*Server{"": {}}
	compared := func(s *Server) bool { return s.Known() && s.Serving }
	versionOf := func(s *Server) string { return s.Program }
	if slices.ContainsFunc(j.all, func(s Server) bool { return compared(&s) && s.Program == "" }) {
		versionOf = func(s *Server) string { return s.Version }
	}
	for i := range j.all {
		s := &j.all[i]
		if !compared(s) {
			continue
		}
		if version := versionOf(s); version != "" {
			values[""][version] = append(values[""][version], s)
		}
		for key, value := range s.Settings {
			if values[key] == nil {
				values[key] = map[string][]*Server{}
			}
			values[key][value] = append(values[key][value], s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(values[key]) < 2 {
			continue
		}
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(values[key])) {
			parts = append(parts, fmt.Sprintf("%s on %s", value, names(values[key][value])))
		}
		if key == "" {
			j.add(nil, find(Notice, "different-versions", "finish the upgrade", "%s", strings.Join(parts, "; ")),
				time.Time{})
		} else {
			j.add(nil, find(Warning, "different-settings", "make "+key+" the same in every zoo.cfg", "%s is %s", key,
				strings.Join(parts, "; ")), time.Time{})
		}
	}
}

// lag compares zxids with the leader's. The answers are not of one moment, hence lagMax; and a server that is ahead
// has answered after the leader.
func (j *judge) lag(lagMax int64) {
	if len(j.leaders) != 1 {
		return
	}
	leader := j.leaders[0].Zxid
	for _, s := range j.learners {
		switch epoch, its := leader>>32, s.Zxid>>32; {
		case its < epoch && leader&0xffffffff > uint64(min(lagMax, 1<<31)):
			j.add(s, find(Error, "lag", "look at its disk, its network and its log; if it stays behind, restart it",
				"is in epoch %d, the leader in %d: it applies nothing", its, epoch), time.Time{})
		case its == epoch && leader > s.Zxid && leader-s.Zxid > uint64(lagMax):
			j.add(s, lagging(leader-s.Zxid), time.Time{})
		}
	}
}

// clocks compares the clocks of servers with the leader's. Answers were given at different times.
func (j *judge) clocks() {
	if len(j.leaders) != 1 || j.leaders[0].Clock.IsZero() {
		return
	}
	leader := j.leaders[0]
	for _, s := range j.learners {
		if !s.Clock.IsZero() {
			for _, f := range Clock(s.Clock.Sub(s.Heard)-leader.Clock.Sub(leader.Heard), "the leader's") {
				j.add(s, f, time.Time{})
			}
		}
	}
}
