package sim

import (
	"math/rand/v2"

	"github.com/seed94657493/warren/zab"
)

// moments are faults at moments that chance alone seldom hits: while a promise is on its way to the disk, right after
// an election, and in the first elections of an ensemble. Their chance is their own.
type moments struct {
	rng      *rand.Rand
	promises int // one in so many promises is torn by a crash; 0 none
	elected  int // one in so many elections is followed by the loss of a disk; 0 none
	first    int // epochs until the ensemble has left its beginning, in which much goes wrong; 0 none
	edges    int // one in so many control messages of that time is followed by a crash
	slow     bool
	crashes  int // of that time
}

// firstCrashesMax bounds the crashes in the first elections, so that they end.
const firstCrashesMax = 30

func (o *moments) init(s *Sim) {
	o.rng = rand.New(rand.NewPCG(s.opts.Seed, 0x6d6f6d656e7473))
	if s.opts.Calm {
		return
	}
	if o.chance(2) {
		o.promises = 4 + o.rng.IntN(30)
	}
	if s.faults.weights[faultWipe] > 0 && o.chance(2) {
		o.elected = 1 + o.rng.IntN(4)
		s.faults.wipesMax += 4
	}
	if o.chance(4) {
		o.first, o.edges, o.slow = 1+o.rng.IntN(3), 3+o.rng.IntN(8), o.chance(2)
	}
}

func (o *moments) chance(oneIn int) bool { return o.rng.IntN(oneIn) == 0 }

func (o *moments) between(from, to int64) int64 { return from + o.rng.Int64N(to-from+1) }

// begins is called when a write begins that takes so long. If it is that of a promise, its server sometimes crashes
// before the write ends, or all servers do.
func (o *moments) begins(s *Sim, d *disk, long int64) {
	p := &d.queue[0].p
	promise := p.AcceptedEpoch >= 0 || p.CurrentEpoch >= 0 || p.Lineage != nil || p.Interim != nil
	if !promise || o.promises == 0 || s.faults.healed || s.now < s.faults.calm || !o.chance(o.promises) {
		return
	}
	n, life, all := d.n, d.n.life, o.chance(4)
	s.after(o.between(0, long-1), func() {
		if !n.up || n.life != life || s.faults.healed {
			return
		}
		s.Stats.Torn++
		s.tracef("%d crashes in the write of a promise, and all: %v", n.id, all)
		for _, other := range s.nodes {
			if other == n || all {
				s.faults.crash(s, other, o.between(100, 10_000))
			}
		}
	})
}

// established is called when a leader has its quorum. Some time later, within a few ticks, a disk is sometimes lost:
// that of the leader, or of another server.
func (o *moments) established(s *Sim, leader *node) {
	if o.first > 0 && s.Stats.Epochs >= o.first {
		o.first = 0
		for _, n := range s.nodes {
			n.disk.slowBy = 0
		}
	}
	if o.elected > 0 && o.chance(o.elected) {
		o.loses(s, leader, &s.Stats.WipesElected)
	}
}

// restored is called when a server that has lost its disk is up to date. Sometimes the next one loses its own at once.
func (o *moments) restored(s *Sim, n *node) {
	if o.elected > 0 && o.chance(2) {
		o.loses(s, s.nodes[(int(n.id)+o.rng.IntN(len(s.nodes)))%len(s.nodes)], &s.Stats.WipesInTurn)
	}
}

func (o *moments) loses(s *Sim, n *node, count *int) {
	if o.chance(2) {
		n = s.nodes[o.rng.IntN(len(s.nodes))]
	}
	s.after(o.between(0, 3000), func() {
		if !s.faults.healed && s.now >= s.faults.calm && s.faults.wipe(s, n) {
			*count++
		}
	})
}

// starts is called when a process starts.
func (o *moments) starts(n *node) {
	if s := n.s; o.first > 0 && o.slow && !s.faults.healed {
		n.disk.slowBy = o.between(300, 6000)
		s.Stats.FirstSlow++
	}
}

// edge sometimes crashes the sender or the receiver of a message in the first elections.
func (o *moments) edge(s *Sim, from, to *end) {
	if o.first == 0 || o.crashes >= firstCrashesMax || !o.chance(o.edges) {
		return
	}
	n := to.n
	if o.chance(2) {
		n = from.n
	}
	o.crashes++
	s.Stats.FirstCrashes++
	s.after(o.between(0, 400), func() { s.faults.crash(s, n, o.between(100, 3000)) })
}

// crashed counts what a crash has taken that the core had asked the disk to keep.
func (a *Stats) crashed(before []write, d *disk) {
	accepted, current := int64(-1), int64(-1)
	var lineage *zab.Lineage
	for i := range before {
		p := &before[i].p
		accepted, current = max(accepted, p.AcceptedEpoch), max(current, p.CurrentEpoch)
		if p.Lineage != nil {
			lineage = p.Lineage
		}
	}
	if d.accepted < accepted {
		a.LostAccepted++
	}
	if d.current < current {
		a.LostCurrent++
	}
	if lineage != nil && d.lineage != lineage {
		a.LostLineages++
	}
}

// identity counts the identities of ensembles that leaders have drawn.
func (s *Sim) identity(l *zab.Lineage) {
	if l.Ensemble == 0 || s.identities[l.Ensemble] {
		return
	}
	s.identities[l.Ensemble] = true
	if len(s.identities) > 1 {
		s.Stats.Identities++
	}
}
