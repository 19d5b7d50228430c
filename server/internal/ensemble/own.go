package ensemble

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
)

// self are the facts of this server, as it tells them to others: what it is at this moment, and its numbers as Keep
// has counted them last. It waits for no lock of the tree and for no disk: a server that stands tells so.
// REQUIRES: keeper.mu.
func (f *Facts) self(now time.Time) findings.Server {
	k := &f.keeper
	s := findings.Server{Heard: now, Clock: now, Address: k.address, Instance: k.instance,
		Key: k.key.PublicKey().Bytes(), Began: f.Began, Mode: f.host.Mode(), Serving: f.Serving(),
		Draining: f.Draining(), Connections: int64(f.front.Conns.Len()), Outstanding: f.InProcess.Load()}
	s.Tasks, s.Program = f.takesTasks() == nil, f.Program
	s.Version, _, _ = strings.Cut(f.Version, ",")
	if f.Config.Admin.Enabled {
		s.AdminPort = f.Config.Admin.Port
	}
	if f.Config.Distributed() {
		line := f.Membership().Member(int64(f.host.ID))
		s.ID, s.Voter = int64(f.host.ID), line != nil && line.Role == config.Participant
	}
	r, isMember := f.Role()
	if isMember {
		f.addRole(&s, &r)
	}
	if s.Draining {
		s.Drained = now
	}
	if s.Mode != k.mode || s.Serving != k.serving || k.since.IsZero() {
		k.mode, k.serving, k.since = s.Mode, s.Serving, now
	}
	s.Since = k.since
	if d := f.Stalled(); d > 0 {
		s.Own = append(s.Own, findings.Stalled(d))
	}
	s.Own = append(s.Own, f.ofCertificates(now)...)
	s.Own = append(s.Own, k.around...)
	s.Own = append(s.Own, findings.Restarts(k.starts, now)...)
	s.Own = append(s.Own, findings.Names(k.unresolved(now))...)
	if isMember || f.Serving() { // it has recovered, and a disk without room may be why it does not serve
		f.addDisk(&s)
	}
	if !f.Serving() {
		return s
	}
	_, s.MeanMs, _ = f.Env.Stats.Latency()
	s.Zxid = uint64(f.Store.LastZxid())
	s.Settings = map[string]string{
		"tickTime":          ms(f.Config.TickTime),
		"minSessionTimeout": ms(f.Config.MinSessionTimeout),
		"maxSessionTimeout": ms(f.Config.MaxSessionTimeout),
	}
	if f.Config.Distributed() {
		q := f.Membership()
		s.Settings["initLimit"], s.Settings["syncLimit"] = strconv.Itoa(q.InitLimit), strconv.Itoa(q.SyncLimit)
	}
	s.Own = append(s.Own, k.numbers...)
	return s
}

// addDisk adds what is known of the room on the disks. REQUIRES: the server has recovered.
func (f *Facts) addDisk(s *findings.Server) {
	in := f.Guard.FullIn()
	if s.DiskFree = f.DiskFree(); in >= 0 && in < 1<<40 {
		s.DiskFullIn = new(int64(in))
	}
	s.Own = append(s.Own, findings.Purge(f.disk.Snapshotter.PurgeTrouble())...)
	s.Own = append(s.Own, findings.Disk(f.Guard.Full(), time.Duration(in*float64(time.Second)))...)
}

// countNumbers finds out what is wrong with this server by its numbers, for self. It may wait for the tree and for the
// disk.
func (f *Facts) countNumbers() {
	if !f.Serving() {
		return
	}
	all := f.NumberOf()
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	now := f.Runtime.Now()
	number := k.lately(all, now)
	if n, ok := number("snapshot_error_count"); ok && n > 0 {
		f.forgetSnapshotErrors()
		number = k.lately(all, now)
	}
	slow := k.count("slow_syncs", float64(f.Metrics.SlowSyncs.Total()), now)
	k.numbers = append(findings.Numbers(number, slow, justNow), findings.PendingSyncs(number)...)
	if address, n := f.front.Conns.Busiest(); n > 0 {
		k.numbers = append(k.numbers,
			findings.ConnectionLimit(map[string]int{address.String(): n}, f.Config.MaxClientCnxns)...)
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// addRole adds what the role of a member tells.
func (f *Facts) addRole(s *findings.Server, r *host.QuorumRole) {
	q := f.Membership()
	s.Members, s.ConfigVersion = strings.TrimSpace(f.EnsembleText()), q.ConfigVersion
	if r.Leading {
		s.Voters, s.Synced = r.Size, r.SyncedFollowers
		connected := map[int64]bool{s.ID: true}
		for i := range r.Others {
			connected[int64(r.Others[i].Peer)] = true
		}
		for i := range q.Members {
			m := &q.Members[i]
			mayBeThere := mayLearnFromFollower(q, m) && m.ClientAddress(config.PortUnset) == ""
			if !connected[m.ID] && !mayBeThere {
				s.Absent = append(s.Absent, m.ID)
			}
		}
	}
	if o := r.Outside; o != nil {
		s.Outside = &findings.History{Server: int64(o.Leader), Reason: o.Reason, Own: o.Own, Theirs: o.Theirs}
	}
	for _, other := range r.Strangers {
		s.Strangers = append(s.Strangers,
			findings.History{Server: int64(other.ID), Reason: other.Reason, Theirs: other.Theirs})
	}
	for _, rival := range r.Rivals {
		s.Rivals = append(s.Rivals, findings.Rival{Server: int64(rival.ID), Host: rival.Host,
			Heard: s.Clock.Add(-rival.Age), Away: rival.Away})
	}
	if w := r.Search; w != nil && !s.Serving {
		s.WaitsFor, s.Stuck, s.WayOut = w.Reason, w.Stuck, w.WayOut
		s.Blank = f.disk.Meta != nil && f.disk.Meta.Blank()
	}
}

// mayLearnFromFollower reports whether a server may be well without being connected to the leader.
func mayLearnFromFollower(q *config.Quorum, m *config.Member) bool {
	return m.Role == config.Observer && q.ObserverMasterPort > 0
}

// lastingFor is how long after its last event a counter is worth a word, and justNow says so.
const lastingFor = 5 * time.Minute

var justNow = fmt.Sprintf("the last of them less than %d minutes ago", int(lastingFor.Minutes()))

// tally is a counter that is looked at again and again.
type tally struct {
	base, last float64   // before the first of the events that are told, and now
	rose       time.Time // when an event was last seen; zero if there was none
}

// count returns how many events of a counter are worth a word: those that followed each other with less than
// lastingFor in between, until none has happened for that long. REQUIRES: keeper.mu.
func (k *keeper) count(name string, value float64, now time.Time) float64 {
	t := k.tallies[name]
	if t == nil {
		t = &tally{}
		k.tallies[name] = t
	}
	switch {
	case value > t.last:
		t.rose = now
	case value < t.last: // an operator has restarted the figures
		t.base = 0
	}
	t.last = value
	if t.rose.IsZero() || now.Sub(t.rose) >= lastingFor {
		t.base, t.rose = value, time.Time{}
	}
	return value - t.base
}

// lately replaces the counters among numbers by what they have counted lately. REQUIRES: keeper.mu.
func (k *keeper) lately(number func(string) (float64, bool), now time.Time) func(string) (float64, bool) {
	counted := map[string]float64{}
	for _, name := range findings.Counters() {
		if v, ok := number(name); ok {
			counted[name] = k.count(name, v, now)
		}
	}
	return func(name string) (float64, bool) {
		if v, ok := counted[name]; ok {
			return v, true
		}
		return number(name)
	}
}
