package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// lists is the operator of an ensemble that cannot be reconfigured. The configuration of a server is the list in its
// file, which a process reads when it starts. The operator adds one server, or removes one, by restarting one server
// after the other with the new list, again and again. A server that was removed, or not added yet, has a list that
// names the others and itself: it follows, and the others count nothing of it.
//
// The invariant: any quorum of the list of a process and any quorum of the list of another one have a server in
// common. Lists that differ by one server keep it. So the operator begins with the next change when
//
//   - every process has the list of the one before,
//   - since then a leader was established: then a quorum of that list has all that was committed by older lists, and
//     no epoch is decided by one of them any more,
//   - no member lacks the data.
//
// With leap there are two servers to add, and both are added, or removed, at once: that breaks the invariant, and the
// checks must notice. With haste the operator does not wait for the epoch, and the checks must notice that, too.
type lists struct {
	rng     *rand.Rand // its own, so that runs without lists are what they were
	every   int64
	members []proto.ServerID // of the newest list
	spare   []proto.ServerID // the other servers
	file    map[proto.ServerID]*zab.Ensemble
	read    map[proto.ServerID]*zab.Ensemble // by the present process, or the last one
	todo    []proto.ServerID                 // those that are to be restarted with the newest list
	reigns  *zab.Ensemble                    // the list of the leader of the newest epoch that was established
	ruled   bool                             // it was established when every process had the newest list

	leap, haste bool
}

func (l *lists) init(s *Sim) {
	l.rng = rand.New(rand.NewPCG(s.opts.Seed, 0x6c69737473))
	l.every = 500 + l.rng.Int64N(10_000)
	l.leap, l.haste = s.opts.Leap, s.opts.Haste
	l.file, l.read = map[proto.ServerID]*zab.Ensemble{}, map[proto.ServerID]*zab.Ensemble{}
	for _, n := range s.nodes {
		if n.observer {
			l.spare = append(l.spare, n.id)
			n.disk.exists = false
		} else {
			l.members = append(l.members, n.id)
		}
	}
	for _, id := range l.members {
		l.file[id] = l.list(nil)
	}
	for _, id := range l.spare {
		l.file[id] = l.list(l.spare)
	}
}

// list is the list of the members and some others.
func (l *lists) list(more []proto.ServerID) *zab.Ensemble {
	return ensemble(0, slices.Concat(l.members, more), nil, false)
}

func (l *lists) start(s *Sim) {
	var next func()
	next = func() {
		if s.load.stopped {
			return
		}
		if len(l.todo) > 0 {
			if l.ready(s) {
				l.restart(s)
			}
		} else if l.settled(s) {
			l.change(s)
		}
		s.after(50+l.rng.Int64N(l.every), next)
	}
	s.after(5000, next)
}

// ready reports whether the operator goes on with the next server. Some wait until the ensemble is well, others do
// not.
func (l *lists) ready(s *Sim) bool { return s.opts.Seed%2 == 0 || s.united() != nil }

// settled reports whether the next change may begin.
func (l *lists) settled(s *Sim) bool {
	lacks := func(n *node) bool { return n.blank || !n.disk.exists }
	return (l.ruled || l.haste) && l.everywhere(s) && !slices.ContainsFunc(s.nodes, lacks)
}

// everywhere reports whether every process of a member has read the newest list.
func (l *lists) everywhere(s *Sim) bool {
	return len(l.todo) == 0 && !slices.ContainsFunc(s.nodes, func(n *node) bool {
		return slices.Contains(l.members, n.id) && l.read[n.id] != l.file[n.id]
	})
}

// change decides the next list.
func (l *lists) change(s *Sim) {
	grow := len(l.members) == s.opts.Voters
	if grow {
		l.members, l.spare = slices.Concat(l.members, l.spare), nil
	} else {
		for range len(l.members) - s.opts.Voters {
			i := l.rng.IntN(len(l.members))
			l.spare = append(l.spare, l.members[i])
			l.members = slices.Delete(slices.Clone(l.members), i, i+1)
		}
	}
	l.ruled = false
	s.Stats.Reconfigs++
	s.tracef("the list becomes %v", l.members)
	e := l.list(nil)
	for _, id := range l.members {
		if string(l.file[id].Text) != string(e.Text) {
			l.todo = append(l.todo, id)
		}
	}
	l.rng.Shuffle(len(l.todo), func(i, j int) { l.todo[i], l.todo[j] = l.todo[j], l.todo[i] })
}

// restart gives a server the newest list.
func (l *lists) restart(s *Sim) {
	n := s.node(l.todo[0])
	l.todo = l.todo[1:]
	l.file[n.id] = l.list(nil)
	s.tracef("%d is restarted with the list %s", n.id, l.file[n.id].Text)
	if n.up && l.rng.IntN(2) == 0 {
		n.handOver(true)
		n.drain()
	}
	wait := 100 + l.rng.Int64N(5000)
	s.after(wait, func() { n.crash(); n.start() })
	if len(l.todo) == 0 {
		s.Stats.Reconfigured++
	}
}

// ends brings the change that was begun to its end. From then on the operator looks whether all servers come together.
func (l *lists) ends(s *Sim) {
	defer l.unite(s)
	for _, id := range l.todo {
		l.file[id] = l.list(nil)
	}
	l.todo = nil
	for _, n := range s.nodes {
		if l.read[n.id] != l.file[n.id] {
			n.crash()
		}
	}
}

// unite restarts a leader, as Sim.overtaken has it done, where the operator of lists has more to wait for: a server
// that is on no list but its own follows a leader that a quorum of its own list follows. Where that needs a member
// that has promised a later epoch, both stay outside until elections have led to its epoch.
func (l *lists) unite(s *Sim) {
	pause := 1000 * int64(s.timing.TickTime*(s.timing.InitLimit+s.timing.SyncLimit))
	var look func()
	look = func() {
		leader := l.outgrown(s)
		if leader != nil {
			s.tracef("%d leads in an epoch below a promise, and is restarted", leader.id)
			s.Stats.Overtaken++
			leader.crash()
			s.after(s.between(100, 2000), leader.start)
		}
		s.after(pause, look)
	}
	s.after(2*pause, look)
}

// outgrown returns the leader that all servers follow, except for members that have promised a later epoch, for which
// it cannot begin one, and servers on no list but their own, which miss them; nil if there is none, or no server of
// both kinds.
func (l *lists) outgrown(s *Sim) (leader *node) {
	if i := slices.IndexFunc(s.nodes, func(n *node) bool {
		return n.up && n.status.Serving && n.status.State == zab.Leading
	}); i >= 0 {
		leader = s.nodes[i]
	} else {
		return nil
	}
	follows := func(n *node) bool { return n.up && n.status.Serving && n.status.Epoch == leader.status.Epoch }
	renews := !leader.plain &&
		l.read[leader.id].Quorum.Decides(s.counted(func(n *node) bool { return !n.plain && follows(n) })...)
	waits, misses := false, false
	for _, n := range s.nodes {
		switch {
		case follows(n):
		case n.up && n.disk.accepted > leader.status.Epoch && (n.plain || !renews):
			waits = true
		case n.up && slices.Contains(l.spare, n.id) && !l.read[n.id].Quorum.Decides(s.counted(follows)...):
			misses = true
		default:
			return nil
		}
	}
	if waits && misses {
		return leader
	}
	return nil
}

// reads is called when a process starts. It returns the list of the process.
func (l *lists) reads(s *Sim, n *node) *zab.Ensemble {
	e := l.file[n.id]
	l.read[n.id] = e
	for _, o := range s.nodes {
		if o.up && o != n && !l.leap && !e.Quorum.Overlaps(l.read[o.id].Quorum) {
			s.fail("Lists", "server %d has %s and server %d %s: these have quorums without a common server", n.id,
				e.Text, o.id, l.read[o.id].Text)
		}
	}
	return e
}

// established is called when a leader has its quorum.
func (l *lists) established(s *Sim, n *node) {
	if n.status.Epoch >= s.newest {
		l.reigns, l.ruled = l.read[n.id], l.everywhere(s)
	}
}

// decides reports whether some servers are a quorum of the list by which what a server delivers was committed: that of
// the leader of the newest epoch, even if its process has ended since and has another list now. What an earlier leader
// has committed a quorum of that list has, too. A leader delivers the history of its epoch when it has its own quorum.
func (l *lists) decides(n *node, ids ...proto.ServerID) bool {
	return l.reigns != nil && l.reigns.Quorum.Decides(ids...) ||
		n.role == zab.Leading && l.read[n.id].Quorum.Decides(ids...)
}
