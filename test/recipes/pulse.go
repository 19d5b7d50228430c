package recipes

import (
	"sync"
	"time"
)

// Pulse notices when this program was stopped: its goroutine should run every millisecond or so.
type Pulse struct {
	limit time.Duration
	end   chan struct{}
	over  sync.WaitGroup

	mu      sync.Mutex
	last    time.Time
	stopped time.Time // end of the last stop longer than limit
}

// NewPulse takes note of stops that are longer than limit. It must be closed.
func NewPulse(limit time.Duration) *Pulse {
	p := &Pulse{limit: limit, end: make(chan struct{}), last: time.Now()}
	p.over.Go(p.run)
	return p
}

func (p *Pulse) run() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.beat()
		case <-p.end:
			return
		}
	}
}

func (p *Pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.last) > p.limit {
		p.stopped = now
	}
	p.last = now
}

// WasSteady reports whether there was no stop within the last d.
func (p *Pulse) WasSteady(d time.Duration) bool {
	p.beat()
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.stopped) > d
}

// Close ends the pulse.
func (p *Pulse) Close() {
	close(p.end)
	p.over.Wait()
}
