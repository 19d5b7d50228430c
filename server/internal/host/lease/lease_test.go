package lease

import (
	"flag"
	"iter"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

var (
	proofSeed = flag.Uint64("lease.seed", 1, "seed of the first run of TestProof")
	proofRuns = flag.Int("lease.runs", 100, "runs of TestProof")
)

const length = 100 * time.Nanosecond // D; the tests count time in ns

// server is a server and what its lease has published.
type server struct {
	lease *Lease
	end   int64
}

func newServer(now *int64) *server {
	s := &server{}
	s.lease = New(length, Needs{Now: func() int64 { return *now }, Publish: func(end int64) { s.end = end }})
	return s
}

// path is a link with the Exchange of each end. Messages take any time, and none overtakes another.
type path struct {
	upper, lower Exchange
	down         []ping
	up           []answer
	stuck        bool // nothing moves
}

type ping struct {
	at   int64  // when it was sent
	told uint64 // how many answers it reports
}

type answer struct {
	at, to int64 // when it was made, and when the PING was sent that it answers
	below  int64 // of an observer master: when the newest answer of the observer was made that it carries
}

// proof is one run: server 1 leads 2 to 5, and an observer learns from server 2.
type proof struct {
	rng       *rand.Rand
	now       int64
	leader    *server
	followers map[proto.ServerID]*server
	links     map[proto.ServerID]*path
	observer  *server
	below     *path // between server 2 and the observer

	// What the leases are compared with: of each follower when the newest answer was made that the leader has got, the
	// same of those that it had when it sent a PING with a lease, and when the newest PING was sent that is answered.
	reached, reported, answered map[proto.ServerID]int64
	// Of the observer: the newest answer that server 2 has, and that the leader has by way of server 2.
	belowAtMaster, belowReached, belowReported int64

	leads, follows, observes int // steps with a lease
	ended                    int // steps of a leader without one
}

const master = 2

func newProof(seed uint64) *proof {
	p := &proof{rng: rand.New(rand.NewPCG(seed, 5)), now: 1000, followers: map[proto.ServerID]*server{},
		links: map[proto.ServerID]*path{}, below: &path{}, reached: map[proto.ServerID]int64{},
		reported: map[proto.ServerID]int64{}, answered: map[proto.ServerID]int64{}}
	p.leader, p.observer = newServer(&p.now), newServer(&p.now)
	for id := proto.ServerID(2); id <= 5; id++ {
		p.followers[id], p.links[id] = newServer(&p.now), &path{}
	}
	return p
}

// learners yields the followers of the leader.
func (p *proof) learners() iter.Seq2[proto.ServerID, *Exchange] {
	return func(yield func(proto.ServerID, *Exchange) bool) {
		for id, l := range p.links {
			if !yield(id, &l.upper) {
				return
			}
		}
	}
}

func majority(ids ...proto.ServerID) bool { return len(ids) >= 3 }

func (p *proof) holds(s *server) bool { return p.now <= s.end }

// step does one thing that may happen next.
func (p *proof) step() {
	id := proto.ServerID(2 + p.rng.IntN(4))
	l := p.links[id]
	switch n := p.rng.IntN(100); {
	case n < 25:
		p.now += int64(p.rng.IntN(3))
	case n < 40:
		p.pings(id, l)
	case n < 55 && len(l.down) > 0 && !l.stuck:
		p.follow(id, l)
	case n < 75 && len(l.up) > 0 && !l.stuck:
		p.lead(id, l)
	case n < 80:
		p.below.upper.Sent(p.now)
		p.below.down = append(p.below.down, ping{p.now, p.below.upper.Told()})
	case n < 88 && len(p.below.down) > 0 && !p.below.stuck:
		p.observe()
	case n < 96 && len(p.below.up) > 0 && !p.below.stuck:
		p.belowAtMaster = p.below.up[0].at
		p.below.up = p.below.up[1:]
		p.below.upper.Answered()
	case n == 96:
		l.stuck = !l.stuck
	case n == 97:
		p.below.stuck = !p.below.stuck
	case n == 98 && p.rng.IntN(4) == 0: // a link closes, and there is another one
		p.links[id] = &path{}
		if id == master { // it has another role first, and what it knows of the observer is lost
			p.below, p.belowAtMaster = &path{}, 0
		}
	case n == 99 && p.rng.IntN(4) == 0:
		p.below, p.belowAtMaster = &path{}, 0
	}
}

// pings sends a PING to a follower.
func (p *proof) pings(id proto.ServerID, l *path) {
	l.upper.Sent(p.now)
	if p.holds(p.leader) {
		l.upper.Tell()
		p.reported[id] = p.reached[id]
		if id == master {
			p.belowReported = p.belowReached
		}
	}
	l.down = append(l.down, ping{p.now, l.upper.Told()})
}

// follow lets a follower take one PING, and answer it.
func (p *proof) follow(id proto.ServerID, l *path) {
	got := l.down[0]
	l.down = l.down[1:]
	p.followers[id].lease.Renew(l.lower.Arrived(got.told))
	a := answer{at: p.now, to: got.at}
	if id == master {
		p.below.upper.Carried(&l.lower)
		a.below = p.belowAtMaster
	}
	l.lower.Sent(p.now)
	if id == master {
		p.below.upper.Carry(&l.lower)
	}
	l.up = append(l.up, a)
}

// lead lets the leader take one answer.
func (p *proof) lead(id proto.ServerID, l *path) {
	got := l.up[0]
	l.up = l.up[1:]
	l.upper.Answered()
	p.reached[id], p.answered[id] = got.at, got.to
	if id == master {
		p.belowReached = max(p.belowReached, got.below)
	}
	p.leader.lease.RenewByQuorum(1, p.learners(), majority)
}

// observe lets the observer take one PING of its master, and answer it.
func (p *proof) observe() {
	got := p.below.down[0]
	p.below.down = p.below.down[1:]
	p.observer.lease.Renew(p.below.lower.Arrived(got.told))
	p.below.lower.Sent(p.now)
	p.below.up = append(p.below.up, answer{at: p.now, to: got.at})
}

// check compares the leases with what is known from outside.
func (p *proof) check(t *testing.T) {
	since := p.now - int64(length)
	if p.holds(p.leader) {
		p.leads++
		n := 1
		for _, at := range p.answered {
			if at >= since {
				n++
			}
		}
		if n < 3 {
			t.Error("a leader has a lease, and no quorum has answered a PING that was sent so late")
		}
	} else {
		p.ended++
	}
	for id, s := range p.followers {
		if p.holds(s) {
			p.follows++
			if p.reported[id] < since {
				t.Errorf("follower %d has a lease, and the leader has reported no answer that was made so late", id)
			}
		}
	}
	if p.holds(p.observer) {
		p.observes++
		if p.belowReported < since {
			t.Error("the observer has a lease, and the leader has not reported an answer that was made so late")
		}
	}
}

// TestProof lets servers exchange messages that take any time, on links that stop and close, and compares what the
// leases permit with what is known from outside of what has arrived: the first four rules of the package's comment.
func TestProof(t *testing.T) {
	var leads, follows, observes, ended int
	for run := range *proofRuns {
		seed := *proofSeed + uint64(run)
		p := newProof(seed)
		for range 2000 {
			p.step()
			p.check(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		leads, follows, observes, ended = leads+p.leads, follows+p.follows, observes+p.observes, ended+p.ended
	}
	t.Logf("steps with a lease: leader %d (without %d), followers %d, observer %d", leads, ended, follows, observes)
	steps := 2000 * *proofRuns
	for _, n := range []int{leads, follows, observes, ended} {
		require.Greater(t, n, steps/200, "a run without leases, or with nothing else, shows nothing")
	}
}

// The lease of a leader runs from the time at which a quorum was there, the leader included.
func TestLeaderKnowsItsQuorum(t *testing.T) {
	now := int64(1000)
	s := newServer(&now)
	links := map[proto.ServerID]*Exchange{2: {newest: 920}, 3: {newest: 930}, 4: {newest: 940}, 9: {newest: 990}}
	renew := func() int64 {
		s.lease.End()
		s.lease.RenewByQuorum(1, func(yield func(proto.ServerID, *Exchange) bool) {
			for id, x := range links {
				if !yield(id, x) {
					return
				}
			}
		}, func(ids ...proto.ServerID) bool { // 9 is an observer
			voters := 0
			for _, id := range ids {
				if id <= 5 {
					voters++
				}
			}
			return voters >= 3
		})
		return s.end
	}
	require.EqualValues(t, 1030, renew())
	delete(links, 3)
	require.EqualValues(t, 1020, renew())
	delete(links, 2)
	require.Zero(t, renew())
	s.lease.RenewByQuorum(1, (&proof{}).learners(), func(...proto.ServerID) bool { return true })
	require.EqualValues(t, 1100, s.end, "it is a quorum alone")
}

// A leader has its lease from the first NEWLEADER on, a learner from when it begins to serve.
func TestBegin(t *testing.T) {
	now := int64(1000)
	s := newServer(&now)
	s.lease.Offer()
	now = 1050
	s.lease.Offer()
	s.lease.Begin(true)
	require.EqualValues(t, 1100, s.end)
	s.lease.Begin(false)
	require.EqualValues(t, 1150, s.end)
	s.lease.Renew(1040)
	require.EqualValues(t, 1150, s.end, "a lease is not cut short")
	s.lease.End()
	require.Zero(t, s.end)
	s.lease.Withdraw()
	s.lease.Begin(true)
	require.EqualValues(t, 1150, s.end, "that was another leadership")
}

// The end of a lease is reported once.
func TestOver(t *testing.T) {
	now := int64(1000)
	s := newServer(&now)
	s.lease.Begin(false)
	now = 1100
	over, first := s.lease.Over()
	require.False(t, over || first)
	now = 1101
	require.EqualValues(t, -1, s.lease.Left())
	for _, want := range []bool{true, false, false} {
		over, first = s.lease.Over()
		require.True(t, over)
		require.Equal(t, want, first)
	}
	s.lease.Renew(1000)
	s.lease.Renew(1001)
	over, _ = s.lease.Over()
	require.False(t, over)
	now = 1102
	_, first = s.lease.Over()
	require.True(t, first, "it ends again")
}

// A standalone server has a lease without an end, and local sessions need none.
func TestWithoutEnd(t *testing.T) {
	now := int64(1000)
	alone := newServer(&now)
	alone.lease.Lift()
	alone.lease.End()
	alone.lease.Renew(1000)
	require.EqualValues(t, math.MaxInt64, alone.end)
	over, _ := alone.lease.Over()
	require.False(t, over)
	local := newServer(&now)
	local.lease.Free()
	require.EqualValues(t, math.MaxInt64, local.end)
	local.lease.End()
	require.Zero(t, local.end)
}

// What is not confirmed is bounded, and no more arrives than was sent.
func TestExchangeIsBounded(t *testing.T) {
	var leader, observer Exchange
	for range exchangeMax {
		require.True(t, leader.Sent(1))
		observer.Carry(&leader)
	}
	require.False(t, leader.Sent(1))
	observer.Carry(&leader)
	require.LessOrEqual(t, observer.carried.Len(), exchangeMax)
	require.EqualValues(t, 1, leader.Arrived(math.MaxUint64))
	require.EqualValues(t, exchangeMax+1, leader.arrived)
	leader.Sent(2)
	leader.AllArrived()
	require.EqualValues(t, exchangeMax+2, leader.arrived)
}
