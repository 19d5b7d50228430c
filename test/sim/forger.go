package sim

import (
	"math/rand/v2"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// forger is a program that reaches the ports for learners and introduces itself as any server, with promises and
// losses of its choice, and the lineage that the leader tells anyone. It goes no further: where servers need no
// proof it could vote. It draws its own dice, so that it does not change what else a seed does.
type forger struct{ rng *rand.Rand }

// forgedMax is how far the epochs of a forger are above those of the server that it talks to.
const forgedMax = 10_000

func (f *forger) start(s *Sim) {
	f.rng = rand.New(rand.NewPCG(s.opts.Seed, 0x666f72676572))
	every := 200 + f.rng.Int64N(5000)
	var next func()
	next = func() {
		if s.faults.healed {
			return
		}
		f.forge(s, s.nodes[f.rng.IntN(len(s.nodes))])
		s.after(1+f.rng.Int64N(every), next)
	}
	s.after(1+f.rng.Int64N(every), next)
}

// forge connects to a server, says to be another one, and hangs up after a while.
func (f *forger) forge(s *Sim, to *node) {
	if !to.up {
		return
	}
	port := []zab.Port{zab.LearnerPort, zab.LearnerPort, zab.LearnerPort, zab.MasterPort}[f.rng.IntN(4)]
	link := to.core.Accept(port)
	if link == 0 {
		return
	}
	s.Stats.Forged++
	m := zab.Message{Type: zab.FollowerInfo, From: proto.ServerID(f.rng.IntN(len(s.nodes) + 2)), To: to.id, Link: link,
		Warren: f.rng.IntN(4) > 0, Blank: f.rng.IntN(6) == 0, Whole: f.rng.IntN(6) == 0, Lineage: to.disk.lineage}
	if port == zab.MasterPort || f.rng.IntN(4) == 0 {
		m.Type = zab.ObserverInfo
	}
	m.Epoch = to.disk.accepted + []int64{-1, 0, 1, 20, f.rng.Int64N(forgedMax)}[f.rng.IntN(5)]
	m.Repeat = m.Warren
	if to.plain || !m.Warren {
		speakPlainly(&m)
	}
	s.tracef("forged: %d is told %v of %d", to.id, describe(&m), m.From)
	to.core.Step(m)
	to.drain()
	life := to.life
	s.after(1+f.rng.Int64N(4000), func() {
		if to.up && to.life == life {
			to.core.LinkDown(link)
			to.drain()
		}
	})
}

// epochStep is how far a leader goes at once towards an epoch that another server names.
const epochStep = 16

// checkSteps: an epoch that another server names moves a leader by a step at most.
func (s *Sim) checkSteps(n *node, out *zab.Output) {
	for i := range out.Persist {
		e := out.Persist[i].AcceptedEpoch
		if e > n.accepted+epochStep && out.Status.State == zab.Leading {
			s.fail("Steps", "server %d leads epoch %d after %d", n.id, e, n.accepted)
		}
		n.accepted = max(n.accepted, e)
	}
}
