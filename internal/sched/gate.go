package sched

import (
	"slices"
	"sync"
	"time"
)

// Gate is an event that happens once, and for which any number of goroutines may wait. Use NewGate.
type Gate struct {
	rt   Runtime
	done chan struct{} // closed when the gate is open
	mu   struct {
		sync.Mutex
		open    bool
		waiting []Parker
	}
}

// NewGate returns a Gate that is not open.
func NewGate(rt Runtime) *Gate { return &Gate{rt: rt, done: make(chan struct{})} }

// Open lets everything go on that waits, now and from now on. It may be called more than once.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.open {
		return
	}
	g.mu.open = true
	close(g.done)
	for _, p := range g.mu.waiting {
		p.Unpark()
	}
	g.mu.waiting = nil
}

// IsOpen reports whether Open was called.
func (g *Gate) IsOpen() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Done is closed when the gate is open. It is for code that no simulator runs: what waits for it waits outside of the
// Runtime.
func (g *Gate) Done() <-chan struct{} { return g.done }

// Wait waits until the gate is open.
func (g *Gate) Wait() { WaitAny(g.rt, g) }

// WaitFor waits until the gate is open or d has passed, and reports whether it is open.
func (g *Gate) WaitFor(d time.Duration) bool {
	p := g.rt.Parker()
	if !g.join(p) {
		return true
	}
	due := NewGate(g.rt)
	cancel := g.rt.After(d, func() {
		due.Open()
		p.Unpark()
	})
	defer cancel()
	for !g.IsOpen() && !due.IsOpen() {
		p.Park()
	}
	g.leave(p)
	return g.IsOpen()
}

// join makes p one of those that wait, and returns false if the gate is open.
func (g *Gate) join(p Parker) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.open {
		return false
	}
	g.mu.waiting = append(g.mu.waiting, p)
	return true
}

func (g *Gate) leave(p Parker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.waiting = slices.DeleteFunc(g.mu.waiting, func(w Parker) bool { return w == p })
}

// Sleep waits until d has passed.
func Sleep(rt Runtime, d time.Duration) { NewGate(rt).WaitFor(d) }

// Every calls fn each time d has passed, until cancel is called or the Runtime ends. fn must not wait, and
// its calls do not overlap. A call that comes late does not delay those after the next.
func Every(rt Runtime, d time.Duration, fn func()) (cancel func()) {
	e := &every{rt: rt, d: d, fn: fn, due: rt.Elapsed()}
	e.mu.Lock()
	e.arm()
	e.mu.Unlock()
	return e.cancel
}

type every struct {
	rt  Runtime
	d   time.Duration
	fn  func()
	due time.Duration // when fn is to be called next, on the clock of Elapsed

	mu       sync.Mutex
	stop     func() // cancels the next call
	canceled bool
}

// arm plans the next call. REQUIRES: mu.
func (e *every) arm() {
	now := e.rt.Elapsed()
	e.due = max(e.due+e.d, now)
	e.stop = e.rt.After(e.due-now, e.call)
}

func (e *every) call() {
	e.fn()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.canceled {
		e.arm()
	}
}

func (e *every) cancel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.canceled = true
	e.stop()
}

// WaitAny waits until one of the gates is open.
func WaitAny(rt Runtime, gates ...*Gate) {
	p := rt.Parker()
	for _, g := range gates {
		if !g.join(p) {
			break
		}
	}
	for !slices.ContainsFunc(gates, (*Gate).IsOpen) {
		p.Park()
	}
	for _, g := range gates {
		g.leave(p)
	}
}
