package succession

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

const (
	tick  = 2 * time.Second
	pause = 30 * time.Second
	// endless is as many txns as zxids can count.
	endless = math.MaxUint32
)

var start = time.Unix(1_800_000_000, 0)

// facts are those of a leader of servers 1 to 3 that has led for an hour and is to go on: server 2 could lead.
func facts(now time.Duration) *Facts {
	return &Facts{Now: start.Add(now), Since: start.Add(-time.Hour), Room: true,
		Learners: []zab.Learner{{Peer: 2, Voter: true, Synced: true, Acked: 9},
			{Peer: 3, Voter: true, Synced: true, Acked: 9}, {Peer: 4, Observer: true, Synced: true, Acked: 9}},
		Prepared: 9, Delivered: 9,
		Decides:      func(ids ...proto.ServerID) bool { return len(ids) > 1 },
		FitSuccessor: func() bool { return true }, CanLead: func(id proto.ServerID) bool { return true }}
}

func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Decision
	}{
		"there is room":                      {func(*Facts) {}, Decision{To: None}},
		"the voters with room are no quorum": {func(f *Facts) { f.Room = false }, Decision{To: None, Refuse: true}},
		"the leader has none": {func(f *Facts) {
			f.Full = true
		}, Decision{To: None, Refuse: true, Yield: true}},
		"neither have the others": {func(f *Facts) {
			f.Full, f.FitSuccessor = true, func() bool { return false }
		}, Decision{To: None, Refuse: true}},
		"the others have not reported yet": {func(f *Facts) {
			f.Full, f.Since = true, f.Now.Add(-tick)
		}, Decision{To: None, Refuse: true}},
		"room comes before priorities": {func(f *Facts) {
			f.Full, f.Candidates = true, []Candidate{{ID: 2, Priority: 5}}
		}, Decision{To: None, Refuse: true, Yield: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Config{TickTime: tick, EpochTxns: endless})
			p.Begin()
			f := facts(0)
			c.change(f)
			require.Equal(t, c.want, p.Decide(f))
		})
	}
}

// A leader whose epoch nears its end hands over while it still has zxids, unless nobody else could lead.
func TestEpochNearsItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Decision
	}{
		"it has zxids left":  {func(f *Facts) { f.Prepared-- }, Decision{To: None}},
		"it nears its end":   {func(f *Facts) {}, Decision{To: None, Ends: true}},
		"it has ended":       {func(f *Facts) { f.Prepared += 99 }, Decision{To: None, Ends: true}},
		"no other can lead":  {func(f *Facts) { f.FitSuccessor = func() bool { return false } }, Decision{To: None}},
		"it is handing over": {func(f *Facts) { f.HandsOver = true }, Decision{To: None}},
		"its disk is full, which comes first": {func(f *Facts) { f.Full = true },
			Decision{To: None, Refuse: true, Yield: true}},
		"it comes before priorities": {func(f *Facts) { f.Candidates = []Candidate{{ID: 2, Priority: 5}} },
			Decision{To: None, Ends: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Config{TickTime: tick, EpochTxns: 800})
			p.Begin()
			f := facts(0)
			f.Prepared = proto.MakeZxid(7, 700)
			f.Delivered = f.Prepared
			for i := range f.Learners {
				f.Learners[i].Acked = f.Prepared
			}
			c.change(f)
			require.Equal(t, c.want, p.Decide(f))
		})
	}
}

// A server that has yielded for lack of room, and leads again, does not yield again at once.
func TestYieldsSeldom(t *testing.T) {
	p := New(Config{TickTime: tick, EpochTxns: endless})
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {time.Second, false}, {yieldPause, false}, {yieldPause + 1, true}, {2 * yieldPause, false}} {
		p.Begin()
		f := facts(c.at)
		f.Full = true
		require.Equal(t, c.want, p.Decide(f).Yield, "at %v", c.at)
	}
}

// A leader yields whose disk lacks for too long what a quorum of the others has.
func TestLag(t *testing.T) {
	const limit = 5 * tick
	acked := func(f *Facts, a, b proto.Zxid) { f.Learners[0].Acked, f.Learners[1].Acked = a, b }
	for name, c := range map[string]struct {
		change func(*Facts, time.Duration) // of a leader that has delivered 9
		yields time.Duration               // 0: it goes on
	}{
		"nothing is written": {change: func(*Facts, time.Duration) {}},
		"it stands still": {change: func(f *Facts, _ time.Duration) {
			acked(f, 10, 11)
		}, yields: limit + time.Second},
		"ever more is written": {change: func(f *Facts, at time.Duration) {
			acked(f, proto.Zxid(10+at/time.Second), 1000)
		}, yields: limit + time.Second},
		"one of the others stands still, too": {change: func(f *Facts, _ time.Duration) { acked(f, 9, 20) }},
		"one of the others does not follow": {change: func(f *Facts, _ time.Duration) {
			acked(f, 20, 20)
			f.Learners[1].Synced = false
		}},
		"one of the others is an observer": {change: func(f *Facts, _ time.Duration) {
			acked(f, 20, 9)
			f.Learners[2].Acked = 20
		}},
		"it is slow, but goes on": {change: func(f *Facts, at time.Duration) {
			z := proto.Zxid(10 + at/time.Second)
			acked(f, z, z)
			f.Delivered = max(9, z-5)
		}},
		"much waits for it": {change: func(f *Facts, _ time.Duration) {
			acked(f, 10, 10)
			f.Queued = queuedMax + 1
		}, yields: tick + time.Second},
		"much waits, but not for the disk": {change: func(f *Facts, _ time.Duration) { f.Queued = queuedMax + 1 }},
		"an epoch began, and nothing is written": {change: func(f *Facts, _ time.Duration) {
			acked(f, proto.MakeZxid(1, 0), proto.MakeZxid(1, 0))
		}},
		"none of the others has room": {change: func(f *Facts, _ time.Duration) {
			acked(f, 10, 10)
			f.Full, f.FitSuccessor = true, func() bool { return false }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Config{TickTime: tick, SyncLimit: limit, EpochTxns: endless})
			p.Begin()
			for at := time.Duration(0); at < 2*limit; at += time.Second {
				f := facts(at)
				c.change(f, at)
				d := p.Decide(f)
				require.Equal(t, c.yields != 0 && at == c.yields, d.Yield, "at %v", at)
				require.Equal(t, d.Yield, d.Lag > 0)
				if d.Yield {
					break
				}
			}
		})
	}
}

// A follower leads because of its priority when it has been fit for a pause without a break.
func TestPriority(t *testing.T) {
	for name, c := range map[string]struct {
		own    int64
		change func(*Facts, time.Duration)
		want   proto.ServerID
		at     time.Duration
		idle   bool
	}{
		"none has one": {},
		"a higher one": {change: candidates(Candidate{ID: 2, Priority: 5}), want: 2, at: pause},
		"the highest": {change: candidates(Candidate{ID: 2, Priority: 5}, Candidate{ID: 3, Priority: 6}),
			want: 3, at: pause},
		"the higher id": {change: candidates(Candidate{ID: 3, Priority: 5}, Candidate{ID: 2, Priority: 5}),
			want: 3, at: pause},
		"that of an equal": {own: 5, change: candidates(Candidate{ID: 2, Priority: 5})},
		"a lower one":      {own: 6, change: candidates(Candidate{ID: 2, Priority: 5})},
		"an observer's":    {change: candidates(Candidate{ID: 4, Priority: 5})},
		"of one that cannot lead": {change: func(f *Facts, _ time.Duration) {
			f.Candidates, f.CanLead = []Candidate{{ID: 2, Priority: 5}}, func(proto.ServerID) bool { return false }
		}},
		"of one that is not in sync": {change: func(f *Facts, _ time.Duration) {
			f.Candidates, f.Learners[0].Synced = []Candidate{{ID: 2, Priority: 5}}, false
		}},
		"of one that has not acknowledged for a while": {change: func(f *Facts, at time.Duration) {
			f.Candidates, f.Learners[0].Acked = []Candidate{{ID: 2, Priority: 5}}, 7
		}},
		"of one that lags behind what was just prepared": {change: func(f *Facts, at time.Duration) {
			z := proto.Zxid(10 + at/time.Second)
			f.Candidates, f.Prepared, f.Delivered, f.Learners[0].Acked = []Candidate{{ID: 2, Priority: 5}}, z, z, z-1
		}, want: 2, at: pause},
		"with a break": {change: func(f *Facts, at time.Duration) {
			f.Candidates, f.Learners[0].Synced = []Candidate{{ID: 2, Priority: 5}}, at != 10*time.Second
		}, want: 2, at: pause + 11*time.Second},
		"an observer's, beside a follower's": {change: candidates(Candidate{ID: 4, Priority: 6},
			Candidate{ID: 2, Priority: 5}), want: 2, at: pause},
		"one without clients": {change: candidates(Candidate{ID: 2, Idle: true}), want: 2, at: pause, idle: true},
		"one without clients, not the one with a priority": {change: candidates(Candidate{ID: 3, Priority: 5},
			Candidate{ID: 2, Idle: true}), want: 2, at: pause, idle: true},
		"of two without clients the one with a priority": {change: candidates(Candidate{ID: 3, Idle: true},
			Candidate{ID: 2, Priority: 1, Idle: true}), want: 2, at: pause, idle: true},
		"one without clients, as the leader": {change: func(f *Facts, _ time.Duration) {
			f.Idle, f.Candidates = true, []Candidate{{ID: 2, Idle: true}}
		}},
		"one with a priority and clients, the leader has none": {change: func(f *Facts, _ time.Duration) {
			f.Idle, f.Candidates = true, []Candidate{{ID: 2, Priority: 5}}
		}},
		"one with a priority and no clients, as the leader": {change: func(f *Facts, _ time.Duration) {
			f.Idle, f.Candidates = true, []Candidate{{ID: 2, Priority: 5, Idle: true}}
		}, want: 2, at: pause},
		"of a leader that has just begun": {change: func(f *Facts, _ time.Duration) {
			f.Candidates, f.Since = []Candidate{{ID: 2, Priority: 5}}, start.Add(20*time.Second)
		}, want: 2, at: pause + 20*time.Second},
		"while another handover begins": {change: func(f *Facts, _ time.Duration) {
			f.Candidates, f.HandsOver = []Candidate{{ID: 2, Priority: 5}}, true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Config{TickTime: tick, Priority: c.own, Pause: pause, EpochTxns: endless})
			p.Begin()
			got := None
			var at time.Duration
			for ; got == None && at <= time.Minute; at += time.Second {
				f := facts(at)
				if c.change != nil {
					c.change(f, at)
				}
				d := p.Decide(f)
				require.False(t, d.Yield || d.Refuse)
				got = d.To
				require.Equal(t, got != None && c.idle, d.Idle)
			}
			if c.want == 0 {
				c.want = None
			}
			require.Equal(t, c.want, got)
			if got != None {
				require.Equal(t, c.at, at-time.Second)
			}
		})
	}
}

func candidates(all ...Candidate) func(*Facts, time.Duration) {
	return func(f *Facts, _ time.Duration) { f.Candidates = all }
}

// The leadership does not move to and fro: each handover to the same server doubles the wait, and an hour without one
// forgets them all.
func TestPriorityWaits(t *testing.T) {
	now := start
	var y yields
	require.Equal(t, pause, y.wait(pause, now))
	for i := range 10 {
		y = y.again(now)
		require.Equal(t, pause<<min(i+1, priorityDoublings), y.wait(pause, now))
	}
	require.Equal(t, pause, y.wait(pause, now.Add(priorityMemory+1)))
	require.Equal(t, 1, y.again(now.Add(priorityMemory+1)).n)

	p := New(Config{TickTime: tick, Pause: pause, EpochTxns: endless})
	var took []time.Duration
	for at, since := time.Duration(0), time.Duration(0); len(took) < 3; at += time.Second {
		if at == since {
			p.Begin() // it leads again
		}
		f := facts(at)
		f.Candidates = []Candidate{{ID: 2, Priority: 5}}
		if p.Decide(f).To == 2 {
			took, since = append(took, at-since), at+time.Second
		}
	}
	require.Equal(t, []time.Duration{pause, 2 * pause, 4 * pause}, took)
}

// The wait for a server without clients is always the same.
func TestIdleServersLeadSoon(t *testing.T) {
	p := New(Config{TickTime: tick, Pause: pause, EpochTxns: endless})
	for range 3 {
		p.Begin() // it leads again
		for at := time.Duration(0); ; at += time.Second {
			f := facts(at)
			f.Candidates = []Candidate{{ID: 2, Idle: true}}
			if p.Decide(f).To == 2 {
				require.Equal(t, pause, at)
				break
			}
		}
	}
}
