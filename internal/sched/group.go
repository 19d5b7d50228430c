package sched

import "sync"

// Group starts goroutines until it is closed, and tells when all of them have ended. Use NewGroup.
type Group struct {
	rt    Runtime
	ended *Gate // open when the group is closed and no goroutine is left
	mu    struct {
		sync.Mutex
		running int
		closed  bool
	}
}

// NewGroup returns a Group without goroutines.
func NewGroup(rt Runtime) *Group { return &Group{rt: rt, ended: NewGate(rt)} }

// Go runs fn in a goroutine; profiles show its name. It returns false, and does not run fn, if the group is closed.
func (g *Group) Go(name string, fn func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		return false
	}
	g.mu.running++
	g.rt.Go(name, func() {
		defer g.count(-1)
		fn()
	})
	return true
}

// count adds change to the running goroutines. The last of a closed group opens the gate.
func (g *Group) count(change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.running += change; g.mu.closed && g.mu.running == 0 {
		g.ended.Open()
	}
}

// Close makes Go fail from now on. It may be called more than once.
func (g *Group) Close() {
	g.mu.Lock()
	g.mu.closed = true
	g.mu.Unlock()
	g.count(0)
}

// Wait waits until the group is closed and its goroutines have ended.
func (g *Group) Wait() { g.ended.Wait() }
