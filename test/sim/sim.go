package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// Options describe a run. All that is not given is drawn from the seed.
type Options struct {
	Seed      uint64
	Steps     int  // events before the ensemble is healed
	Voters    int  // 0: 1, 3 or 5
	Observers int  // -1: drawn
	Masters   bool // observers learn from followers; without it that is drawn
	Reconfig  bool // the ensemble is changed again and again, and there are servers that may join it
	Lists     bool // each server has a list in its file; one server after the other is restarted with a new list
	Leap      bool // the lists change by two servers at once, which is not allowed
	Haste     bool // the next change begins before the one before is in force, which is not allowed
	Forged    bool // a program without a disk says to be one server or another; no plain servers
	Exchange  bool // disks are exchanged; no plain servers, because they say no lineage
	Restore   bool // with Reconfig: disks are exchanged one at a time, for which nothing can be lost; no plain servers
	// no faults and no clients but those of the test; no plain servers, no lost disks, 3 voters unless said
	Calm bool
	// Configure, if not nil, changes the configuration of each core.
	Configure func(zab.Config) zab.Config
}

// Violation is a broken promise: what, and by which event.
type Violation struct {
	Checker string
	Text    string
}

func (v *Violation) Error() string { return v.Checker + ": " + v.Text }

// Sim is one run. It is not for concurrent use.
type Sim struct {
	opts  Options
	rng   *rand.Rand
	now   int64
	seq   uint64
	queue events
	steps int

	nodes  []*node
	quorum *quorum.System // of the first configuration
	timing zab.Timing
	limits zab.Limits
	net    network
	faults faults
	load   load

	reconfigs reconfigs
	lists     lists
	exchanges exchanges
	forger    forger
	moments   moments
	world     *world // nil in runs without exchanges
	protected []*protection
	checks
	Trace []string // if tracing
	trace bool
	Stats Stats
}

type event struct {
	at  int64
	seq uint64
	do  func()
}

// events is a heap, the next event first.
type events []event

func (q events) before(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}

func (q *events) push(e event) {
	*q = append(*q, e)
	for i := len(*q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(i, up) {
			return
		}
		(*q)[i], (*q)[up] = (*q)[up], (*q)[i]
		i = up
	}
}

func (q *events) pop() event {
	e, last := (*q)[0], len(*q)-1
	(*q)[0], (*q)[last] = (*q)[last], event{}
	*q = (*q)[:last]
	for i := 0; ; {
		least, down := i, 2*i+1
		for child := down; child < min(down+2, last); child++ {
			if q.before(child, least) {
				least = child
			}
		}
		if least == i {
			return e
		}
		(*q)[i], (*q)[least] = (*q)[least], (*q)[i]
		i = least
	}
}

// New builds an ensemble that has not started.
func New(o Options) *Sim {
	s := &Sim{opts: o, rng: rand.New(rand.NewPCG(o.Seed, 0x77617272656e))}
	if s.opts.Voters == 0 {
		s.opts.Voters = []int{3, 3, 3, 5, 5, 1}[s.rng.IntN(6)]
		if s.opts.Lists && s.opts.Voters == 1 {
			s.opts.Voters = 2 // no quorum of a list of two follows a server that is alone in its own list
		}
	}
	if s.opts.Restore && s.opts.Voters < 3 {
		s.opts.Voters = 3
	}
	if s.opts.Observers < 0 {
		s.opts.Observers = s.rng.IntN(3) / 2
	}
	s.timing = zab.Timing{TickTime: 10, InitLimit: 4, SyncLimit: 2, FinalizeWait: 1, ResendMin: 2, ResendMax: 10,
		DialPause: 1, DialAttempts: 5, ObserverDialPause: 3, ObserverLookPause: 5, EpochWait: 5, QuorumLimit: 15}
	s.limits = zab.Limits{WindowTxns: 5 + s.rng.IntN(60), WindowBytes: 1 << 20, InFlight: 200, LinksMax: 100,
		LagBytes: 1 << 20, CounterMax: 0xffffffff, SnapSyncsMax: 1, DiffSyncsMax: 2}
	if s.chance(4) {
		s.limits.CounterMax = uint32(20 + s.rng.IntN(100))
	}
	s.opts.Masters = o.Masters || o.Seed/3%2 == 1 && !o.Calm
	if s.opts.Masters && s.rng.IntN(2) == 0 && o.Masters {
		s.limits.LagBytes = 1 + s.rng.IntN(200) // payloads are some bytes long
	}
	blank := s.chance(2) && !o.Calm
	if o.Calm {
		s.limits.CounterMax = 0xffffffff
	}
	var voters []proto.ServerID
	for i := range s.opts.Voters {
		voters = append(voters, proto.ServerID(i+1))
	}
	q, err := quorum.Majority(voters...)
	if s.opts.Voters == 5 && s.chance(4) {
		weights := map[proto.ServerID]int64{2: 2}
		if s.opts.Seed%2 == 0 {
			weights[4] = 0 // it follows, and may not lead
		}
		q, err = quorum.Hierarchical(map[int64][]proto.ServerID{1: {1, 2}, 2: {3}, 3: {4, 5}}, weights)
	}
	if err != nil {
		panic(err)
	}
	s.quorum = q
	var watch []proto.ServerID
	for i := range s.opts.Observers {
		watch = append(watch, proto.ServerID(s.opts.Voters+i+1))
	}
	s.reconfigs.initial = &zab.Ensemble{Quorum: q, Observers: watch}
	spares := 0
	if o.Reconfig || o.Lists {
		s.reconfigs.initial = ensemble(0, voters, watch, false)
		s.quorum = s.reconfigs.initial.Quorum
		spares = 1 + int(o.Seed%3)
	}
	if o.Lists {
		spares = 1
		if o.Leap {
			spares = 2
		}
	}
	plain := s.chance(3) && !o.Calm && !o.Exchange && !o.Forged && !o.Restore
	for i := range s.opts.Voters + s.opts.Observers + spares {
		n := &node{s: s, id: proto.ServerID(i + 1), observer: i >= s.opts.Voters, plain: plain && s.chance(2)}
		n.disk.n = n
		n.disk.exists = !blank
		s.nodes = append(s.nodes, n)
	}
	s.net.init(s)
	s.faults.init(s)
	s.reconfigs.init(s)
	if o.Lists {
		s.faults.weights[faultWipe] = 0
		s.lists.init(s)
	}
	s.moments.init(s)
	s.exchanges.init(s)
	if o.Exchange {
		s.world = newWorld()
	}
	s.Stats.Runs[min(s.opts.Voters, len(s.Stats.Runs)-1)]++
	s.Stats.Observers += s.opts.Observers
	if o.Calm {
		s.faults.edges = 0
	}
	s.checks.init(s)
	return s
}

func (s *Sim) chance(oneIn int) bool { return s.rng.IntN(oneIn) == 0 }

// between draws a number from [from, to].
func (s *Sim) between(from, to int64) int64 { return from + s.rng.Int64N(to-from+1) }

// after queues an event.
func (s *Sim) after(delay int64, do func()) { s.at(s.now+delay, do) }

func (s *Sim) at(at int64, do func()) {
	s.seq++
	s.queue.push(event{at, s.seq, do})
}

func (s *Sim) node(id proto.ServerID) *node { return s.nodes[id-1] }

// fail reports a broken promise by panicking with a Violation, which Run returns.
func (s *Sim) fail(checker, format string, args ...any) {
	panic(&Violation{checker, fmt.Sprintf(format, args...)})
}

func (s *Sim) tracef(format string, args ...any) {
	if s.trace {
		s.Trace = append(s.Trace, fmt.Sprintf("%7d ", s.now)+fmt.Sprintf(format, args...))
	}
}

// step runs the next event.
func (s *Sim) step() {
	e := s.queue.pop()
	s.now = e.at
	s.steps++
	e.do()
}

// guard turns a panic of a checker, of a core or of the disk model into a Violation.
func (s *Sim) guard(do func()) (v *Violation) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Violation:
			v = r
		case string:
			v = &Violation{"Assertion", r}
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

// Run starts all servers, lets faults and clients act for Steps events, heals everything and waits until the ensemble
// has converged. It returns the first broken promise.
func (s *Sim) Run() *Violation {
	return s.guard(func() {
		s.begin()
		if s.opts.Calm {
			s.load.stopped = true
			return
		}
		if s.opts.Reconfig {
			s.reconfigs.start(s)
		}
		if s.opts.Lists {
			s.lists.start(s)
		}
		if s.opts.Exchange {
			s.exchanges.start(s)
		}
		if s.opts.Restore {
			s.exchanges.startRestores(s)
		}
		if s.opts.Forged {
			s.forger.start(s)
		}
		for s.steps < s.opts.Steps && len(s.queue) > 0 {
			s.step()
		}
		s.heal()
		if s.opts.Exchange {
			s.outcome()
		} else {
			s.converge()
		}
		s.Stats.Steps = s.steps
	})
}

// begin starts the servers, the clients and the faults.
func (s *Sim) begin() {
	for _, n := range s.nodes {
		n := n
		s.after(s.between(0, 3000), func() { n.start() })
	}
	s.load.start(s)
	if !s.opts.Calm {
		s.faults.start(s)
	}
}

// Tracing makes the run keep what happens in Trace.
func (s *Sim) Tracing() *Sim { s.trace = true; return s }
