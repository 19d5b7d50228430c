package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// roster reads configurations: voters, observers and, if there are groups, the word "groups", as 1,2,3/4/groups.
type roster struct{}

// ensemble makes a configuration. With groups, voters of neighbouring ids decide together and the first of each group
// weighs two.
func ensemble(version proto.Zxid, voters, observers []proto.ServerID, groups bool) *zab.Ensemble {
	voters, observers = slices.Clone(voters), slices.Clone(observers)
	slices.Sort(voters)
	slices.Sort(observers)
	q, err := quorum.Majority(voters...)
	if groups {
		of, weights := map[int64][]proto.ServerID{}, map[proto.ServerID]int64{}
		for i, id := range voters {
			of[int64(i/2)] = append(of[int64(i/2)], id)
			weights[id] = int64(2 - i%2)
		}
		q, err = quorum.Hierarchical(of, weights)
	}
	if err != nil {
		panic(err)
	}
	text := list(voters) + "/" + list(observers) + "/"
	if groups {
		text += "groups"
	}
	return &zab.Ensemble{Version: version, Quorum: q, Observers: observers, Text: []byte(text)}
}

func list(ids []proto.ServerID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, ",")
}

// Parse fulfils zab.Roster.
func (roster) Parse(text []byte) (*zab.Ensemble, error) {
	body, hex, _ := strings.Cut(string(text), "\nversion=")
	version, err := strconv.ParseUint(hex, 16, 64)
	parts := strings.Split(body, "/")
	if err != nil || len(parts) != 3 {
		return nil, fmt.Errorf("no configuration: %q", text)
	}
	var sets [2][]proto.ServerID
	for i := range sets {
		for _, w := range strings.FieldsFunc(parts[i], func(r rune) bool { return r == ',' }) {
			id, err := strconv.Atoi(w)
			if err != nil {
				return nil, err
			}
			sets[i] = append(sets[i], proto.ServerID(id))
		}
	}
	return ensemble(proto.Zxid(version), sets[0], sets[1], parts[2] == "groups"), nil
}

// Proposed fulfils zab.Roster: a payload that is longer than that of a write is a configuration.
func (r roster) Proposed(t zab.Txn) (*zab.Ensemble, error) {
	if len(t.Payload) <= 8 {
		return nil, nil
	}
	return r.Parse(t.Payload[8:])
}

// reconfigs is the administrator: it changes the ensemble again and again. Its chance is its own, so that runs
// without it are what they were.
type reconfigs struct {
	rng     *rand.Rand
	initial *zab.Ensemble
	every   int64
	voters  int  // at least
	blind   bool // it does not ask whether the new servers are there
	groups  bool
	leavers leavers
}

func (r *reconfigs) init(s *Sim) {
	r.rng = rand.New(rand.NewPCG(s.opts.Seed, 0x7265636f6e666967))
	r.every = 3000 + r.rng.Int64N(40_000)
	r.blind = r.rng.IntN(3) == 0
	r.groups = r.rng.IntN(4) == 0
	r.voters = 1
	r.leavers.init(r)
	if s.faults.weights[faultWipe] > 0 || s.opts.Restore {
		r.voters, r.groups = 3, false // of two, or of a group of two, one disk that is lost is too much
	}
}

func (r *reconfigs) start(s *Sim) {
	var next func()
	next = func() {
		if s.load.stopped {
			return
		}
		for _, n := range s.nodes {
			if n.up && n.status.State == zab.Leading && n.status.Serving {
				r.one(s, n)
			}
		}
		s.after(100+r.rng.Int64N(r.every), next)
	}
	s.after(3000, next)
}

// one asks a leader for a reconfiguration.
func (r *reconfigs) one(s *Sim, n *node) {
	e := r.draw(s, n)
	blind := r.blind
	for _, o := range s.nodes {
		if !o.disk.exists || o.blank {
			// a server that has never had the data, or was not told yet that it has all, cannot help to elect
			blind = false
		}
		if n.disk.lineage.Differs(o.disk.lineage) != nil { // nor can one that servers in Java have led out of sight
			blind = false
		}
		if active, _ := n.core.Ensembles(); e != nil && o.plain &&
			slices.ContainsFunc(e.Quorum.Voters(), active.Observes) {
			return // as an observer, a server in Java need not keep what a voter must
		}
	}
	if e == nil || !blind && !n.core.Ready(e) || !e.Quorum.Decides(s.counted(func(o *node) bool {
		// the leader may not have heard yet that the disk of a server which is to join was just lost
		return o.disk.exists && !o.disk.blank && !o.lost.memory
	})...) {
		return
	}
	s.reconfigure(n, e)
}

// reconfigure proposes a configuration.
func (s *Sim) reconfigure(n *node, e *zab.Ensemble) bool {
	after := s.load.acked
	t := zab.Txn{Zxid: e.Version, Payload: append(s.load.payload(), e.Wire()...)}
	if n.propose(t) != nil {
		n.drain()
		return false
	}
	s.reconfigs.leavers.asked = append(s.reconfigs.leavers.asked, e)
	s.tracef("%d proposes %v: %s", n.id, t.Zxid, e.Text)
	s.Stats.Reconfigs++
	s.broadcasts(n, t)
	s.load.pending = append(s.load.pending, request{n, n.life, t, after})
	n.drain()
	return true
}

// draw makes a configuration from the one that is in force.
func (r *reconfigs) draw(s *Sim, n *node) *zab.Ensemble {
	active, next := n.core.Ensembles()
	if next != nil && !r.blind {
		return nil
	}
	voters, observers := slices.Clone(active.Quorum.Voters()), slices.Clone(active.Observers)
	all := make([]proto.ServerID, len(s.nodes))
	for i := range all {
		all[i] = proto.ServerID(i + 1)
	}
	r.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	x := all[0]
	kind := r.rng.IntN(8)
	if v, o, ok := r.leavers.draw(s, n, voters, observers); ok {
		voters, observers, kind = v, o, -1
	}
	switch kind {
	case 0: // add, or promote
		voters, observers = append(without(voters, x), x), without(observers, x)
	case 1: // remove
		voters, observers = without(voters, x), without(observers, x)
	case 2: // remove the leader
		voters = without(voters, n.id)
	case 3: // add an observer, or make a voter one
		voters, observers = without(voters, x), append(without(observers, x), x)
	case 4: // replace one
		y := voters[r.rng.IntN(len(voters))]
		voters, observers = append(without(without(voters, y), x), x), without(observers, x)
	case 5: // replace all but one
		voters, observers = []proto.ServerID{voters[r.rng.IntN(len(voters))]}, nil
		for _, id := range all {
			if !active.Votes(id) && len(voters) < 3 {
				voters = append(voters, id)
			}
		}
	case 6: // anything
		k := 1 + r.rng.IntN(len(all))
		voters, observers = all[:k:k], nil
		if r.rng.IntN(2) == 0 {
			observers = all[k:]
		}
	case 7: // the same
	}
	if len(voters) < max(r.voters, 1) {
		return nil
	}
	return ensemble(n.core.NextZxid(), voters, observers, r.groups && r.rng.IntN(2) == 0)
}

// initialOf is what stands in the file of a server: the first configuration, with itself if it is to join, or what an
// operator has written since.
func (s *Sim) initialOf(n *node) *zab.Ensemble {
	e := s.reconfigs.initial
	if n.file != nil {
		return n.file
	}
	if names(e, n.id) || !s.opts.Reconfig {
		return e
	}
	return joining(e, n.id)
}

// newestIn returns the last configuration in a history that is newer than e, or nil.
func newestIn(history []zab.Txn, than *zab.Ensemble) *zab.Ensemble {
	for i := len(history) - 1; i >= 0; i-- {
		if e, _ := (roster{}).Proposed(history[i]); e != nil {
			if e.Version <= than.Version {
				return nil
			}
			return e
		}
	}
	return nil
}

// placed is a configuration at its place in the global order.
type placed struct {
	at int
	e  *zab.Ensemble
}

// inForce returns the configuration that decides about the txn at a place of the global order; a reconfiguration
// itself is decided about by two.
func (s *Sim) inForce(i int) *zab.Ensemble {
	for k := len(s.configs) - 1; k >= 0; k-- {
		if s.configs[k].at < i {
			return s.configs[k].e
		}
	}
	return s.reconfigs.initial
}

// holders are the servers that count for a txn at a place of the history.
func (s *Sim) holders(i int, t zab.Txn) []proto.ServerID {
	return s.counted(func(o *node) bool { return o.has(i, t) })
}

// Configurations: what a server takes for the committed configuration is in the log of quorums of it and of the one
// before, and it never goes back.
func (s *Sim) checkActive(n *node) {
	active, next := n.core.Ensembles()
	if old := n.active; old == active {
		return
	} else if old != nil && old.Version > active.Version {
		s.fail("Configurations", "server %d goes back from configuration %v to %v", n.id, old.Version, active.Version)
	}
	n.active = active
	s.tracef("%d has configuration %v %s, pending %v", n.id, active.Version, active.Text, next != nil)
	if active.Version.Counter() == 0 {
		if string(active.Text) != string(s.reconfigs.initial.Text) && active.Version != 0 {
			s.fail("Configurations", "server %d has %s for the first configuration", n.id, active.Text)
		}
		return
	}
	if s.Stats.Wipes > 0 {
		return // a lost disk was part of a quorum once
	}
	for _, o := range s.nodes {
		h := upTo(o.disk.history, active.Version)
		if lastOf(h) != active.Version {
			continue
		}
		before := newestIn(h[:len(h)-1], s.reconfigs.initial)
		if before == nil {
			before = s.reconfigs.initial
		}
		have := s.holders(len(h)-1, h[len(h)-1])
		if !active.Quorum.Decides(have...) || !before.Quorum.Decides(have...) {
			s.fail("Configurations", "server %d has %v %s after %s, but only %v have it", n.id, active.Version,
				active.Text, before.Text, have)
		}
		return
	}
	s.fail("Configurations", "server %d has configuration %v, which is on no disk", n.id, active.Version)
}

// noteConfig remembers a reconfiguration of the global order.
func (s *Sim) noteConfig(i int, t zab.Txn) {
	if e, _ := (roster{}).Proposed(t); e != nil && s.opts.Reconfig {
		s.configs = append(s.configs, placed{i, e})
		s.Stats.Reconfigured++
		s.reconfigs.leavers.committed(s, e)
	}
}
