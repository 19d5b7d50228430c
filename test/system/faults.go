package system

import (
	"slices"
	"time"
)

// Fault is something that goes wrong.
type Fault string

// The faults.
const (
	Kill      Fault = "kill"      // of a process
	PowerLoss Fault = "powerloss" // of a process, with what its disk has not synced
	Outage    Fault = "outage"    // of all servers: a power loss of each; they come back one after the other
	Stop      Fault = "stop"      // of a server by its operator
	Pause     Fault = "pause"     // of a process
	Partition Fault = "partition" // of servers
	OneWay    Fault = "oneway"    // a direction between two servers is cut
	SlowNet   Fault = "slownet"   // of a direction
	Reset     Fault = "reset"     // of a connection
	SlowDisk  Fault = "slowdisk"
	WallJump  Fault = "walljump" // of the wall clock of a server
	ClientCut Fault = "clientcut"
	BadDisk   Fault = "baddisk"  // every write fails, for a while
	FullDisk  Fault = "fulldisk" // for a while
	Wipe      Fault = "wipe"     // a disk is lost, or the database on it, while no other one is
	HandOver  Fault = "handover" // by an operator, to a server that is named
	Stall     Fault = "stall"    // of a process, which is cut off from the other servers for a while longer
	MidWrite  Fault = "midwrite" // a power loss of a process in the middle of what it writes

	Strand Fault = "strand" // a follower is cut off with a client, which goes elsewhere; then the leader dies

	// These belong to features.
	DamagedFile Fault = "damagedfile" // files of a server that is down are damaged
	CopiedDir   Fault = "copieddir"   // a server gets the directory of another one, or its own as it was earlier
	ClockJump   Fault = "clockjump"   // of the wall clock of the leader, by days; it may be suspended meanwhile
)

var allFaults = []Fault{Kill, PowerLoss, Outage, Stop, Pause, Partition, OneWay, SlowNet, Reset, SlowDisk, WallJump,
	ClientCut, BadDisk, FullDisk, Wipe, MidWrite, Stall}

// faults draws what goes wrong, and when.
type faults struct {
	w     *world
	kinds []Fault
	mean  time.Duration // between two faults
	count map[Fault]int
	done  map[string]int // of those that can do several things, or nothing
	over  bool
	past  []incident
}

func newFaults(w *world, kinds []Fault) faults {
	if kinds == nil && w.s.seed%5 == 4 { // one thing goes wrong, each in its turn: what it must not cause is seen
		kinds = []Fault{allFaults[int(w.s.seed/5%uint64(len(allFaults)))]}
	} else if kinds == nil {
		for _, k := range allFaults {
			if w.s.chance(60) { // not everything in each run
				kinds = append(kinds, k)
			}
		}
	}
	if w.s.seed%3 == 1 && len(kinds) > 1 { // and not in allFaults: the dice of other seeds stay as they are
		kinds = append(kinds, HandOver)
	}
	if w.s.seed%7 == 3 && len(kinds) > 1 {
		kinds = append(kinds, Strand)
	}
	if w.o.Faults == nil {
		for _, of := range [][2]string{{string(Damage), string(DamagedFile)}, {string(Exchange), string(CopiedDir)},
			{string(Clocks), string(ClockJump)}} {
			if w.has(Feature(of[0])) {
				kinds = append(kinds, Fault(of[1]))
			}
		}
	}
	f := faults{w: w, kinds: kinds, mean: w.s.between(200*time.Millisecond, 5*time.Second), count: map[Fault]int{},
		done: map[string]int{}}
	if w.o.Mean > 0 {
		f.mean = w.o.Mean
	}
	return f
}

func (f *faults) begin() {
	if len(f.kinds) > 0 {
		f.later()
	}
}

func (f *faults) later() {
	f.w.s.plan(f.w.s.between(0, 2*f.mean), nil, "fault", func() {
		if f.over {
			return
		}
		n := f.victim()
		f.strike(f.kinds[f.w.s.rng.IntN(len(f.kinds))], n)
		if f.w.s.chance(20) { // misfortunes come together
			f.strike(f.kinds[f.w.s.rng.IntN(len(f.kinds))], n)
		}
		f.later()
	})
}

// victim draws a server, more often the leader than another.
func (f *faults) victim() *node {
	if f.w.s.chance(30) {
		for _, n := range f.w.nodes {
			if n.leads() {
				return n
			}
		}
	}
	return f.w.nodes[f.w.s.rng.IntN(len(f.w.nodes))]
}

// strike lets one fault happen to a server.
func (f *faults) strike(k Fault, n *node) {
	w, s := f.w, f.w.s
	other := w.nodes[s.rng.IntN(len(w.nodes))]
	lasts := s.between(10*time.Millisecond, 3*time.Second)
	if s.chance(10) {
		lasts *= 5
	}
	if w.has(ReadOnly) && s.chance(60) {
		lasts += 3 * time.Second // as long as servers look for a leader before they serve read-only clients
	}
	w.steps++
	f.count[k]++
	f.past = append(f.past, incident{k, n.id, s.now, s.now + lasts})
	s.tracef("fault %s of server %d, %v", k, n.id, lasts)
	switch k {
	case Kill, PowerLoss:
		unsynced := 100
		if k == PowerLoss {
			unsynced = []int{0, 30, 70}[s.rng.IntN(3)]
		}
		n.kill(unsynced, k == Kill)
		f.restart(n, lasts)
	case Outage:
		for _, n := range w.nodes {
			n.kill([]int{0, 30, 70}[s.rng.IntN(3)], false)
			f.restart(n, s.between(0, lasts))
		}
	case Stop:
		n.stop()
		f.restart(n, lasts)
	case HandOver:
		for _, n := range w.nodes {
			if n.leads() {
				n.handOver(other)
			}
		}
	case Strand:
		f.strand(n)
	case Pause:
		if p := n.p; p != nil && !p.rests {
			p.rest()
			s.plan(lasts, nil, "go on", p.goOn)
		}
	case Stall:
		if p := n.p; p != nil && !p.rests {
			p.rest()
			s.plan(lasts, nil, "go on", p.goOn)
			f.part([]*node{n}, lasts+s.between(0, 3*time.Second))
		}
	case Partition:
		var one []*node
		for _, n := range w.nodes {
			if s.chance(50) {
				one = append(one, n)
			}
		}
		f.part(one, lasts)
	case OneWay:
		f.cut(n.id, other.id, lasts)
	case SlowNet:
		way := w.net.way(n.id, other.id)
		way.slow = s.between(0, 100*time.Millisecond)
		s.plan(lasts, nil, "fast again", func() { way.slow = 0 })
	case Reset:
		conns := w.net.conns
		if s.chance(50) {
			conns = w.net.betweenServers()
		}
		if len(conns) > 0 {
			c := conns[s.rng.IntN(len(conns))]
			c.in.lose()
			c.out.lose()
		}
	case SlowDisk:
		n.disk.slow = s.between(0, 300*time.Millisecond)
		s.plan(lasts, nil, "fast again", func() { n.disk.slow = diskSlow })
	case BadDisk:
		n.disk.bad, n.disk.hurt = true, true
		f.repair(n, lasts)
	case FullDisk:
		n.disk.fill(s.rng.Int64N(100_000))
		f.repair(n, lasts)
	case Wipe:
		if w.has(Reconfig) {
			f.wipeMember(n, lasts)
		} else if f.safe(n) {
			f.wipe(n, lasts)
		}
	case DamagedFile, CopiedDir:
		pause := time.Duration(0)
		if w.has(Reconfig) {
			pause = time.Second
			w.lasting = s.now + pause + spoilTries*spoilPause + lasts + 2*time.Second
		}
		f.w.s.plan(pause, nil, "spoil", func() { f.spoil(k, n, lasts, spoilTries) })
	case ClockJump:
		f.jump(lasts)
	case MidWrite:
		n.disk.interrupt = 1 + s.rng.IntN(interruptMax)
	case WallJump:
		if n.p != nil {
			n.p.wall += s.between(-30*time.Second, 30*time.Second)
		}
	case ClientCut:
		c := w.clients[s.rng.IntN(len(w.clients))]
		f.cut(clientPlace+c.id, n.id, lasts)
		if s.chance(50) {
			f.cut(n.id, clientPlace+c.id, lasts)
		}
	}
}

// jump lets the wall clock of a leader, and in some cases of all servers, jump by up to a month. In half of the cases
// the server is suspended meanwhile, and time goes on: whatever lease it holds may end.
func (f *faults) jump(lasts time.Duration) {
	s, by := f.w.s, f.w.s.between(-jumpMax, jumpMax)
	all := s.chance(20)
	for _, n := range f.w.nodes {
		if n.p == nil || !all && !n.leads() {
			continue
		}
		f.did(ClockJump, map[bool]string{false: "back", true: "forth"}[by > 0])
		p := n.p
		if s.chance(50) || p.rests {
			p.wall += by
			continue
		}
		f.did(ClockJump, "suspended")
		p.rest()
		s.plan(lasts, nil, "go on", func() {
			if !f.over {
				p.wall += by
				p.goOn()
			}
		})
	}
}

// jumpMax is how far a wall clock jumps at most.
const jumpMax = 30 * 24 * time.Hour

// restart starts a server again after d, if it is down then.
func (f *faults) restart(n *node, d time.Duration) {
	f.w.s.plan(d, nil, "restart", func() {
		switch {
		case n.p == nil:
			if !f.over && slices.Contains(f.kinds, MidWrite) && f.w.s.chance(20) {
				n.disk.interrupt = 1 + f.w.s.rng.IntN(interruptMax)
			}
			n.start()
		case n.stops:
			f.restart(n, d)
		}
	})
}

// repair repairs a disk after d, and starts the server again if it has ended.
func (f *faults) repair(n *node, d time.Duration) {
	f.w.s.plan(d, nil, "repaired", func() {
		n.disk.repair()
		f.restart(n, f.w.tick)
	})
}

// wipe loses the disk of a server, or the database on it.
func (f *faults) wipe(n *node, lasts time.Duration) {
	n.kill(0, true)
	n.wipe(f.w.s.chance(30))
	if f.w.s.chance(50) {
		n.disk.interrupt = 1 + f.w.s.rng.IntN(interruptMax)
	}
	f.restart(n, lasts)
}

// safe reports whether the disk of a server may be lost: every other one has a database, and all that was on its
// disk.
func (f *faults) safe(n *node) bool {
	for _, o := range f.w.nodes {
		if o != n && (o.mayBeLost() || !o.served) {
			return false
		}
	}
	return n.p != nil && len(f.w.nodes) > 1
}

// cut cuts a direction for a while.
func (f *faults) cut(from, to int, d time.Duration) {
	if from == to {
		return
	}
	way := f.w.net.way(from, to)
	way.close()
	f.w.s.plan(d, nil, "open again", func() { f.w.net.open(way) })
}

// part cuts some servers off from the others.
func (f *faults) part(some []*node, d time.Duration) {
	for _, a := range f.w.nodes {
		for _, b := range f.w.nodes {
			if slices.Contains(some, a) != slices.Contains(some, b) {
				f.cut(a.id, b.id, d)
			}
		}
	}
}

// end ends all faults.
func (f *faults) end() {
	f.over = true
	f.w.net.heal()
	for _, n := range f.w.nodes {
		n.disk.repair()
		n.disk.interrupt = 0
		if n.p != nil && n.p.rests {
			n.p.goOn()
		}
		if n.p == nil {
			n.start()
		}
	}
}
