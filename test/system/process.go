package system

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed94657493/warren/internal/sched"
)

// process is a server or a client from its start to its end: a sched.Runtime with a clock of its own, whose
// goroutines are tasks.
type process struct {
	s     *scheduler
	name  string
	born  time.Duration
	rng   *rand.Rand
	drift float64       // its clock goes so much faster than that of the simulation
	wall  time.Duration // its wall clock is so much ahead of its other clock
	tasks []*task
	dead  bool

	// serves reports whether this process, a server, accepts clients now; nil for others.
	serves func() bool

	rests  bool     // it is suspended
	missed []*event // that came meanwhile
}

// epoch is the wall clock when a run begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var _ sched.Runtime = (*process)(nil)

// newProcess begins a process.
func (s *scheduler) newProcess(name string) *process {
	return &process{s: s, name: name, born: s.now, rng: rand.New(rand.NewPCG(s.rng.Uint64(), 0))}
}

// Now implements sched.Runtime.
func (p *process) Now() time.Time { return epoch.Add(p.born + p.Elapsed() + p.wall) }

// Elapsed implements sched.Runtime.
func (p *process) Elapsed() time.Duration {
	d := p.s.now - p.born
	return d + time.Duration(float64(d)*p.drift)
}

// lasts is how long a time of this process's clock lasts on that of the simulation. It is long enough for Elapsed to
// have reached it.
func (p *process) lasts(d time.Duration) time.Duration {
	if p.drift == 0 {
		return d
	}
	return time.Duration(float64(d)/(1+p.drift)) + 1
}

// Uint64 implements sched.Runtime.
func (p *process) Uint64() uint64 { return p.rng.Uint64() }

// After implements sched.Runtime.
func (p *process) After(d time.Duration, fn func()) (cancel func()) {
	if p.dead {
		return func() {}
	}
	e := p.s.plan(p.lasts(d), p, "timer", fn)
	return func() { e.fn = nil }
}

// task is a goroutine of a process.
type task struct {
	p     *process
	name  string
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// killed is what a task panics with when its process has ended.
type killed struct{}

// Go implements sched.Runtime.
func (p *process) Go(name string, fn func()) {
	if p.dead {
		return
	}
	t := &task{p: p, name: name}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer t.top()
		fn()
	})
	p.tasks = append(p.tasks, t)
	p.s.plan(p.s.moment(), p, name, t.resume)
}

// top ends the panics of a task.
func (t *task) top() {
	switch r := recover(); r.(type) {
	case nil, killed:
	default:
		t.p.s.fail(Asserted, "%s: task %q panicked: %v\n%s", t.p.name, t.name, r, debug.Stack())
	}
}

// resume lets the task run until it waits.
func (t *task) resume() {
	t.p.s.running = t
	t.p.s.last.Store(t)
	if _, waits := t.next(); !waits {
		t.p.tasks = slices.DeleteFunc(t.p.tasks, func(o *task) bool { return o == t })
	}
	t.p.s.running = nil
}

// kill ends the process as SIGKILL does. Its tasks are unwound where they wait. It must not be called by one of them.
func (p *process) kill() {
	p.dead, p.missed = true, nil
	for _, t := range p.tasks {
		p.s.running = t
		t.stop()
		p.s.running = nil
	}
	p.tasks = nil
}

// rest suspends the process, as SIGSTOP does.
func (p *process) rest() { p.rests = true }

// goOn ends the rest.
func (p *process) goOn() {
	p.rests = false
	for _, e := range p.missed {
		if e.fn != nil && !p.dead {
			p.s.plan(p.s.moment(), p, e.name, func() {
				if e.fn != nil {
					e.fn()
				}
			})
		}
	}
	p.missed = nil
}

// parker implements sched.Parker.
type parker struct {
	p     *process
	token bool
	task  *task // that waits
}

// Parker implements sched.Runtime.
func (p *process) Parker() sched.Parker { return &parker{p: p} }

// Park implements sched.Parker.
func (k *parker) Park() {
	t := k.p.s.running
	switch {
	case k.p.dead:
		panic(killed{})
	case t == nil || t.p != k.p:
		panic(fmt.Sprintf("system: %s waits outside of its tasks", k.p.name))
	}
	for !k.token {
		k.task = t
		if !t.yield(struct{}{}) {
			panic(killed{})
		}
	}
	k.token = false
}

// Unpark implements sched.Parker.
func (k *parker) Unpark() {
	if k.token || k.p.dead {
		return
	}
	k.token = true
	if t := k.task; t != nil {
		k.task = nil
		k.p.s.plan(k.p.s.begin(t), k.p, t.name, t.resume)
	}
}
