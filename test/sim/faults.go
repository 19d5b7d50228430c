package sim

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// faults is what goes wrong in a run. Which kinds, and how often, is drawn from the seed, so that some runs see a
// single kind again and again.
type faults struct {
	every    int64 // time units between two faults, at most
	weights  [faultKinds]int
	healed   bool
	calm     int64 // nothing goes wrong before
	wiped    int
	wipesMax int
	edges    int // one in so many control messages is followed by a fault at its receiver or sender; 0 none
}

const (
	faultCrash = iota
	faultCrashLeader
	faultCrashAll
	faultCut
	faultStallOneWay
	faultPartition
	faultSlowDisk
	faultFullDisk
	faultDiskError
	faultSlowNode
	faultSlowNet
	faultWipe
	faultHandOver
	faultSnapshot
	faultKinds
)

// faultNames is how a report calls them.
var faultNames = [faultKinds]string{"crash of a server", "crash of the leader", "crash of all",
	"connection cut or half closed", "one direction stalled", "partition", "slow disk", "full disk", "failed fsync",
	"slow clock", "slow network", "disk lost", "hand-over", "snapshot and purge"}

func (f *faults) init(s *Sim) {
	f.every = s.between(3_000, 40_000)
	if s.chance(2) {
		f.edges = 3 + s.rng.IntN(60)
	}
	for i := range f.weights {
		if s.chance(2) {
			f.weights[i] = 1 + s.rng.IntN(4)
		}
	}
	f.weights[faultSnapshot] += 2
	f.weights[faultWipe] = min(f.weights[faultWipe], s.rng.IntN(2)) * 2
	f.wipesMax = 1 + s.rng.IntN(4)
}

func (f *faults) start(s *Sim) {
	var next func()
	next = func() {
		if f.healed {
			return
		}
		if s.now >= f.calm {
			f.one(s)
		}
		s.after(s.between(f.every/10, f.every), next)
	}
	s.after(s.between(5000, 20_000), next)
}

// one lets one thing go wrong.
func (f *faults) one(s *Sim) {
	total := 0
	for _, w := range f.weights {
		total += w
	}
	pick := s.rng.IntN(total)
	kind := 0
	for pick >= f.weights[kind] {
		pick -= f.weights[kind]
		kind++
	}
	s.Stats.Faults[kind]++
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	long := s.between(500, 60_000)
	switch kind {
	case faultCrash:
		f.crash(s, n, long)
	case faultCrashLeader:
		for _, o := range s.nodes {
			if o.up && o.status.State == 2 {
				n = o
			}
		}
		f.crash(s, n, long)
	case faultCrashAll:
		for _, o := range s.nodes {
			f.crash(s, o, s.between(500, 20_000))
		}
	case faultCut:
		if len(n.ends) > 0 {
			s.tracef("cut a connection of %d", n.id)
			s.net.cut(n.ends[s.rng.IntN(len(n.ends))])
		}
	case faultStallOneWay:
		m := s.nodes[s.rng.IntN(len(s.nodes))]
		if m != n {
			f.stall(s, n.id, m.id, long)
		}
	case faultPartition:
		side := map[proto.ServerID]bool{}
		for _, o := range s.nodes {
			side[o.id] = s.chance(2)
		}
		for _, a := range s.nodes {
			for _, b := range s.nodes {
				if side[a.id] != side[b.id] {
					f.stall(s, a.id, b.id, long)
				}
			}
		}
	case faultSlowDisk:
		n.disk.slowBy = s.between(100, 5000)
		f.later(s, long, func() { n.disk.slowBy = 0 })
	case faultFullDisk:
		n.disk.full = true
		f.later(s, long, func() { n.disk.full = false; n.disk.next() })
	case faultDiskError:
		if n.disk.busy { // a failed fsync ends the process
			s.Stats.DiskErrors++
			f.crash(s, n, long)
		}
	case faultSlowNode:
		n.slow = s.between(2, 20)
		f.later(s, long, func() { n.slow = 1 })
	case faultSlowNet:
		s.net.slow = s.between(50, 1500)
		f.later(s, long, func() { s.net.slow = 0 })
	case faultWipe:
		f.wipe(s, n)
	case faultHandOver:
		if n.up {
			s.tracef("%d is to hand over", n.id)
			s.Stats.HandOvers++
			for _, other := range s.nodes {
				n.core.Unfit(other.id, other.disk.full)
			}
			if stop, named := s.chance(2), s.nodes[s.now/7%int64(len(s.nodes))]; stop || !n.handOverTo(named.id) {
				n.handOver(stop)
			}
			n.drain()
			f.later(s, long, n.start)
		}
	case faultSnapshot:
		n.snapshot()
	}
}

// edge lets something go wrong right after a message that moves a server to the next step of the protocol, because
// that is where order matters. Source: quorum-protocol 15.5.1 and 15.5.2.
func (f *faults) edge(s *Sim, from, to *end, m *zab.Message) {
	switch m.Type {
	case zab.Proposal, zab.Commit, zab.Inform, zab.Ping, zab.SyncReply:
		return
	case zab.Ack:
		if m.Zxid.Counter() != 0 {
			return
		}
	}
	if s.now < f.calm {
		return
	}
	if !f.healed {
		f.hunt(s, from, to)
		s.exchanges.edge(s, to.n)
		s.moments.edge(s, from, to)
	}
	oneIn := f.edges
	if m.Type == zab.Trunc || m.Type == zab.Snap {
		oneIn = (f.edges + 7) / 8 // seldom, and worth it
	}
	if f.healed || f.edges == 0 || !s.chance(oneIn) {
		return
	}
	s.Stats.Edges++
	switch s.rng.IntN(5) {
	case 0:
		s.after(s.between(0, 150), func() { f.crash(s, to.n, s.between(100, 20_000)) })
	case 1:
		s.after(s.between(0, 150), func() { f.crash(s, from.n, s.between(100, 20_000)) })
	case 2:
		s.net.cut(to)
	case 3:
		f.stall(s, from.n.id, to.n.id, s.between(100, 5000))
	case 4:
		to.n.disk.slowBy = s.between(100, 3000)
		f.later(s, s.between(500, 10_000), func() { to.n.disk.slowBy = 0 })
	}
}

// later undoes a fault, if healing has not done it before.
func (f *faults) later(s *Sim, after int64, do func()) {
	s.after(after, func() {
		if !f.healed {
			do()
		}
	})
}

func (f *faults) crash(s *Sim, n *node, down int64) {
	if n.up && !f.healed {
		n.crash()
		if s.chance(8) {
			f.promise(s, n)
		}
		f.later(s, down, n.start)
	}
}

// promise makes a server that is down one that has promised an epoch to a leader which then died, and which no other
// server has heard of. Servers that speak as Java does stay outside after that until there is an election, so it
// happens only in runs without them. A leader asks for promises when a quorum that counts has connected: before the
// first such quorum no server has promised anything.
func (f *faults) promise(s *Sim, n *node) {
	counts := func(o *node) bool { return o.disk.exists && !o.disk.blank }
	if counts(n) && s.quorum.Decides(s.counted(counts)...) && !s.hasPlain() {
		s.Stats.Promises++
		n.disk.accepted += s.between(1, 3)
	}
}

func (f *faults) stall(s *Sim, a, b proto.ServerID, long int64) {
	s.tracef("stall %d -> %d", a, b)
	s.net.stall(a, b, true)
	f.later(s, long, func() { s.net.stall(a, b, false) })
}

// heal ends all faults.
func (s *Sim) heal() {
	s.tracef("heal")
	f := &s.faults
	f.healed = true
	s.load.stopped = true
	if s.opts.Lists {
		s.lists.ends(s)
	}
	s.soothe()
}

// soothe ends the faults of now.
func (s *Sim) soothe() {
	s.net.slow = 0
	for _, a := range s.nodes {
		a.slow = 1
		a.disk.slowBy, a.disk.full = 0, false
		a.disk.next()
		for _, b := range s.nodes {
			if s.net.stalled[[2]proto.ServerID{a.id, b.id}] {
				s.net.stall(a.id, b.id, false)
			}
		}
	}
	for _, n := range s.nodes {
		n.start()
	}
}
