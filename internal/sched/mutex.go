package sched

import "sync"

// Mutex is a lock whose holder may wait by this package while it holds it, for example for a disk. Use NewMutex.
type Mutex struct {
	rt Runtime
	mu struct {
		sync.Mutex
		held    bool
		waiting []Parker // in the order in which they came
	}
}

// NewMutex returns a Mutex that is not held.
func NewMutex(rt Runtime) *Mutex { return &Mutex{rt: rt} }

// Lock waits until the Mutex is not held, and holds it.
func (m *Mutex) Lock() {
	m.mu.Lock()
	if !m.mu.held {
		m.mu.held = true
		m.mu.Unlock()
		return
	}
	p := m.rt.Parker()
	m.mu.waiting = append(m.mu.waiting, p)
	m.mu.Unlock()
	p.Park() // Unlock hands the Mutex over
}

// Unlock gives the Mutex to the goroutine that has waited longest, if there is one.
func (m *Mutex) Unlock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.mu.waiting) == 0 {
		m.mu.held = false
		return
	}
	m.mu.waiting[0].Unpark()
	m.mu.waiting = m.mu.waiting[1:]
}
