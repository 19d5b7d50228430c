package system

import (
	"container/heap"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// scheduler runs events in the order of their times, and tasks between them. It owns the simulated clock and the
// source of chance.
type scheduler struct {
	seed      uint64
	now       time.Duration // since the run began
	rng       *rand.Rand
	queue     events
	seq       uint64 // of the last event that was planned
	running   *task
	events    int           // how many have happened
	failure   error         // what ended the run
	slow      string        // tasks of this name are often slow
	tardiness int           // in so many of 100 cases
	late      time.Duration // and so long at most, but for few cases
	punctual  bool          // no task is slow any more

	beats atomic.Int64         // events, for guard
	last  atomic.Pointer[task] // that ran, for guard

	hash    uint32
	tracing bool
	trace   []string
}

// event is something that happens at a time.
type event struct {
	at    time.Duration
	seq   uint64   // events of one time happen in the order in which they were planned
	owner *process // it happens only while this process lives, and does not rest; nil for the world
	name  string
	fn    func() // nil after it was canceled
}

// events is a heap.
type events []*event

func (q events) Len() int      { return len(q) }
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q *events) Push(x any) { *q = append(*q, x.(*event)) }
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}

func newScheduler(seed uint64) *scheduler {
	return &scheduler{seed: seed, late: lateMax, rng: rand.New(rand.NewPCG(seed, 0x5157))}
}

// plan makes fn happen when d has passed. The event may be canceled by setting its fn to nil.
func (s *scheduler) plan(d time.Duration, owner *process, name string, fn func()) *event {
	s.seq++
	e := &event{at: s.now + max(d, 0), seq: s.seq, owner: owner, name: name, fn: fn}
	heap.Push(&s.queue, e)
	return e
}

// step lets the next event happen. It returns false if there is none, or the run has failed.
func (s *scheduler) step() bool {
	for s.failure == nil && len(s.queue) > 0 {
		e := heap.Pop(&s.queue).(*event)
		p := e.owner
		switch {
		case e.fn == nil, p != nil && p.dead:
			continue
		case p != nil && p.rests:
			p.missed = append(p.missed, e)
			continue
		}
		s.now = e.at
		s.events++
		s.beats.Add(1)
		s.note(p, e.name)
		e.fn()
		return s.failure == nil
	}
	return false
}

// stuckAfter is how long an event may last, by the clock of the machine.
const stuckAfter = 20 * time.Second

// guard ends the program if an event does not end: a task waits outside of the scheduler, or for a lock that a task
// holds which waits. It lasts until stop is called.
func (s *scheduler) guard() (stop func()) {
	var timer *time.Timer
	seen := int64(-1)
	timer = time.AfterFunc(stuckAfter, func() {
		if n := s.beats.Load(); n != seen {
			seen = n
			timer.Reset(stuckAfter)
			return
		}
		last := s.last.Load()
		panic(fmt.Sprintf("system: seed %d: event %d does not end; the last task that ran is %q of %s; "+
			"GOTRACEBACK=all shows where it waits", s.seed, seen, last.name,
			last.p.name))
	})
	return func() { timer.Stop() }
}

// runFor lets everything happen until d has passed.
func (s *scheduler) runFor(d time.Duration) {
	until := s.now + d
	for s.failure == nil && len(s.queue) > 0 && s.queue[0].at <= until {
		s.step()
	}
	s.now = max(s.now, until)
}

// fail ends the run because of what a check has noticed.
func (s *scheduler) fail(c Check, format string, args ...any) { s.end(broken(c, format, args...)) }

// end ends the run. The first failure counts.
func (s *scheduler) end(err error) {
	if s.failure == nil {
		s.failure = err
		if s.tracing {
			s.tracef("failed: %v", s.failure)
		}
	}
}

var table = crc32.MakeTable(crc32.Castagnoli)

// note makes an event a part of the trace.
func (s *scheduler) note(p *process, name string) {
	var b [48]byte
	line := b[:0]
	for shift := 0; shift < 64; shift += 8 {
		line = append(line, byte(s.now>>shift))
	}
	if p != nil {
		line = append(line, p.name...)
	}
	line = append(line, ' ')
	s.hash = crc32.Update(s.hash, table, append(line, name...))
	if s.tracing {
		s.line(p, name)
	}
}

// bytes makes bytes a part of the trace: those that arrive at a process.
func (s *scheduler) bytes(b []byte) {
	s.hash = crc32.Update(s.hash, table, b)
	if s.tracing {
		s.tracef("  %d bytes %08x %x", len(b), crc32.Checksum(b, table), b[:min(len(b), 64)])
	}
}

// tracef adds a line to the text of the trace.
func (s *scheduler) tracef(format string, args ...any) {
	if s.tracing {
		s.line(nil, fmt.Sprintf(format, args...))
	}
}

func (s *scheduler) line(p *process, text string) {
	name := ""
	if p != nil {
		name = p.name
	}
	s.trace = append(s.trace, fmt.Sprintf("%12.6f %-8s %s", s.now.Seconds(), name, strings.TrimSpace(text)))
}

// chance is true in p of 100 cases.
func (s *scheduler) chance(p int) bool { return s.rng.IntN(100) < p }

// between draws a duration of at least lo and below hi.
func (s *scheduler) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.rng.Int64N(int64(max(hi-lo, 1))))
}

// tardy are the names of tasks of which a run may have slow ones.
var tardy = []string{"applier", "journal", "host", "link reader", "link writer", "learner connection",
	"reader", "drain", "clock"}

// lateMax is how long a slow task takes to begin at most in most cases.
const lateMax = 60 * time.Millisecond

// tardyMax is how long a slow task takes to begin at most.
const tardyMax = time.Second

// begin is how long a task takes to begin after it was made ready.
func (s *scheduler) begin(t *task) time.Duration {
	if t.name == s.slow && !s.punctual && s.chance(s.tardiness) {
		if s.chance(4) {
			return s.between(0, tardyMax)
		}
		return s.between(0, s.late)
	}
	return s.moment()
}

// moment is how long a task takes to begin after it was made ready: mostly little, seldom long, as on a busy machine.
func (s *scheduler) moment() time.Duration {
	switch n := s.rng.IntN(1000); {
	case n < 900:
		return s.between(0, 20*time.Microsecond)
	case n < 997:
		return s.between(0, time.Millisecond)
	}
	return s.between(0, 20*time.Millisecond)
}
